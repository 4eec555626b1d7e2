/** npm run manifests: writes the manifests of `kubectl apply -k` as one file and as a Helm chart. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseImage } from '../../test/cluster/image.ts';
import { COMPONENTS, OVERLAYS, type Component, type Overlay } from '../../test/cluster/overlay.ts';
import { newScript, Option, runScript } from '../script.ts';
import { writeInstallation } from './write.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const MANIFESTS = newScript(
  'manifests',
  'Writes the manifests of one overlay as one file and as a Helm chart.',
)
  .addOption(new Option('--overlay <name>', 'what to install').choices(OVERLAYS).default('default'))
  .addOption(new Option('--with <component...>', 'and these').choices(COMPONENTS).default([], 'none'))
  .addOption(new Option('--out <folder>', 'where to').default(join(root, 'out/manifests'), 'out/manifests'))
  .addHelpText('after', '\nIMAGE names the pushed image: IMAGE=registry.example/mtq:0.1.0 npm run manifests');

interface Flags {
  readonly overlay: Overlay;
  readonly with: readonly Component[];
  readonly out: string;
}

async function main({ overlay, with: components, out }: Flags): Promise<void> {
  const image = parseImage(process.env['IMAGE']);
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };

  const { file, chart } = await writeInstallation(out, { overlay, components, image, version });
  process.stdout.write(`${file}\n${chart}\n`);
}

await runScript(MANIFESTS, main);
