import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ANNOTATION } from '../../../functions/domain/names.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { policiesInForce } from '../../cluster/policies-in-force.ts';
import { anAttempt } from '../../support/builders/namespace.ts';
import { startGuards, type Guards } from '../../support/environment/guards.ts';
import { askUntil } from '../../support/eventually.ts';

/** What a failed attempt leaves on a namespace, with all policies and webhooks in force. */

const NOTE = { 'example.com/note': 'x' };
const HOUR_MS = 3_600_000;

let guards: Guards;

const attemptAt = (at: number): string =>
  JSON.stringify(anAttempt({ at: new Date(at).toISOString(), locked: [] }));

const annotationsOf = async (name: string): Promise<Readonly<Record<string, string>> | undefined> =>
  (await guards.admin.get(NAMESPACES, { name })).object.metadata.annotations;

beforeAll(async () => {
  guards = await startGuards({ CA_LEAD_MS: '0' });
  await (
    await policiesInForce(guards.admin)
  )();
  const now = Date.now();
  for (const [name, at] of Object.entries({ old: now - HOUR_MS, counting: now })) {
    const annotations = { ...NOTE, [ANNOTATION.lastAttempt]: attemptAt(at) };
    await guards.admin.create(NAMESPACES, { metadata: { name, annotations } });
  }
  await guards.start('guard');
});

afterAll(async () => {
  await guards.stop();
});

test('the guard removes it when no step uses it any more, and nothing else', async () => {
  await askUntil(
    'the record is removed',
    () => annotationsOf('old'),
    (annotations) => annotations?.[ANNOTATION.lastAttempt] === undefined,
  );
  expect(await annotationsOf('old')).toEqual(NOTE);
  expect(Object.keys((await annotationsOf('counting')) ?? {})).toContain(ANNOTATION.lastAttempt);
});

test('a tool that owns all annotations of the namespace may replace it at any time', async () => {
  const { object } = await guards.admin.get(NAMESPACES, { name: 'counting' });
  const { annotations: _annotations, ...metadata } = object.metadata;
  await guards.admin.replace(NAMESPACES, { ...object, metadata });
  expect(await annotationsOf('counting')).toBeUndefined();
});
