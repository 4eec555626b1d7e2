import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { isRunning } from '../children.ts';
import { temporaryFolder, type TemporaryFolder } from '../exit.ts';
import { buildBinary } from './build.ts';
import { cacheFolder, pinnedVersion } from './cache.ts';
import { findBinary } from './find.ts';
import { BINARIES, PARTS } from './parts.ts';

let folder: TemporaryFolder;
let env: NodeJS.ProcessEnv;

beforeEach(() => {
  folder = temporaryFolder('mtq-binaries-');
  const PATH = `${join(folder.path, 'bin')}:${process.env['PATH'] ?? ''}`;
  env = { PATH, XDG_CACHE_HOME: join(folder.path, 'cache') };
});
afterEach(() => folder.remove());

/** A program of a few lines of shell, padded to the size of a real one. */
function program(path: string, script: string): string {
  const file = join(folder.path, path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${script}\nexit 0\n${'#'.repeat(2 * 1024 * 1024)}`);
  chmodSync(file, 0o755);
  return file;
}

describe('the cache', () => {
  test('is a folder of its own for each module, below XDG_CACHE_HOME or ~/.cache', () => {
    const etcd = cacheFolder('etcd', env);
    expect(etcd).toMatch(/\/cache\/managed-tenant-quota\/etcd-[0-9a-f]{16}$/);
    expect(basename(cacheFolder('kubernetes', env))).not.toBe(basename(etcd));
    const usual = join(homedir(), '.cache', 'managed-tenant-quota', basename(etcd));
    expect(cacheFolder('etcd', {})).toBe(usual);
    expect(cacheFolder('etcd', { XDG_CACHE_HOME: 'relative' })).toBe(usual);
  });

  test('has the versions of go.mod', () => {
    for (const part of Object.values(PARTS)) expect(pinnedVersion(part)).toMatch(/^v\d+\.\d+\.\d+$/);
    expect(() => pinnedVersion({ module: 'etcd', versionOf: 'k8s.io/kubernetes' })).toThrow(
      'does not require',
    );
  });
});

describe('finding', () => {
  test('returns undefined without a binary, so that it is built', () => {
    expect(findBinary('etcd', env)).toBeUndefined();
  });

  test('returns the cached binary, unless a full disk truncated it', () => {
    const cached = program(join('cache', cachedName('etcd'), 'etcd'), 'true');
    expect(findBinary('etcd', env)).toBe(cached);
    writeFileSync(cached, '');
    expect(findBinary('etcd', env)).toBeUndefined();
  });

  test('prefers KUBEBUILDER_ASSETS, which need not contain kube-controller-manager and kubectl', () => {
    program(join('cache', cachedName('etcd'), 'etcd'), 'true');
    const given = program('assets/etcd', 'true');
    const assets = { ...env, KUBEBUILDER_ASSETS: join(folder.path, 'assets') };
    expect(findBinary('etcd', assets)).toBe(given);
    expect(findBinary('kube-controller-manager', assets)).toBeUndefined();
    expect(findBinary('kustomize', assets)).toBeUndefined();
    expect(() => findBinary('kube-apiserver', assets)).toThrow(
      /KUBEBUILDER_ASSETS is .* no executable kube-apiserver/,
    );
  });

  test('names a binary of another platform in KUBEBUILDER_ASSETS', () => {
    const broken = program('assets/etcd', 'echo cannot run here >&2; exit 126');
    const assets = { ...env, KUBEBUILDER_ASSETS: join(folder.path, 'assets') };
    expect(() => findBinary('etcd', assets)).toThrow(`${broken} does not run as etcd: cannot run here`);
  });

  test.each(BINARIES)("never returns the machine's own %s, which may be of any version", (name) => {
    program(`bin/${name}`, 'true');
    expect(findBinary(name, { ...env, PATH: join(folder.path, 'bin') })).toBeUndefined();
  });
});

/** A go that "builds" by running `script`, with the wanted file in $output. */
const fakeGo = (script: string): string =>
  program(
    'bin/go',
    `[ "$1" = version ] && { echo go version go1.26.0; exit 0; }
     while [ "$1" != -o ]; do shift; done
     output=$2
     ${script}`,
  );

describe('building', () => {
  test('puts the whole binary into the cache, and nothing else', async () => {
    const made = program('made', `echo kustomize ${pinnedVersion(PARTS.kustomize)}`);
    fakeGo(`cp ${made} "$output"; touch "$GOTMPDIR/left-over"`);
    const path = await buildBinary('kustomize', env);
    expect(path).toBe(join(cacheFolder('kustomize', env), 'kustomize'));
    expect(findBinary('kustomize', env)).toBe(path);
    expect(readdirSync(cacheFolder('kustomize', env))).toEqual(['kustomize']);
  });

  test("sets Kubernetes' own version, as its release scripts do", async () => {
    const made = program('made', `echo Kubernetes ${pinnedVersion(PARTS.kubectl)}`);
    const go = fakeGo(`cp ${made} "$output"`);
    writeFileSync(
      go,
      readFileSync(go, 'utf8').replace('while', `echo "$@" > ${folder.path}/arguments; while`),
    );
    await buildBinary('kube-apiserver', env);
    const said = readFileSync(join(folder.path, 'arguments'), 'utf8');
    expect(said).toContain(`component-base/version.gitVersion=${pinnedVersion(PARTS.kubectl)} `);
    expect(said).toMatch(
      /version\.gitMajor=\d+ .*version\.gitMinor=\d+ .* k8s\.io\/kubernetes\/cmd\/kube-apiserver\n$/,
    );
  });

  test.each([
    [
      'reports a failed build with the output of go',
      'echo no such module; exit 1',
      /failed \(exit code 1\):\nno such module/,
    ],
    ['refuses a result that is no program', 'echo garbage > "$output"', /does not run as kustomize/],
    [
      'refuses a binary of another version',
      'printf "#!/bin/sh\necho v0.0.1\n" > "$output"; chmod +x "$output"',
      /but says v0\.0\.1/,
    ],
  ])('%s, and leaves nothing', async (_, script, message) => {
    fakeGo(script);
    await expect(buildBinary('kustomize', env)).rejects.toThrow(message);
    expect(readdirSync(cacheFolder('kustomize', env))).toEqual([]);
  });

  test.each([
    ['none', undefined, /Go 1\.\d+\.\d+ or newer is needed.*there is no 'go' on the PATH/s],
    ['one from before toolchains', 'echo go version go1.19.8 linux/amd64', /this is go version go1\.19\.8/],
    [
      'one that may not fetch a newer one',
      'echo go.mod requires newer >&2; exit 1',
      /go\.mod requires newer/,
    ],
  ])('fails without a usable Go: %s', async (_, script, message) => {
    if (script !== undefined) program('bin/go', script);
    const only = { ...env, PATH: `${join(folder.path, 'bin')}:/bin` };
    await expect(
      buildBinary('kustomize', script === undefined ? { ...env, PATH: '/none' } : only),
    ).rejects.toThrow(message);
  });

  test('ends go and its children on Ctrl-C, and leaves no partial file', async () => {
    const pidFile = join(folder.path, 'pid');
    fakeGo(`echo half > "$output"; sleep 60 & echo $! > ${pidFile}; wait`);
    const main = fileURLToPath(new URL('main.ts', import.meta.url));
    const cached = program('assets/etcd', 'true');
    for (const name of ['kube-apiserver', 'kube-controller-manager', 'kubectl']) {
      program(join('assets', name), 'true');
    }
    const running = spawn(process.execPath, [main], {
      env: { ...env, KUBEBUILDER_ASSETS: join(cached, '..') },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    running.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    while (!existsSync(pidFile) || readFileSync(pidFile, 'utf8') === '') await tick();
    running.kill('SIGINT');
    expect(await once(running, 'exit')).toEqual([130, null]);
    expect(said).toBe('· kustomize (5 of 5): building 0 s (at first 0.3 min)\n');
    expect(readdirSync(cacheFolder('kustomize', env))).toEqual([]);
    const pid = Number(readFileSync(pidFile, 'utf8'));
    while (isRunning(pid)) await tick();
  });
});

const cachedName = (module: 'etcd'): string =>
  cacheFolder(module, env).slice(join(folder.path, 'cache').length + 1);

const tick = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));
