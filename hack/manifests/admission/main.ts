/** npm run manifests:admission: the policies and webhooks under config/, of their description beside this file. */
import { writeFile } from 'node:fs/promises';
import { renderAdmission } from './render.ts';

for (const [path, text] of renderAdmission()) {
  await writeFile(new URL(`../../../${path}`, import.meta.url), text);
}
