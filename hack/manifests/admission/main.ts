/** npm run manifests:admission: writes the policies and webhooks under config/ from the descriptions in this folder. */
import { writeFile } from 'node:fs/promises';
import { newScript, runScript } from '../../script.ts';
import { renderAdmission } from './render.ts';

const ADMISSION = newScript(
  'manifests:admission',
  'Writes the policies and webhooks under config/ from the descriptions in hack/manifests/admission.',
);

async function main(): Promise<void> {
  for (const [path, text] of renderAdmission()) {
    await writeFile(new URL(`../../../${path}`, import.meta.url), text);
  }
}

await runScript(ADMISSION, main);
