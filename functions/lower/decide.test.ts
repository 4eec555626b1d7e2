import { describe, expect, test } from '@jest/globals';
import {
  aMigration,
  anAttachment,
  aTarget,
  inPhase,
  nudgedFor,
  ofVm,
  podPhase,
  ready,
  withCondition,
} from '../../test/support/builders/kubevirt.ts';
import {
  aLock,
  anExpiredLock,
  aNamespace,
  lockedBy,
  lockedUnreadably,
} from '../../test/support/builders/namespace.ts';
import {
  annotated,
  beingDeleted,
  labelled,
  named,
  NOW,
  seconds,
  withUid,
} from '../../test/support/builders/object.ts';
import {
  aGrant,
  aQuota,
  holding,
  holdingUnreadably,
  raisedBy,
  settled,
} from '../../test/support/builders/quota.ts';
import { aVmmrq } from '../../test/support/builders/snapshot.ts';
import { ANNOTATION, LABEL, REASON } from '../domain/names.ts';
import { decide, type LowerDecision, type LowerSnapshot } from './decide.ts';

/** Raised four seconds ago (aGrant, raisedBy), and enforced. */
const RAISED = settled()(raisedBy(aVmmrq())(aQuota()));
const MIG1 = aMigration(named('mig1'), ofVm('vm1'));
const BOTH = aNamespace(
  lockedBy(
    aLock({
      migrations: [
        { name: 'mig0', uid: 'uid-of-mig0', vmi: 'uid-of-vm0' },
        { name: 'mig1', uid: 'uid-of-mig1', vmi: 'uid-of-vm1' },
      ],
    }),
  ),
);

const decided = (different: Partial<LowerSnapshot> = {}): LowerDecision =>
  decide({
    now: NOW - 3_000,
    namespace: aNamespace(lockedBy(aLock())),
    quotas: [RAISED],
    migrations: [aMigration()],
    targets: [],
    stallSeconds: 3,
    mayNudge: true,
    overdueToken: undefined,
    ...different,
  });

function lowered(different: Partial<LowerSnapshot>): Extract<LowerDecision, { kind: 'lower' }> {
  const decision = decided(different);
  if (decision.kind !== 'lower') throw new Error(`${decision.kind}: ${decision.message}`);
  return decision;
}

describe('lowered: early costs one attempt, late costs the tenant', () => {
  test.each<[string, Partial<LowerSnapshot>, string]>([
    ['the target pod is there', { targets: [aTarget()] }, REASON.admitted],
    [
      'in any phase: it was charged',
      { targets: [aTarget(aMigration(), podPhase('Failed'))] },
      REASON.admitted,
    ],
    ['the migration failed', { migrations: [aMigration(inPhase('Failed'))] }, REASON.ended],
    ['it succeeded', { migrations: [aMigration(inPhase('Succeeded'))] }, REASON.ended],
    ['it is cancelled', { migrations: [aMigration(beingDeleted())] }, REASON.ended],
    ['it is gone', { migrations: [] }, REASON.ended],
    [
      'another of its name is there: the uid counts',
      { migrations: [aMigration(withUid('new'))] },
      REASON.ended,
    ],
    [
      'of two, one is admitted and one ended',
      { namespace: BOTH, migrations: [aMigration(), MIG1].slice(0, 1), targets: [aTarget()] },
      REASON.admitted,
    ],
    [
      'the lock is past its time',
      { now: NOW, namespace: aNamespace(lockedBy(anExpiredLock())) },
      REASON.lockExpired,
    ],
    ['in the very moment of its end', { now: NOW + 25_000 }, REASON.lockExpired],
    ['the watchdog has seen this token for its whole life', { overdueToken: 'token-1' }, REASON.lockExpired],
    [
      'the lock was ended early: for that reason',
      {
        now: NOW,
        namespace: aNamespace(
          lockedBy(anExpiredLock({ ended: { reason: REASON.noProof, message: 'no guard' } })),
        ),
      },
      REASON.noProof,
    ],
    ['the lock cannot be read', { namespace: aNamespace(lockedUnreadably()) }, REASON.grantWithoutLock],
    ['the label is there alone', { namespace: aNamespace(labelled(LABEL.locked)) }, REASON.grantWithoutLock],
    ['nobody holds the namespace, a grant is left', { namespace: aNamespace() }, REASON.grantWithoutLock],
    [
      'a grant that cannot be read is left',
      { namespace: aNamespace(), quotas: [aQuota(holdingUnreadably())] },
      REASON.grantWithoutLock,
    ],
  ])('%s', (_, different, reason) => {
    expect(lowered(different).reason).toBe(reason);
  });

  test('nothing was raised yet, and the migration is gone: its quotas are fenced all the same', () => {
    expect(lowered({ migrations: [], quotas: [aQuota()] }).quotas).toEqual([aQuota()]);
  });

  test('the quotas of the lock, and whatever else holds a grant; no other', () => {
    const quotas = [
      aQuota(),
      aQuota(named('foreign'), holding(aGrant({ token: 'token-0' }))),
      aQuota(named('unreadable'), holdingUnreadably()),
      aQuota(named('other')),
      // Made anew under the name of the lock's own.
      aQuota(withUid('new')),
    ];
    const names = lowered({ quotas, targets: [aTarget()] }).quotas.map(({ metadata }) => metadata.uid);
    expect(names).toEqual(['uid-of-quota', 'uid-of-foreign', 'uid-of-unreadable']);
  });

  test('without a lock: what holds a grant, for no lock', () => {
    const decision = lowered({ namespace: aNamespace(), quotas: [RAISED, aQuota(named('other'))] });
    expect(decision.quotas).toEqual([RAISED]);
    expect(decision.lock).toBeUndefined();
  });

  test('an unreadable lock without a grant: nothing to put back, and it goes on to unlock', () => {
    const decision = lowered({ namespace: aNamespace(lockedUnreadably()), quotas: [aQuota()] });
    expect(decision.quotas).toEqual([]);
  });
});

describe('left alone', () => {
  test('the namespace is free and holds no grant', () => {
    expect(decided({ namespace: aNamespace(), quotas: [aQuota()] })).toMatchObject({
      kind: 'leave',
      reason: REASON.notOurLock,
    });
  });

  test.each<[string, Partial<LowerSnapshot>]>([
    ['no target pod yet', {}],
    ['nothing raised yet', { quotas: [aQuota()], now: NOW + 20_000 }],
    ['raised, and not enforced yet', { quotas: [raisedBy(aVmmrq())(aQuota())], now: NOW + 20_000 }],
    [
      'one of two quotas is not enforced yet',
      { quotas: [RAISED, raisedBy(aVmmrq())(aQuota(named('other')))], now: NOW + 20_000 },
    ],
    ['one of two has its pod', { namespace: BOTH, migrations: [aMigration(), MIG1], targets: [aTarget()] }],
    ['a pod of an earlier migration', { targets: [aTarget(aMigration(withUid('earlier')))] }],
    ['the watchdog has seen another token out', { overdueToken: 'token-0' }],
    [
      'settled, but the lock is of another version: it ends at its time',
      { namespace: aNamespace(lockedBy(aLock({ v: 2 }))), targets: [aTarget()] },
    ],
  ])('%s: it waits', (_, different) => {
    expect(decided(different)).toMatchObject({ kind: 'wait', reason: REASON.stillWaiting });
  });
});

describe('locked for an attachment pod', () => {
  const waiting = { name: 'mig0', uid: 'uid-of-mig0', vmi: 'uid-of-vm0', lacks: 'attachment' } as const;
  const target = aTarget(aMigration(), ready);
  const forAttachment = (different: Partial<LowerSnapshot> = {}): LowerDecision =>
    decided({
      namespace: aNamespace(lockedBy(aLock({ migrations: [waiting] }))),
      targets: [target],
      ...different,
    });

  test('a target alone does not settle it; its attachment pod does', () => {
    expect(forAttachment()).toMatchObject({ kind: 'wait', reason: REASON.stillWaiting });
    const targets = [target, anAttachment(target, aMigration())];
    expect(forAttachment({ targets })).toMatchObject({ kind: 'lower', reason: REASON.admitted });
  });

  test('its volumes were unplugged, and it goes on without: lowered', () => {
    expect(forAttachment({ migrations: [aMigration(inPhase('Scheduling'))] })).toMatchObject({
      kind: 'lower',
    });
  });
});

describe('nothing came of it', () => {
  /** The raise was four seconds before NOW. */
  const at = (after: number): Partial<LowerSnapshot> => ({ now: NOW + after * 1_000 });
  const nudged = (after: number, token = 'token-1'): Partial<LowerSnapshot> => ({
    migrations: [aMigration(nudgedFor(token, seconds(after)))],
  });

  test('a millisecond before the time: it waits', () => {
    expect(decided(at(-1.001)).kind).toBe('wait');
  });

  test('after that time: one nudge, that says for what', () => {
    expect(decided(at(-1))).toEqual({
      kind: 'nudge',
      migrations: [aMigration()],
      value: `token-1 ${seconds(-1)}`,
      reason: REASON.raisedButNotAdmitted,
      message: 'nudging mig0',
    });
  });

  test('the time is what is set', () => {
    expect(decided({ ...at(-1), stallSeconds: 4 }).kind).toBe('wait');
    expect(decided({ ...at(0), stallSeconds: 4 }).kind).toBe('nudge');
  });

  test.each<[string, Partial<LowerSnapshot>]>([
    ['for another lock', nudged(-1, 'token-0')],
    ['for room, by feasibility', { migrations: [aMigration(annotated(ANNOTATION.nudged, 'room 1'))] }],
    ['at a time to come, by somebody else', nudged(3)],
    ['at no time', { migrations: [aMigration(annotated(ANNOTATION.nudged, 'token-1 soon'))] }],
  ])('nudged %s: nudged for this one', (_, different) => {
    expect(decided({ ...at(0), ...different }).kind).toBe('nudge');
  });

  test('where nobody may be nudged it waits; what was nudged long ago is lowered all the same', () => {
    expect(decided({ ...at(0), mayNudge: false }).kind).toBe('wait');
    expect(decided({ ...at(5), ...nudged(-1), mayNudge: false }).kind).toBe('lower');
  });

  describe('no condition has virt-controller look when a quota changes', () => {
    const asleep = (...changes: Parameters<typeof aMigration>): Partial<LowerSnapshot> => ({
      migrations: [aMigration(withCondition(), ...changes)],
    });

    test('it is nudged as soon as the raise is enforced', () => {
      expect(decided({ ...at(-4), ...asleep() }).kind).toBe('nudge');
      expect(decided({ ...at(-4), ...asleep(), quotas: [raisedBy(aVmmrq())(aQuota())] }).kind).toBe('wait');
    });

    test('then it waits, and is nudged once more where nothing came of it', () => {
      const early = asleep(nudgedFor('token-1', seconds(-4)));
      expect(decided({ ...at(-1.001), ...early }).kind).toBe('wait');
      expect(decided({ ...at(-1), ...early }).kind).toBe('nudge');
      const late = asleep(nudgedFor('token-1', seconds(-1)));
      expect(decided({ ...at(4.999), ...late }).kind).toBe('wait');
      expect(decided({ ...at(5), ...late }).kind).toBe('lower');
    });
  });

  test('nudged, and not yet twice as long ago: it waits, virt-controller may have put it off', () => {
    expect(decided({ ...at(4.999), ...nudged(-1) }).kind).toBe('wait');
    expect(decided({ ...at(7.999), ...nudged(0), stallSeconds: 4 }).kind).toBe('wait');
  });

  test('nudged twice as long ago: lowered', () => {
    expect(decided({ ...at(8), ...nudged(0), stallSeconds: 4 }).kind).toBe('lower');
    expect(lowered({ ...at(5), ...nudged(-1) })).toMatchObject({
      reason: REASON.raisedButNotAdmitted,
      lock: aLock(),
      quotas: [RAISED],
    });
  });

  test('of two, one was not nudged yet: both are', () => {
    const migrations = [aMigration(nudgedFor('token-1', seconds(-1))), MIG1];
    expect(decided({ ...at(1), namespace: BOTH, migrations })).toMatchObject({
      kind: 'nudge',
      message: 'nudging mig0, mig1',
    });
  });

  test('only those that still wait are nudged', () => {
    const migrations = [aMigration(), MIG1];
    expect(decided({ ...at(1), namespace: BOTH, migrations, targets: [aTarget()] })).toMatchObject({
      kind: 'nudge',
      message: 'nudging mig1',
    });
  });

  test('the quota that was raised last counts', () => {
    const later = holding(aGrant({ raisedAt: seconds(-2) }))(
      settled()(raisedBy(aVmmrq())(aQuota(named('other')))),
    );
    expect(decided({ ...at(0), quotas: [RAISED, later] }).kind).toBe('wait');
    expect(decided({ ...at(1), quotas: [RAISED, later] }).kind).toBe('nudge');
  });

  test('a grant of another token is no raise of this lock', () => {
    const foreign = settled()(raisedBy(aVmmrq(), 'token-0')(aQuota()));
    expect(decided({ ...at(20), quotas: [foreign] }).kind).toBe('wait');
  });
});
