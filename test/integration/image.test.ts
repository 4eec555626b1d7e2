import { execFile, spawnSync } from 'node:child_process';
import {
  cpSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, posix } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { EVENT, SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { connect } from '../../functions/kubernetes/client.ts';
import { NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { STEPS } from '../../functions/steps.ts';
import { readElf } from '../../image/elf.ts';
import { targetOf } from '../../image/libraries.ts';
import { PLATFORMS } from '../../image/platforms.ts';
import type { Sbom } from '../../image/sbom.ts';
import { buildFromScratch, type BuiltImage } from '../../image/scratch.ts';
import { renderDefault } from '../../local/cluster.ts';
import type { Child } from '../../local/controlplane/children.ts';
import { temporaryFolder, type TemporaryFolder } from '../../local/controlplane/exit.ts';
import { freePort } from '../../local/controlplane/ports.ts';
import { startControlPlane, type ControlPlane } from '../../local/controlplane/start.ts';
import { install } from '../../local/install.ts';
import { installKubeVirt } from '../../local/kubevirt/install.ts';
import { anEvent, send } from '../function-host.ts';
import { manifestsIn, startContainer, unpack, type Unpacked } from './support/container.ts';

jest.setTimeout(300_000);

const HERE = { x64: 'amd64', arm64: 'arm64' }[process.arch as string] ?? process.arch;
/** Root in a container may be denied to mount. */
const MAY_MOUNT =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['--mount', 'mount', '--bind', '/tmp', '/tmp']).status === 0;
const BUILD = { version: '0.0.0-test', epoch: 0 };

let folder: TemporaryFolder;
let image: BuiltImage;
const unpacked = new Map<string, Unpacked>();
const rootOf = (architecture: string): Unpacked => unpacked.get(architecture) as Unpacked;

beforeAll(async () => {
  folder = temporaryFolder('mtq-image-');
  const began = performance.now();
  image = await buildFromScratch({ ...BUILD, out: join(folder.path, 'image') });
  process.stderr.write(`· the image of both platforms: built in ${seconds(began)} s\n`);
  for (const { platform, layers } of image.platforms) {
    const { architecture } = platform;
    unpacked.set(architecture, await unpack(image.layout, architecture, join(folder.path, architecture)));
    const pull = layers.reduce((sum, { descriptor }) => sum + descriptor.size, 0);
    process.stderr.write(`· linux/${architecture}: ${(pull / 1024 / 1024).toFixed(1)} MiB to pull\n`);
  }
});

afterAll(() => folder.remove());

const seconds = (since: number): string => ((performance.now() - since) / 1_000).toFixed(1);

test('built again, in another place, it is the same image', async () => {
  const again = await buildFromScratch({
    ...BUILD,
    out: join(folder.path, 'again/and/elsewhere'),
    platforms: PLATFORMS.filter(({ architecture }) => architecture === HERE),
  });
  const [one] = image.platforms.filter(({ platform }) => platform.architecture === HERE);
  expect(again.platforms[0]?.manifest).toEqual(one?.manifest);
});

describe.each(PLATFORMS)('linux/$architecture', ({ architecture, elfMachine }) => {
  /** Every path in it, without a leading slash. */
  const paths = (): string[] =>
    readdirSync(rootOf(architecture).root, { recursive: true, encoding: 'utf8' }).toSorted();
  const at = (path: string): string => join(rootOf(architecture).root, path);

  test('is in the index of the layout', () => {
    const listed = manifestsIn(image.layout).map(({ platform }) => platform);
    expect(listed).toContainEqual({ os: 'linux', architecture });
  });

  test('runs as a user that is known to be none by its number', () => {
    const { User, Entrypoint, Cmd, WorkingDir } = rootOf(architecture).config.config;
    expect(User).toBe('65532:65532');
    expect([Entrypoint, Cmd, WorkingDir]).toEqual([['node'], ['dist/functions.mjs'], '/app']);
  });

  test('has one program, Node, and no shell', () => {
    const programs = paths().filter((path) => {
      const { mode } = lstatSync(at(path));
      return lstatSync(at(path)).isFile() && (mode & 0o111) !== 0 && !/\.so[.\d]*$/.test(path);
    });
    expect(programs).toEqual(['usr/bin/node']);
    expect(paths().filter((path) => /(^|\/)(s?bin)\//.test(path))).toEqual(['usr/bin/node']);
  });

  test('nothing in it belongs to anybody else, and nobody else may write it', () => {
    for (const path of paths()) {
      const stat = lstatSync(at(path));
      expect([path, stat.uid, stat.gid, stat.mtimeMs]).toEqual([path, 0, 0, 0]);
      if (path !== 'tmp' && !stat.isSymbolicLink()) expect([path, stat.mode & 0o6022]).toEqual([path, 0]);
    }
  });

  test('no link leads nowhere', () => {
    const links = paths().filter((path) => lstatSync(at(path)).isSymbolicLink());
    const targets = links.map((path) => targetOf({ path, target: readlinkSync(at(path)) }));
    for (const target of targets) expect(paths()).toContain(target);
    expect(links.length).toBeGreaterThan(0);
  });

  test('every ELF file is of this machine, and finds its loader and its libraries', () => {
    const names = new Set(paths().map((path) => posix.basename(path)));
    const elves = paths().flatMap((path) => {
      if (!lstatSync(at(path)).isFile()) return [];
      const elf = readElf(readFileSync(at(path)));
      return elf === undefined ? [] : [{ path, elf }];
    });
    expect(elves.map(({ path }) => posix.basename(path))).toEqual(
      expect.arrayContaining(['node', 'libc.so.6']),
    );
    for (const { path, elf } of elves) {
      expect([path, elf.machine]).toEqual([path, elfMachine]);
      for (const name of elf.needed) expect([path, name, names.has(name)]).toEqual([path, name, true]);
      if (elf.interpreter !== undefined) expect(paths()).toContain(elf.interpreter.slice(1));
    }
  });

  test('all that is in it is in the list of its contents, and the other way round', () => {
    const file = join(folder.path, 'image', `sbom-${architecture}.cdx.json`);
    const { components } = JSON.parse(readFileSync(file, 'utf8')) as Sbom;
    const listed = (prefix: string): string[] =>
      components.flatMap(({ purl, name, version }) =>
        purl.startsWith(prefix) ? [`${name} ${version}`] : [],
      );
    const licensed = readFileSync(at('app/THIRD-PARTY-LICENSES'), 'utf8').matchAll(/^==== (\S+ \S+) \(/gm);
    expect(listed('pkg:npm/').slice(1).toSorted()).toEqual([...licensed].map(([, what]) => what).toSorted());
    expect(listed('pkg:deb/').map((what) => what.split(' ')[0])).toEqual(
      readdirSync(at('var/lib/dpkg/status.d')),
    );
    expect(components[0]?.version).toBe(process.versions.node);
  });
});

/** As in a pod: the token where the kubelet puts it, nothing of this machine. Why not, where it cannot be. */
const runnable = MAY_MOUNT ? describe : describe.skip;
runnable(`linux/${HERE} runs (needs root that may mount)`, () => {
  const running: Child[] = [];
  let controlPlane: ControlPlane;
  let objects: KubernetesObject[];
  let tlsPort: number;

  beforeAll(async () => {
    objects = await renderDefault();
    controlPlane = await startControlPlane();
    const admin = connect(controlPlane.adminKubeconfig, 'admin');
    tlsPort = await freePort();
    await installKubeVirt(admin);
    await install(admin, objects, tlsPort);
    await admin.create(NAMESPACES, { metadata: { name: 'tenant' } });
  });
  afterAll(async () => {
    for (const child of running) await child.stop(0);
    await controlPlane.stop();
  });

  /** The container that the manifests describe, in the image's root file system. */
  async function start(kind: string, name: string): Promise<{ port: number; child: Child }> {
    const { container, account } = podOf(objects, kind, name);
    const port = await freePort();
    const { hostname, port: apiPort } = new URL(controlPlane.url);
    const declared = container.env?.map(({ name, value = '' }) => [name, value] as const) ?? [];
    const child = await startContainer({
      ...rootOf(HERE),
      name,
      command: container.command,
      args: container.args,
      env: {
        ...Object.fromEntries(declared),
        PORT: String(port),
        TLS_PORT: String(tlsPort),
        KUBERNETES_SERVICE_HOST: hostname,
        KUBERNETES_SERVICE_PORT: apiPort,
      },
      account: await accountFolder(account),
      folder: folder.path,
    });
    running.push(child);
    await untilReady(port, child);
    return { port, child };
  }

  async function accountFolder(name: string): Promise<string> {
    const path = join(folder.path, `account-of-${name}`);
    const kubeconfig = await controlPlane.kubeconfigFor({ namespace: SYSTEM_NAMESPACE, name });
    const { users } = JSON.parse(readFileSync(kubeconfig, 'utf8')) as {
      users: [{ user: { token: string } }];
    };
    mkdirSync(path);
    writeFileSync(join(path, 'token'), users[0].user.token);
    writeFileSync(join(path, 'namespace'), SYSTEM_NAMESPACE);
    cpSync(controlPlane.caFile, join(path, 'ca.crt'));
    return path;
  }

  test.each(STEPS)('$name: is ready, and answers an event', async ({ name, wakesOn }) => {
    const began = performance.now();
    const { port, child } = await start('Service', name);
    process.stderr.write(`· ${name} from the image: ready after ${seconds(began)} s\n`);
    const ours = wakesOn.find(({ type }) => Object.values<string>(EVENT).includes(type));
    const data = { namespace: 'tenant', token: 'token-1' };
    const answer = await send(port, anEvent({ 'ce-type': ours?.type }, data));
    // It asked the API server: out of reach would be 503, no event of this step 400.
    expect([answer.status, answer.body, child.logTail()]).toEqual([
      204,
      '',
      expect.stringContaining('tenant'),
    ]);
    await expectConfined(child.pid);
    await child.stop();
  });

  test('the guard becomes ready: the API server trusts it', async () => {
    const { child } = await start('Deployment', SERVICE_ACCOUNT.guard);
    await expectConfined(child.pid);
    await child.stop();
  });

  /** By what the kernel says of the process: its user, its groups, its capabilities, its root. */
  async function expectConfined(pid: number): Promise<void> {
    const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
    const line = (key: string): string =>
      new RegExp(`^${key}:[ \\t]*(.*?)[ \\t]*$`, 'm').exec(status)?.[1] ?? '';
    expect(line('Uid').split('\t')).toEqual(Array(4).fill('65532'));
    expect(line('Gid').split('\t')).toEqual(Array(4).fill('65532'));
    expect([line('Groups'), BigInt(`0x${line('CapEff')}`)]).toEqual(['', 0n]);
    const mounts = readFileSync(`/proc/${String(pid)}/mountinfo`, 'utf8').split('\n');
    const root = mounts.map((mount) => mount.split(' ')).find(([, , , , point]) => point === '/');
    expect(root?.[5]).toMatch(/^ro,/);
    // Seen from inside: not a file of this machine.
    const { stdout } = await promisify(execFile)('ls', [`/proc/${String(pid)}/root/`]);
    expect(stdout).not.toContain('home');
  }
});

interface Container {
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value?: string }[];
}

interface Workload extends KubernetesObject {
  readonly spec: {
    readonly template?: {
      readonly spec: { readonly serviceAccountName: string; readonly containers: readonly [Container] };
    };
  };
}

function podOf(
  objects: readonly KubernetesObject[],
  kind: string,
  name: string,
): { container: Container; account: string } {
  const found = objects.filter((object) => object.kind === kind && object.metadata.name === name);
  const pod = (found as Workload[]).flatMap(({ spec }) => spec.template?.spec ?? []).at(0);
  if (pod === undefined) throw new Error(`no ${kind} ${name} in the manifests`);
  return { container: pod.containers[0], account: pod.serviceAccountName };
}

async function untilReady(port: number, child: Child): Promise<void> {
  let ended: string | undefined;
  void child.ended.then((how) => (ended = how));
  for (;;) {
    if (ended !== undefined) throw new Error(`${child.name} ended (${ended}):\n${child.logTail()}`);
    const answer = await fetch(`http://127.0.0.1:${String(port)}/health/readiness`).catch(() => undefined);
    if (answer?.ok === true) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
