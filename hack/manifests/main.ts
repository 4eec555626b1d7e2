/** npm run manifests: writes the manifests of `kubectl apply -k` as one file and as a Helm chart. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { NoImage, parseImage } from '../../test/cluster/image.ts';
import { COMPONENTS, OVERLAYS } from '../../test/cluster/overlay.ts';
import { writeInstallation } from './write.ts';

const USAGE = `IMAGE=registry.example/mtq:0.1.0 npm run manifests -- [--overlay NAME] [--with NAME]... [--out FOLDER]
  --overlay  ${OVERLAYS.join(' | ')}; default when left out
  --with     ${COMPONENTS.join(' | ')}
  --out      out/manifests when left out`;

const root = fileURLToPath(new URL('../..', import.meta.url));

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      overlay: { type: 'string', default: 'default' },
      with: { type: 'string', multiple: true, default: [] },
      out: { type: 'string', default: join(root, 'out/manifests') },
    },
  });
  const overlay = oneOf(OVERLAYS, values.overlay);
  const components = values.with.map((name) => oneOf(COMPONENTS, name));
  const image = parseImage(process.env['IMAGE']);
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };

  const { file, chart } = await writeInstallation(values.out, { overlay, components, image, version });
  process.stdout.write(`${file}\n${chart}\n`);
}

/** The error for an unknown argument. */
class Usage extends Error {}

function oneOf<T extends string>(names: readonly T[], name: string): T {
  const found = names.find((each) => each === name);
  if (found === undefined) throw new Usage(`unknown name '${name}'`);
  return found;
}

try {
  await main();
} catch (error) {
  const isUsage = error instanceof Usage || (error instanceof TypeError && 'code' in error);
  const text = error instanceof NoImage ? error.message : describeError(error);
  process.stderr.write(`${text}\n${isUsage ? `${USAGE}\n` : ''}`);
  process.exitCode = 1;
}
