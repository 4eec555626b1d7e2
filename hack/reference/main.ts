/** npm run reference: writes the generated sections of docs/reference.md from the registries of names, advice and refusals. */
import { readFile, writeFile } from 'node:fs/promises';
import { renderReference } from './render.ts';

const fileOf = (path: string): URL => new URL(`../../${path}`, import.meta.url);

const names = await readFile(fileOf('functions/domain/names.ts'), 'utf8');
const reference = fileOf('docs/reference.md');
await writeFile(reference, renderReference(await readFile(reference, 'utf8'), names));
