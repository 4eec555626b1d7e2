import { beforeEach, describe, expect, test } from '@jest/globals';
import { aMigration, inPhase, withCondition } from '../../test/support/builders/kubevirt.ts';
import { named, type Change } from '../../test/support/builders/object.ts';
import { aView, aVmmrq } from '../../test/support/builders/snapshot.ts';
import { EVENT, REASON, SOURCE_EVENT } from '../domain/names.ts';
import type { KubernetesObject, Migration } from '../domain/objects.ts';
import type { View } from '../domain/view.ts';
import type { StepRequest } from '../eventing/step-request.ts';
import { parseEventObject } from '../eventing/event-object.ts';
import { newFirstTimes, type FirstTimes } from '../host/first-times.ts';
import {
  closedBy,
  hasNothingOpen,
  isLate,
  mayJoinWait,
  noteAdmitted,
  waitsForUnlock,
} from './nothing-open.ts';

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
    ['a resync: nothing', { type: EVENT.resyncRequested, id: '', namespace: 'tenant' }, undefined],
  ])('%s', (_, request, want) => {
    expect(closedBy(request)).toEqual(want);
  });
});

test.each<[string, StepRequest, boolean]>([
  ['a migration that succeeded', ofMigration(SOURCE_EVENT.update, inPhase('Succeeded')), true],
  ['a resync', { type: EVENT.resyncRequested, id: '', namespace: 'tenant' }, true],
  ['a migration that failed', ofMigration(SOURCE_EVENT.update, inPhase('Failed')), false],
  ['a refused migration', ofMigration(SOURCE_EVENT.update), false],
  ['a migration that is deleted', ofMigration(SOURCE_EVENT.delete, inPhase('Succeeded')), false],
])('an event may join a run that waits for headroom: %s', (_, request, want) => {
  expect(mayJoinWait(request)).toBe(want);
});

test.each<[string, StepRequest, boolean]>([
  ['a refused migration', ofMigration(SOURCE_EVENT.update), true],
  ['a migration that is deleted', ofMigration(SOURCE_EVENT.delete), true],
  ['a resync', { type: EVENT.resyncRequested, id: '', namespace: 'tenant' }, true],
  ['a VMMRQ', about(aVmmrq(), SOURCE_EVENT.update), false],
  ['the end of a lock', unlocked(REASON.admitted), false],
  ['that lock declined', { type: EVENT.migrationInfeasible, id: '', namespace: 'tenant' }, false],
])('an event waits for the end of a lock: %s', (_, request, want) => {
  expect(waitsForUnlock(request)).toBe(want);
});

describe('a migration that its lock has let through', () => {
  let now: number;
  let times: FirstTimes;

  beforeEach(() => {
    now = 0;
    times = newFirstTimes({ elapsed: () => now });
    noteAdmitted(unlocked(REASON.admitted), times);
  });

  test.each<[string, StepRequest, number, boolean]>([
    ['still shows the refusal a moment later', ofMigration(SOURCE_EVENT.update), 999, true],
    ['shows one after a second', ofMigration(SOURCE_EVENT.update), 1_000, false],
    ['is deleted', ofMigration(SOURCE_EVENT.delete), 10, false],
  ])('%s', (_, request, afterMs, want) => {
    now = afterMs;
    expect(isLate(request, times)).toBe(want);
  });

  test('is no other one, and none of a lock that ended otherwise', () => {
    expect(isLate(ofMigration(SOURCE_EVENT.update, named('mig1')), times)).toBe(false);
    const others = newFirstTimes({ elapsed: () => now });
    noteAdmitted(unlocked(), others);
    expect(isLate(ofMigration(SOURCE_EVENT.update), others)).toBe(false);
  });
});

test.each<[string, Partial<View>, boolean]>([
  ['nothing waits', { migrations: [] }, true],
  ['only what the event settles waits, as far as the guard has heard', { migrations: [aMigration()] }, true],
  ['another migration waits', { migrations: [aMigration(), aMigration(named('mig1'))] }, false],
  ['another migration runs', { migrations: [aMigration(named('mig1'), inPhase('Running'))] }, true],
  [
    'without a VMMRQ, another one is Pending that no quota refused',
    { served: false, migrations: [aMigration(named('mig1'), withCondition())] },
    true,
  ],
  [
    'without a VMMRQ, a quota refuses another one',
    { served: false, migrations: [aMigration(named('mig1'))] },
    false,
  ],
  [
    'with a VMMRQ, another one is Pending that no quota refused',
    { migrations: [aMigration(named('mig1'), withCondition())] },
    false,
  ],
  ['there are too many for the view', {}, false],
  [
    'a VMMRQ’s status reports something as ongoing',
    { migrations: [], open: { queued: [], status: true } },
    false,
  ],
])('%s: closed %#', (_, different, want) => {
  expect(hasNothingOpen(aView(different), ['uid-of-mig0'])).toBe(want);
});
