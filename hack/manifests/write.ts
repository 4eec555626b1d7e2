import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { mapAtMost } from '../../kubectl/cluster/map-at-most.ts';
import { objectsOf } from '../../test/cluster/controlplane/kustomize.ts';
import { PLACEHOLDER, textOf, type Image } from '../../test/cluster/image.ts';
import { renderInstallation, type Installation } from '../../test/cluster/overlay.ts';
import { chartOf } from './chart/chart.ts';
import { installationOf, SAMPLED } from './chart/switches.ts';

export interface Wanted extends Installation {
  readonly image: Image;
  /** The version of the chart. */
  readonly version: string;
}

/** How many renderings run at a time: each is a process of half a second. */
const AT_ONCE = 4;

/**
 * Writes the manifests of `kubectl apply -k` as one file and as a Helm chart to `folder`; the chart's default values render the same.
 * Resolves with their paths. Rejects for components that the overlay cannot have.
 */
export async function writeInstallation(
  folder: string,
  { version, image, ...wanted }: Wanted,
): Promise<{ readonly file: string; readonly chart: string }> {
  const { overlay, components, tree } = wanted;
  const file = join(folder, `${PLACEHOLDER}.yaml`);
  const manifests = await renderInstallation({ ...wanted, image });
  await write(file, manifests);
  const sampled = await mapAtMost(AT_ONCE, SAMPLED, async (on) => ({
    on,
    objects: objectsOf(await renderInstallation({ ...installationOf(on), tree })),
  }));
  const on = overlay === 'default' ? components : [overlay, ...components];
  const byDefault = { on, objects: objectsOf(manifests) };
  const chart = join(folder, 'chart');
  await rm(chart, { recursive: true, force: true });
  for (const [name, text] of Object.entries(chartOf({ sampled, byDefault, version, image: textOf(image) })))
    await write(join(chart, name), text);
  return { file, chart };
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
