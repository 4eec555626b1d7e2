import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { temporaryFolder, type TemporaryFolder } from '../cluster/controlplane/exit.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The engines are scripts that record their arguments, because no real engine runs here (docs/development.md). */
describe('npm run image', () => {
  let engines: TemporaryFolder;
  let calls: string;
  const TAG = 'registry.example/mtq:1.2.3';
  const SOURCE = `--file ${root}hack/image/Dockerfile`;

  beforeEach(() => {
    engines = temporaryFolder('mtq-engines-');
    calls = join(engines.path, 'calls');
  });
  afterEach(() => engines.remove());

  /** `fails`: shell patterns; the engine fails for arguments that match one. */
  const engine = (name: string, fails = 'never'): void =>
    writeFileSync(
      join(engines.path, name),
      `#!/bin/sh
      echo "${name} $*" >> ${calls}
      case "$*" in ${fails}) echo "${name} cannot" >&2; exit 1;; esac
      `,
      { mode: 0o755 },
    );

  function image(...args: readonly string[]): { status: number | null; stderr: string; called: string[] } {
    const script = join(root, 'hack/image/build.mjs');
    const env = { PATH: engines.path };
    const { status, stderr } = spawnSync(process.execPath, [script, ...args], { env, encoding: 'utf8' });
    return { status, stderr, called: existsSync(calls) ? callsIn(calls) : [] };
  }
  const callsIn = (path: string): string[] => readFileSync(path, 'utf8').trimEnd().split('\n');

  test('builds with docker if docker works, and calls no other engine', () => {
    for (const name of ['docker', 'podman', 'buildah']) engine(name);
    const { status, called } = image('--tag', TAG);
    expect([status, called]).toEqual([
      0,
      ['docker buildx version', 'docker info', `docker buildx build --tag ${TAG} --load ${SOURCE} ${root}`],
    ]);
  });

  test.each([
    ['docker has no buildx', 'buildx*'],
    ['docker has no daemon', 'info'],
  ])('builds with podman where %s', (_, fails) => {
    engine('docker', fails);
    engine('podman');
    const { status, called } = image('--tag', TAG, '--push');
    expect([status, called.slice(-3)]).toEqual([
      0,
      ['podman info', `podman build --tag ${TAG} ${SOURCE} ${root}`, `podman push ${TAG}`],
    ]);
  });

  test('builds several platforms with buildah as one list, and pushes all of it', () => {
    // buildah's manifest list does not exist yet.
    engine('buildah', 'manifest\\ rm*');
    const platforms = 'linux/amd64,linux/arm64';
    const { status, called } = image('--tag', TAG, '--platform', platforms, '--push');
    expect([status, called]).toEqual([
      0,
      [
        'buildah info',
        `buildah manifest rm ${TAG}`,
        `buildah build --manifest ${TAG} --platform ${platforms} ${SOURCE} ${root}`,
        `buildah manifest push --all ${TAG} docker://${TAG}`,
      ],
    ]);
  });

  test('builds several platforms with docker, and pushes them', () => {
    engine('docker');
    const { called } = image('--tag', TAG, '--platform', 'linux/amd64,linux/arm64', '--push');
    expect(called.at(-1)).toContain(`--tag ${TAG} --push --platform linux/amd64,linux/arm64 --file`);
  });

  test('passes further arguments to the engine', () => {
    engine('podman');
    const { called } = image('--tag', TAG, '--', '--build-arg', 'BASE=registry.example/node:24');
    expect(called.at(-1)).toContain(`${SOURCE} --build-arg BASE=registry.example/node:24 ${root}`);
  });

  test('without an engine says what to install, and why each engine is unusable', () => {
    engine('docker', 'info');
    expect(image('--tag', TAG)).toMatchObject({
      status: 1,
      stderr:
        'Nothing here builds images. Install docker with buildx, podman or buildah.\n' +
        '  docker: docker cannot\n  podman: not installed\n  buildah: not installed\n',
    });
  });

  test('fails without a push when the build fails', () => {
    engine('podman', 'build*');
    const { status, stderr, called } = image('--tag', TAG, '--push');
    expect([status, stderr]).toEqual([1, 'podman cannot\npodman build failed\n']);
    expect(called.filter((call) => call.includes(' push '))).toEqual([]);
  });

  test.each<[string, string, string[], string]>([
    ['the base', 'pull\\ gcr.io/*', [], 'gcr.io/distroless/nodejs24-debian13:nonroot … BASE'],
    ['the image that builds', 'pull\\ docker.io/*', [], 'docker.io/library/node:24-slim … BUILDER'],
    [
      'our own base',
      'pull\\ my.example/*',
      ['--build-arg', 'BASE=my.example/node'],
      'my.example/node … BASE',
    ],
  ])('says that it cannot reach %s, and what replaces it', (_, pull, options, want) => {
    engine('podman', `build*|${pull}`);
    const { status, stderr } = image('--tag', TAG, '--', ...options);
    const [reached = '', argument = ''] = want.split(' … ');
    expect([status, stderr]).toEqual([
      1,
      'podman cannot\npodman cannot\npodman build failed\n' +
        `  cannot reach ${reached}: name another one by -- --build-arg=${argument}=IMAGE\n`,
    ]);
  });

  test('does not ask for a base that the engine has', () => {
    engine('podman', 'build*|pull*');
    appendFileSync(join(engines.path, 'podman'), 'case "$1" in images) echo 0123456789ab;; esac\n');
    expect(image('--tag', TAG).stderr).toBe('podman cannot\npodman build failed\n');
  });

  test('without a tag prints its usage, and calls no engine', () => {
    engine('docker');
    expect(image()).toMatchObject({ status: 2, stderr: expect.stringContaining('--tag'), called: [] });
  });
});
