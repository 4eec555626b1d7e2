/** npm run manifests:admission: writes the policies and webhooks under config/ from the descriptions in this folder. */
import { writeFile } from 'node:fs/promises';
import { renderAdmission } from './render.ts';

for (const [path, text] of renderAdmission()) {
  await writeFile(new URL(`../../../${path}`, import.meta.url), text);
}
