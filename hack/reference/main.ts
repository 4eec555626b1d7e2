/**
 * npm run reference: writes the generated sections of docs/reference.md from the registries of names, advice and refusals, and docs/events:
 * schemas and examples of the CloudEvents, and their AsyncAPI document; and the component of their EventTypes.
 */
import { readFileSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { format, resolveConfig } from 'prettier';
import { newScript, runScript } from '../script.ts';
import { eventFiles } from './event-schemas.ts';
import { EVENT_TYPES, eventTypes } from './event-types.ts';
import { renderReference } from './render.ts';

const REFERENCE = newScript(
  'reference',
  'Writes the generated sections of docs/reference.md, docs/events, and the EventTypes in config.',
);

const fileOf = (path: string): URL => new URL(`../../${path}`, import.meta.url);

async function main(): Promise<void> {
  const names = await readFile(fileOf('functions/domain/names.ts'), 'utf8');
  const reference = fileOf('docs/reference.md');
  await writeFile(reference, renderReference(await readFile(reference, 'utf8'), names));

  const textOf = (file: string): string => readFileSync(fileOf(file), 'utf8');
  const files = eventFiles(textOf);
  const events = fileOf('docs/events/');
  await rm(events, { recursive: true, force: true });
  await mkdir(events);
  const style = await resolveConfig(events);
  for (const [name, text] of files) {
    await writeFile(new URL(name, events), await format(text, { ...style, parser: 'json' }));
  }
  await writeFile(fileOf(EVENT_TYPES), await format(eventTypes(textOf), { ...style, parser: 'yaml' }));
}

await runScript(REFERENCE, main);
