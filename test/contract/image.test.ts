import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Child } from '../cluster/controlplane/children.ts';
import { temporaryFolder, type TemporaryFolder } from '../cluster/controlplane/exit.ts';
import { freePort } from '../cluster/controlplane/ports.ts';
import { startServing } from '../cluster/serving.ts';
import { objects, type Manifest } from './rendered.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

let folder: TemporaryFolder;
beforeAll(() => {
  folder = temporaryFolder('mtq-image-');
});
afterAll(() => folder.remove());

interface Instruction {
  readonly name: string;
  readonly value: string;
}

/** Parsed without an engine: our Dockerfile has one instruction on each line. */
const instructions: readonly Instruction[] = read('hack/image/Dockerfile')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => /^(?<name>[A-Z]+) (?<value>.*)$/.exec(line)?.groups as unknown as Instruction);
const starts = instructions.flatMap(({ name }, index) => (name === 'FROM' ? [index] : []));
const header = instructions.slice(0, starts[0]);
const [first = [], last = []] = starts.map((start, index) => instructions.slice(start, starts[index + 1]));

const valuesOf = (stage: readonly Instruction[], wanted: string): string[] =>
  stage.filter(({ name }) => name === wanted).map(({ value }) => value);
const valueOf = (stage: readonly Instruction[], wanted: string): string => valuesOf(stage, wanted)[0] ?? '';

interface Copy {
  readonly from: readonly string[];
  readonly to: string;
}
const copiesOf = (stage: readonly Instruction[]): Copy[] =>
  valuesOf(stage, 'COPY').map((value) => {
    const paths = value.split(' ').filter((word) => !word.startsWith('--'));
    return { from: paths.slice(0, -1), to: paths.at(-1) ?? '' };
  });

interface Container {
  readonly name?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
  readonly securityContext?: object;
}
interface Pod {
  readonly name: string;
  readonly securityContext?: object;
  readonly container: Container;
}

const pods: readonly Pod[] = objects
  .filter(({ kind, apiVersion = '' }) => kind === 'Deployment' || apiVersion === 'serving.knative.dev/v1')
  .map(({ metadata, spec }: Manifest) => {
    const { template } = spec as {
      template: { spec: { containers: [Container]; securityContext?: object } };
    };
    return { name: metadata.name, ...template.spec, container: template.spec.containers[0] };
  });

const ENTRYPOINT = JSON.parse(valueOf(last, 'ENTRYPOINT')) as string[];
const CMD = JSON.parse(valueOf(last, 'CMD')) as string[];
/** The process of a container. As in Kubernetes, `command` replaces ENTRYPOINT and CMD, and `args` replaces CMD. */
const processOf = ({ command, args }: Container): string[] => [
  ...(command ?? ENTRYPOINT),
  ...(args ?? (command === undefined ? CMD : [])),
];

describe('hack/image/Dockerfile', () => {
  test('builds in one stage, and the other has a base image from a build argument', () => {
    expect(starts).toHaveLength(2);
    expect(valueOf(first, 'FROM')).toMatch(/^--platform=\$BUILDPLATFORM \$\{BUILDER\} AS build$/);
    expect(valueOf(last, 'FROM')).toBe('${BASE}');
    expect(valuesOf(header, 'ARG').map((value) => value.split('=')[0])).toEqual(['BUILDER', 'BASE']);
  });

  test('runs nothing on the base image, which has no shell', () => {
    expect(valuesOf(last, 'RUN')).toEqual([]);
    for (const form of ['ENTRYPOINT', 'CMD']) expect(valueOf(last, form)).toMatch(/^\["/);
  });

  test('has a numeric user other than root, and no manifest sets another', () => {
    expect(valueOf(last, 'USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    const uid = Number(valueOf(last, 'USER').split(':')[0]);
    expect(pods).toHaveLength(7);
    for (const { name, securityContext, container } of pods) {
      const { runAsNonRoot, runAsUser = uid } = {
        ...securityContext,
        ...container.securityContext,
      } as { runAsNonRoot?: boolean; runAsUser?: number };
      expect([name, runAsNonRoot, runAsUser]).toEqual([name, true, uid]);
    }
  });

  test('copies into the first stage only files of the repository that .dockerignore does not exclude', () => {
    const sources = copiesOf(first).flatMap(({ from }) => from);
    const ignored = read('.dockerignore').trimEnd().split('\n');
    for (const path of sources) {
      expect([path, existsSync(join(root, path))]).toEqual([path, true]);
      expect(ignored).not.toContain(path.split('/')[0]);
    }
    // By the Dockerfile reference, a path in COPY is relative to the context.
    expect(sources.filter((path) => /^[./]|[*?]/.test(path))).toEqual([]);
  });

  test('has PATH set to the Node of distroless', () => {
    expect(valueOf(last, 'ENV')).toMatch(/^PATH=\/nodejs\/bin:/);
    expect(valueOf(header.slice(1), 'ARG')).toMatch(/^BASE=gcr\.io\/distroless\/nodejs24-/);
  });
});

/** Like COPY: copies a folder's content, and each file of a pattern. Throws when there is nothing to copy. */
function copy({ from, to }: Copy, { context, target }: { context: string; target: string }): void {
  const paths = from.flatMap((pattern) => globSync(join(context, pattern)));
  if (paths.length < from.length) throw new Error(`COPY: not all of ${from.join(' ')}`);
  for (const path of paths) {
    const name = statSync(path).isDirectory() ? '' : basename(path);
    cpSync(path, join(target, to, name), { recursive: true });
  }
}

/** The stages as folders. Without `npm ci`, because this machine already has the packages of package-lock.json. */
describe('the content of the image', () => {
  let home: string;
  let account: string;

  beforeAll(() => {
    const build = join(folder.path, 'build');
    const source = join(build, valueOf(first, 'WORKDIR'));
    mkdirSync(source, { recursive: true });
    for (const { name, value } of first) {
      for (const each of copiesOf([{ name, value }])) copy(each, { context: root, target: source });
      if (name !== 'RUN') continue;
      if (value.startsWith('npm ci ')) symlinkSync(join(root, 'node_modules'), join(source, 'node_modules'));
      else execFileSync('sh', ['-c', value], { cwd: source, stdio: 'pipe' });
    }
    home = join(folder.path, 'image', valueOf(last, 'WORKDIR'));
    mkdirSync(home, { recursive: true });
    for (const each of copiesOf(last)) copy(each, { context: build, target: home });
    account = join(folder.path, 'account');
    mkdirSync(account);
    for (const name of ['token', 'ca.crt']) writeFileSync(join(account, name), '');
  });

  test.each(pods)('has the program that $name starts', ({ container }) => {
    const [program, ...args] = processOf(container);
    expect(program).toBe('node');
    const paths = args.flatMap((arg) => /^(?:--allow-fs-read=)?([^-/].*)$/.exec(arg)?.[1] ?? []);
    expect(paths.at(-1)).toMatch(/\.mjs$/);
    for (const path of paths) expect([path, existsSync(join(home, path))]).toEqual([path, true]);
  });

  test.each(pods)('has all files that $name needs to serve', async ({ name, container }) => {
    const child = await start(name, container);
    await child.stop();
  });

  /** Starts the container as in a pod whose API server is unreachable. */
  async function start(name: string, container: Container): Promise<Child> {
    const [, ...args] = processOf(container);
    const mounted = '/var/run/secrets/kubernetes.io/serviceaccount';
    const port = await freePort();
    return startServing({
      name,
      args: args.map((arg) => arg.replace(mounted, account)),
      env: {
        ...Object.fromEntries(container.env?.map(({ name, value }) => [name, value]) ?? []),
        PORT: String(port),
        TLS_PORT: String(await freePort()),
        SHUTDOWN_DELAY_MS: '0',
        KUBERNETES_SERVICE_HOST: '127.0.0.1',
        KUBERNETES_SERVICE_PORT: String(await freePort()),
        SERVICE_ACCOUNT_FOLDER: account,
      },
      logFile: join(folder.path, `${name}.log`),
      cwd: home,
      port,
      until: 'liveness',
    });
  }

  test('has the function for faas-js-runtime', () => {
    expect(existsSync(join(home, 'dist/function.mjs'))).toBe(true);
  });

  test('has our licence, and the licence of every package in the bundle', () => {
    expect(readFileSync(join(home, 'LICENSE'), 'utf8')).toBe(read('LICENSE'));
    const licenses = readFileSync(join(home, 'dist/THIRD-PARTY-LICENSES'), 'utf8');
    const names = [...licenses.matchAll(/^==== (\S+) \d\S* \([^)]+\)$/gm)].map(([, name]) => name);
    expect(names).toEqual(names.toSorted());
    const bundled = ['@kubernetes/client-node', 'cloudevents', 'express', 'zod'];
    expect(names).toEqual(expect.arrayContaining(bundled));
    expect(licenses.split('Permission is hereby granted').length).toBeGreaterThan(names.length / 2);
  });
});
