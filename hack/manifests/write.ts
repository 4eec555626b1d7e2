import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { chartOf } from './chart.ts';
import { PLACEHOLDER, textOf, type Image } from '../../test/cluster/image.ts';
import { renderInstallation, type Installation } from '../../test/cluster/overlay.ts';

export interface Wanted extends Installation {
  readonly image: Image;
  /** The version of the chart. */
  readonly version: string;
}

/** Writes the manifests of `kubectl apply -k` as one file and as a Helm chart to `folder`. Resolves with their paths. */
export async function writeInstallation(
  folder: string,
  { version, image, ...wanted }: Wanted,
): Promise<{ readonly file: string; readonly chart: string }> {
  const file = join(folder, `${PLACEHOLDER}.yaml`);
  await write(file, await renderInstallation({ ...wanted, image }));
  const chart = join(folder, 'chart');
  await rm(chart, { recursive: true, force: true });
  const manifests = await renderInstallation(wanted);
  for (const [name, text] of Object.entries(chartOf({ manifests, version, image: textOf(image) })))
    await write(join(chart, name), text);
  return { file, chart };
}

async function write(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
}
