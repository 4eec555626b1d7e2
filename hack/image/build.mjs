/**
 * npm run image: builds hack/image/Dockerfile with the first container engine that works (docs/development.md). It is plain
 * JavaScript without dependencies, so that any Node runs it; the build itself runs in a container.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const USAGE = `npm run image -- --tag REPOSITORY:TAG [--platform linux/amd64,linux/arm64] [--push] [-- OPTION...]
  --platform  of this machine when left out; several need --push with docker
  OPTION      goes to the engine's build, for example --build-arg=BASE=IMAGE`;
const context = fileURLToPath(new URL('../..', import.meta.url));
const dockerfile = fileURLToPath(new URL('Dockerfile', import.meta.url));

/** Commands that succeed where the engine can build: docker's client runs without its daemon and without buildx. */
const PROBES = { docker: [['buildx', 'version'], ['info']], podman: [['info']], buildah: [['info']] };

function whyNot(engine) {
  for (const args of PROBES[engine]) {
    const { error, status, stderr } = spawnSync(engine, args, { encoding: 'utf8', timeout: 10_000 });
    if (error) return error.code === 'ENOENT' ? 'not installed' : error.message;
    if (status !== 0) return stderr.trim().split('\n')[0];
  }
  return undefined;
}

function commandsOf(engine, { tag, platform, push }, options) {
  const source = [...(platform ? ['--platform', platform] : []), '--file', dockerfile, ...options, context];
  if (engine === 'docker') return [['buildx', 'build', '--tag', tag, push ? '--push' : '--load', ...source]];
  // With --tag, podman and buildah keep only one of several platforms.
  const isList = platform?.includes(',');
  // A second build would add to a list of that name, not replace it.
  if (isList) spawnSync(engine, ['manifest', 'rm', tag]);
  const build = ['build', isList ? '--manifest' : '--tag', tag, ...source];
  const upload = isList ? ['manifest', 'push', '--all', tag, `docker://${tag}`] : ['push', tag];
  return push ? [build, upload] : [build];
}

function build({ values, positionals }) {
  if (!values.tag) throw new Error(USAGE);
  const reasons = {};
  const engine = Object.keys(PROBES).find((name) => (reasons[name] = whyNot(name)) === undefined);
  if (!engine) {
    const list = Object.entries(reasons).map((reason) => `  ${reason.join(': ')}`);
    throw new Error(
      `Nothing here builds images. Install docker with buildx, podman or buildah.\n${list.join('\n')}`,
    );
  }
  for (const args of commandsOf(engine, values, positionals))
    if (spawnSync(engine, args, { stdio: 'inherit' }).status !== 0)
      throw new Error(`${engine} ${args[0]} failed`);
}

try {
  const options = { tag: { type: 'string' }, platform: { type: 'string' }, push: { type: 'boolean' } };
  build(parseArgs({ options, allowPositionals: true }));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
