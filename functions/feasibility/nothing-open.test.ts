import { describe, expect, test } from '@jest/globals';
import { aMigration, inPhase } from '../../test/support/builders/kubevirt.ts';
import type { Change } from '../../test/support/builders/object.ts';
import { aView, aVmmrq } from '../../test/support/builders/snapshot.ts';
import { EVENT, REASON, SOURCE_EVENT } from '../domain/names.ts';
import type { KubernetesObject, Migration } from '../domain/objects.ts';
import type { StepRequest } from '../eventing/step-request.ts';
import { parseEventObject } from '../eventing/event-object.ts';
import { hasNothingOpen, closedBy } from './nothing-open.ts';

const about = (object: KubernetesObject, type: string): StepRequest => {
  const { namespace = '' } = object.metadata;
  const eventObject = parseEventObject(object, { kind: object.kind ?? '', namespace });
  return { type, id: '', namespace, ...(eventObject === undefined ? {} : { eventObject }) };
};
const ofMigration = (type: string, ...changes: Change<Migration>[]): StepRequest =>
  about(aMigration(...changes), type);
const unlocked = (reason?: string): StepRequest => ({
  type: EVENT.namespaceUnlocked,
  id: '',
  namespace: 'tenant',
  migrations: [{ name: 'mig0', uid: 'uid-of-mig0' }],
  ...(reason === undefined ? {} : { reason }),
});

describe('migrations that an event settles', () => {
  const { update, delete: deleted, add } = SOURCE_EVENT;
  test.each<[string, StepRequest, readonly string[] | undefined]>([
    ['a migration that succeeded', ofMigration(update, inPhase('Succeeded')), ['uid-of-mig0']],
    ['a migration that goes on', ofMigration(update, inPhase('Scheduling')), ['uid-of-mig0']],
    ['a migration that is deleted, refused as it was', ofMigration(deleted), ['uid-of-mig0']],
    ['a migration that is refused: nothing', ofMigration(update), undefined],
    ['a new migration: nothing', ofMigration(add, inPhase('Running')), undefined],
    ['a VMMRQ: nothing', about(aVmmrq(), update), undefined],
    ['a lock whose migrations got through', unlocked(REASON.admitted), ['uid-of-mig0']],
    ['a lock that ended otherwise: nothing', unlocked(), undefined],
    ['a resync: nothing', { type: EVENT.sweepRequested, id: '', namespace: 'tenant' }, undefined],
  ])('%s', (_, request, want) => {
    expect(closedBy(request)).toEqual(want);
  });
});

test.each<[string, { waiting?: string[]; status?: boolean }, boolean]>([
  ['nothing waits', {}, true],
  ['only what the event settles waits, as far as the guard has heard', { waiting: ['uid-of-mig0'] }, true],
  ['another migration waits', { waiting: ['uid-of-mig0', 'uid-of-mig1'] }, false],
  ['a VMMRQ’s status reports something as ongoing', { status: true }, false],
])('%s: closed %#', (_, open, want) => {
  const view = aView({ open: { waiting: [], queued: [], status: false, ...open } });
  expect(hasNothingOpen(view, ['uid-of-mig0'])).toBe(want);
});
