import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import * as z from 'zod';
import { LIVE_EVENT, MOVE_EVENT } from '../../functions/domain/live/names.ts';
import { EVENT } from '../../functions/domain/names.ts';
import { MAINTENANCE_CHANGED, MAINTENANCE_EVENT } from '../../functions/domain/progress/names.ts';
import { eventCatalogue, schemaFile, schemaId } from '../../hack/reference/event-catalogue.ts';
import { eventExamples } from '../../hack/reference/event-examples.ts';
import { eventFiles } from '../../hack/reference/event-schemas.ts';
import { EVENT_TYPES, eventTypes } from '../../hack/reference/event-types.ts';
import { objectsOf } from '../cluster/controlplane/kustomize.ts';
import { environmentOf } from './rendered.ts';

const root = new URL('../../', import.meta.url);
const textOf = (file: string): string => readFileSync(new URL(file, root), 'utf8');
const fileOf = (name: string): unknown => JSON.parse(textOf(`docs/events/${name}`));

const FILES = eventFiles(textOf);
const CATALOGUE = eventCatalogue(textOf);
const ASYNC_API = 'asyncapi.json';

interface Schema {
  readonly $id: string;
  readonly title: string;
  readonly description: string;
  readonly required?: readonly string[];
  readonly examples: readonly [Readonly<Record<string, unknown>>];
}

describe('docs/events', () => {
  test.each([...FILES])('%s is what `npm run reference` writes', (name, text) => {
    expect(fileOf(name)).toEqual(JSON.parse(text));
  });

  test('has no other files', () => {
    expect(readdirSync(new URL('docs/events', root)).sort()).toEqual([...FILES.keys()].sort());
  });

  test('has every type that the names have', () => {
    const types = [EVENT, LIVE_EVENT, MAINTENANCE_EVENT, MOVE_EVENT].flatMap((names) =>
      Object.values<string>(names),
    );
    expect(CATALOGUE.map(({ type }) => type).sort()).toEqual([...types, MAINTENANCE_CHANGED].sort());
  });

  test('names each schema once', () => {
    const ids = CATALOGUE.map(({ type }) => (fileOf(schemaFile(type)) as Schema).$id);
    expect(ids).toEqual(CATALOGUE.map(({ type }) => schemaId(type)));
    expect(new Set(ids).size).toBe(ids.length);
  });
});

describe.each(CATALOGUE)('$type', ({ type, data, description, sources }) => {
  const schema = fileOf(schemaFile(type)) as Schema;
  const [example] = schema.examples;
  const published = z.fromJSONSchema(schema as unknown as z.core.JSONSchema.JSONSchema);
  const accepts = (value: unknown): boolean[] =>
    [published, data].map((each) => z.safeParse(each, value).success);

  test('says what it is', () => {
    expect(schema).toMatchObject({ title: type, description });
  });

  test('accepts its example, by the file and by the code', () => {
    expect(accepts(example)).toEqual([true, true]);
    expect(sources).toContain(eventExamples().get(type)?.source);
  });

  test('refuses it without a member that it needs', () => {
    const needed = schema.required ?? Object.keys(example);
    for (const member of needed)
      expect([member, ...accepts({ ...example, [member]: undefined })]).toEqual([member, false, false]);
    expect(needed).not.toEqual([]);
  });

  test('accepts members of a later version', () => {
    expect(accepts({ ...example, later: 1 })).toEqual([true, true]);
  });
});

describe('the EventTypes', () => {
  test('are what `npm run reference` writes', () => {
    expect(objectsOf(textOf(EVENT_TYPES))).toEqual(objectsOf(eventTypes(textOf)));
  });

  test('are those of the events for subscribers, and of no others', () => {
    const wanted = CATALOGUE.filter(({ isForSubscribers }) => isForSubscribers).map(({ type }) => type);
    expect(objectsOf(textOf(EVENT_TYPES)).map(({ metadata }) => metadata.name)).toEqual(wanted);
    expect(wanted).toEqual([...Object.values(MAINTENANCE_EVENT), ...Object.values(MOVE_EVENT)]);
  });
});

interface Operation {
  readonly action: 'send' | 'receive';
  readonly channel: Reference;
  readonly messages: readonly Reference[];
  readonly reply?: { readonly channel: Reference; readonly messages: readonly Reference[] };
}

interface Reference {
  readonly $ref: string;
}

interface AsyncApi {
  readonly asyncapi: string;
  readonly servers: { readonly broker: { readonly host: string; readonly protocol: string } };
  readonly channels: {
    readonly broker: { readonly address: string; readonly messages: Readonly<Record<string, Reference>> };
  };
  readonly operations: Readonly<Record<string, Operation>>;
}

describe('the AsyncAPI document', () => {
  const document = fileOf(ASYNC_API) as AsyncApi;
  const { servers, channels, operations } = document;
  const types = CATALOGUE.map(({ type }) => type);

  test('is of the version that has operations with replies', () => {
    expect(document).toMatchObject({ asyncapi: '3.0.0', info: { version: 'v1alpha1' } });
  });

  test('has the Broker as its only channel, at the address to which our processes post', () => {
    const { host, protocol } = servers.broker;
    expect(Object.keys({ ...servers, ...channels })).toEqual(['broker']);
    expect(`${protocol}://${host}${channels.broker.address}`).toBe(environmentOf('unlock')['K_SINK']);
  });

  test('has a message for each type', () => {
    expect(Object.keys(channels.broker.messages)).toEqual(types);
  });

  test('refers only to what there is', () => {
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"([^"]*)"/g)].map(([, to = '']) => to);
    expect(references.length).toBeGreaterThan(types.length);
    expect(references.filter((to) => !exists(to, document))).toEqual([]);
  });

  test('has each message in what a process sends, and no message that it does not know', () => {
    const all = Object.values(operations);
    const named = (messages: readonly Reference[]): string[] =>
      messages.map(({ $ref }) => $ref.replace('#/channels/broker/messages/', ''));
    const sent = [
      ...all.flatMap(({ action, messages }) => (action === 'send' ? named(messages) : [])),
      ...all.flatMap(({ reply }) => named(reply?.messages ?? [])),
    ];
    expect([...new Set(sent)].sort()).toEqual(types.toSorted());
    expect(all.map(({ messages }) => messages.length)).not.toContain(0);
  });
});

/** Whether a reference has a target: in the document, or another file of the folder. */
function exists(reference: string, document: object): boolean {
  if (!reference.startsWith('#/')) return FILES.has(reference.replace('./', ''));
  const steps = reference.slice(2).split('/');
  return (
    steps.reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], document) !==
    undefined
  );
}
