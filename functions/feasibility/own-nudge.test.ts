import { expect, test } from '@jest/globals';
import { aMigration, inPhase, withCondition } from '../../test/support/builders/kubevirt.ts';
import { annotated } from '../../test/support/builders/object.ts';
import { ANNOTATION, SOURCE_EVENT } from '../domain/names.ts';
import type { Migration } from '../domain/objects.ts';
import { parseEventObject } from '../eventing/event-object.ts';
import { nudgeIn } from './own-nudge.ts';

const { add, update, delete: deleted } = SOURCE_EVENT;
const nudged = annotated(ANNOTATION.nudged, 'headroom 1');

function nudgeOf(migration: Migration, type: string): string | undefined {
  const [kind, namespace] = [migration.kind ?? '', migration.metadata.namespace ?? ''];
  const eventObject = parseEventObject(migration, { kind, namespace });
  return nudgeIn({ type, id: '', namespace, kind, ...(eventObject === undefined ? {} : { eventObject }) });
}

test('a refused migration that was nudged: the nudge by its value', () => {
  expect(nudgeOf(aMigration(nudged), update)).toBe('nudge uid-of-mig0 headroom 1');
});

test.each<[string, Migration, string]>([
  ['was never nudged', aMigration(), update],
  ['goes on: the nudge had its effect', aMigration(nudged, inPhase('Scheduling')), update],
  ['waits for its attachment pod, without the condition', aMigration(nudged, withCondition()), update],
  ['is listed again by the source', aMigration(nudged), add],
  ['is deleted', aMigration(nudged), deleted],
])('none: the migration %s', (_, migration, type) => {
  expect(nudgeOf(migration, type)).toBeUndefined();
});
