/** npm run single-binary: writes the kubectl plugin together with its Node, for machines that have none. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from '../test/cluster/controlplane/exit.ts';
import { bundlePlugin } from './build.ts';
import { newScript, Option, runScript } from './script.ts';

const run = promisify(execFile);

/** The Node that goes in, and that builds: the first with --build-sea is 25.5. These packages of npm's registry have Node's own binaries. */
const NODE_VERSION = '26.10.0';
/** The plugin's name on each platform. macOS is not among them, because it runs signed binaries only. */
const FILES = {
  'linux-x64': 'kubectl-vmmrq',
  'linux-arm64': 'kubectl-vmmrq',
  'win-x64': 'kubectl-vmmrq.exe',
} as const;
type Platform = keyof typeof FILES;

const HERE = `${process.platform}-${process.arch}`;

const SINGLE_BINARY = newScript(
  'single-binary',
  'Writes the kubectl plugin with its Node as one file, of some 155 MB. Fetches Node from the npm registry.',
)
  .addOption(
    new Option('--platform <name>', 'what it runs on').choices(Object.keys(FILES)).default('linux-x64'),
  )
  .option('--out <folder>', 'where to write it; its files there are replaced', 'out/single-binary');

async function main({ platform, out }: { platform: Platform; out: string }): Promise<void> {
  const folder = temporaryFolder('mtq-single-binary-');
  const builder = await fetchNode(HERE, folder.path);
  const executable =
    platform === HERE ? builder.executable : (await fetchNode(platform, folder.path)).executable;
  const plugin = await bundlePlugin(join(folder.path, 'plugin'));
  const target = resolve(out, platform);
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true });
  const file = join(target, FILES[platform]);
  const settings = join(folder.path, 'sea.json');
  const main = join(plugin, 'kubectl-vmmrq');
  await writeFile(
    settings,
    JSON.stringify({
      ...{ main, mainFormat: 'module', executable, output: file, disableExperimentalSEAWarning: true },
      // Compiled code is of the platform that compiled it.
      useCodeCache: platform === HERE,
    }),
  );
  await run(builder.executable, ['--build-sea', settings]);
  for (const name of await readdir(plugin))
    if (name !== basename(main)) await copyFile(join(plugin, name), join(target, name));
  await copyFile(builder.license, join(target, 'NODE-LICENSE'));
  process.stdout.write(`${file}\n`);
}

/** Fetches Node for a platform; resolves with its files below `folder`. */
async function fetchNode(platform: string, folder: string): Promise<{ executable: string; license: string }> {
  const fetched = join(folder, platform);
  await mkdir(fetched);
  const spec = `node-${platform}@${NODE_VERSION}`;
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', fetched, spec]);
  await run('tar', ['--extract', '--file', join(fetched, stdout.trim()), '--directory', fetched]);
  const at = join(fetched, 'package');
  const name = platform.startsWith('win') ? 'node.exe' : 'node';
  return { executable: join(at, 'bin', name), license: join(at, 'LICENSE') };
}

await runScript(SINGLE_BINARY, main);
