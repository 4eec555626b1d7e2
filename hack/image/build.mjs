/**
 * npm run image: builds hack/image/Dockerfile with the first container engine that works (docs/development.md). It is plain
 * JavaScript without dependencies, so that any Node runs it; the build itself runs in a container.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const USAGE = `Usage: npm run image -- --tag REPOSITORY:TAG [--platform linux/amd64,linux/arm64] [--push] [-- OPTION...]

Builds hack/image/Dockerfile with docker, podman or buildah.

  --tag       the name of the image
  --platform  of this machine when left out; several need --push with docker
  --push      push it too
  OPTION      goes to the engine's build, for example --build-arg=BASE=IMAGE
  -h, --help  display this
`;
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

/** Whether the engine has the image or can pull it. Its error goes to standard error. */
function hasImage(engine, image) {
  const { stdout } = spawnSync(engine, ['images', '--quiet', image], { encoding: 'utf8' });
  if (stdout?.trim()) return true;
  const pulled = spawnSync(engine, ['pull', image], {
    stdio: ['ignore', 'ignore', 'inherit'],
    timeout: 60_000,
  });
  return pulled.status === 0;
}

/** Returns a line for each base image that the engine does not get, with the build argument that replaces it. */
function unreachableBases(engine, options) {
  const bases = new Map();
  for (const [, name, image] of readFileSync(dockerfile, 'utf8').matchAll(/^ARG (\w+)=(\S+)$/gm))
    bases.set(name, image);
  for (const [, name, image] of options.join(' ').matchAll(/--build-arg[ =](\w+)=(\S+)/g))
    if (bases.has(name)) bases.set(name, image);
  return [...bases]
    .filter(([, image]) => !hasImage(engine, image))
    .map(([name, image]) => `  cannot reach ${image}: name another one by -- --build-arg=${name}=IMAGE`);
}

function build({ values, positionals }) {
  const reasons = {};
  const engine = Object.keys(PROBES).find((name) => (reasons[name] = whyNot(name)) === undefined);
  if (!engine) {
    const list = Object.entries(reasons).map((reason) => `  ${reason.join(': ')}`);
    throw new Error(
      `Nothing here builds images. Install docker with buildx, podman or buildah.\n${list.join('\n')}`,
    );
  }
  for (const args of commandsOf(engine, values, positionals)) {
    if (spawnSync(engine, args, { stdio: 'inherit' }).status === 0) continue;
    const unreachable = args.includes('build') ? unreachableBases(engine, positionals) : [];
    throw new Error([`${engine} ${args[0]} failed`, ...unreachable].join('\n'));
  }
}

function readArguments() {
  const [string, boolean] = [{ type: 'string' }, { type: 'boolean' }];
  const options = { tag: string, platform: string, push: boolean, help: { ...boolean, short: 'h' } };
  try {
    const found = parseArgs({ options, allowPositionals: true });
    if (!found.values.help && !found.values.tag) throw new Error('--tag is missing');
    return found;
  } catch (error) {
    process.stderr.write(`error: ${error.message}\n\n${USAGE}`);
    return process.exit(2);
  }
}

const found = readArguments();
if (found.values.help) {
  process.stdout.write(USAGE);
  process.exit(0);
}
try {
  build(found);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
