/**
 * npm run reference: writes the generated sections of docs/reference.md from the registries of names, advice and refusals, and docs/events:
 * schemas and examples of the CloudEvents, and their AsyncAPI document.
 */
import { readFileSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { newScript, runScript } from '../script.ts';
import { eventFiles } from './event-schemas.ts';
import { renderReference } from './render.ts';

const REFERENCE = newScript(
  'reference',
  'Writes the generated sections of docs/reference.md, and docs/events.',
);

const fileOf = (path: string): URL => new URL(`../../${path}`, import.meta.url);

async function main(): Promise<void> {
  const names = await readFile(fileOf('functions/domain/names.ts'), 'utf8');
  const reference = fileOf('docs/reference.md');
  await writeFile(reference, renderReference(await readFile(reference, 'utf8'), names));

  const files = eventFiles((file) => readFileSync(fileOf(file), 'utf8'));
  const events = fileOf('docs/events/');
  await rm(events, { recursive: true, force: true });
  await mkdir(events);
  const style = await resolveConfig(events);
  for (const [name, text] of files) {
    await writeFile(new URL(name, events), await format(text, { ...style, parser: 'json' }));
  }
}

await runScript(REFERENCE, main);
