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
  atVersion,
  beingDeleted,
  labelled,
  metadata,
  named,
  NOW,
  seconds,
  withUid,
} from '../../test/support/builders/object.ts';
import {
  aGrant,
  aQuota,
  fencedBy,
  holding,
  holdingUnreadably,
  raisedBy,
  used,
} from '../../test/support/builders/quota.ts';
import { aFailure, exceeded } from '../../test/support/builders/pod-rejection.ts';
import { aVmmrq } from '../../test/support/builders/snapshot.ts';
import { ANNOTATION, LABEL, REASON, type LockOutcome } from '../domain/names.ts';
import type { Lease } from '../domain/objects.ts';
import { decide, type LowerDecision, type LowerSnapshot } from './decide.ts';

/** A quota that was raised four seconds ago (aGrant, raisedBy). */
const RAISED = raisedBy(aVmmrq())(aQuota());
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
    rejections: [],
    stallSeconds: 3,
    overdueToken: undefined,
    ...different,
  });

/** virt-controller's Lease: renewed this many seconds after NOW. */
const aLease = (renewed: number, acquired = -999): Lease => ({
  metadata: metadata('virt-controller'),
  spec: { acquireTime: seconds(acquired), renewTime: seconds(renewed) },
});

/** KubeVirt and the guard were there since the raise, and it had no effect. */
const NO_EFFECT: Partial<LowerSnapshot> = { now: NOW + 5_000, lease: aLease(3), watchedMs: 9_000 };

function lowered(different: Partial<LowerSnapshot>): Extract<LowerDecision, { kind: 'lower' }> {
  const decision = decided(different);
  if (decision.kind !== 'lower') throw new Error(`${decision.kind}: ${decision.message}`);
  return decision;
}

test.each<[string, Partial<LowerSnapshot>, string]>([
  ['one that', { targets: [aTarget()] }, 'mig0 got its pod'],
  [
    'both that',
    { namespace: BOTH, migrations: [aMigration(), MIG1], targets: [aTarget(), aTarget(MIG1)] },
    'mig0, mig1 got their pods',
  ],
  [
    'of two the one that',
    { namespace: BOTH, migrations: [aMigration()], targets: [aTarget()] },
    'mig0 got its pod; the others have ended',
  ],
])('the message names %s got a pod', (_, different, want) => {
  expect(lowered(different).message).toBe(want);
});

describe('lowered: early costs one attempt, late costs the tenant', () => {
  test.each<[string, Partial<LowerSnapshot>, string]>([
    ['the target pod is there', { targets: [aTarget()] }, REASON.admitted],
    [
      'in any phase: it was charged',
      { targets: [aTarget(aMigration(), podPhase('Failed'))] },
      REASON.admitted,
    ],
    ['the migration failed (F33)', { migrations: [aMigration(inPhase('Failed'))] }, REASON.ended],
    ['it succeeded', { migrations: [aMigration(inPhase('Succeeded'))] }, REASON.ended],
    ['it is cancelled', { migrations: [aMigration(beingDeleted())] }, REASON.ended],
    ['it is gone (F35)', { migrations: [] }, REASON.ended],
    [
      'another of its name is there: the uid counts',
      { migrations: [aMigration(withUid('new'))] },
      REASON.ended,
    ],
    [
      'of two, one is admitted and one ended',
      { namespace: BOTH, migrations: [aMigration(), MIG1].slice(0, 1), targets: [aTarget()] },
      REASON.ended,
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
    [
      'the namespace is not locked, and a grant is left',
      { namespace: aNamespace() },
      REASON.grantWithoutLock,
    ],
    [
      'a grant that cannot be read is left',
      { namespace: aNamespace(), quotas: [aQuota(holdingUnreadably())] },
      REASON.grantWithoutLock,
    ],
  ])('%s', (_, different, reason) => {
    expect(lowered(different).reason).toBe(reason);
  });

  test('without a lock: no common token, each grant has its own', () => {
    const decision = lowered({ namespace: aNamespace(), quotas: [RAISED] });
    expect(decision).toMatchObject({ token: undefined, lock: undefined });
  });

  test('an unreadable lock is fenced before its removal, by this very version of the namespace', () => {
    const namespace = aNamespace(lockedUnreadably(), atVersion('7'));
    expect(lowered({ namespace, quotas: [aQuota()] })).toMatchObject({
      token: 'unreadable-7',
      lock: undefined,
    });
  });
});

describe('the outcome', () => {
  const ended = (reason: string): Partial<LowerSnapshot> => ({
    namespace: aNamespace(lockedBy(aLock({ ended: { reason, message: '' } }))),
    quotas: [aQuota()],
  });
  const over = { now: NOW, namespace: aNamespace(lockedBy(anExpiredLock())) };
  const CHARGED = used({ 'requests.cpu': '2010m' })(aQuota(holding(aGrant())));
  const put = { ...NO_EFFECT, namespace: aNamespace(lockedBy(aLock({ others: true }))) };

  test.each<[string, Partial<LowerSnapshot>, string]>([
    ['its pod is there', { targets: [aTarget()] }, 'admitted'],
    ['its pod is there, though its time is over', { ...over, targets: [aTarget()] }, 'admitted'],
    ['its time is over, and everything is charged', { ...over, quotas: [CHARGED] }, 'charged'],
    ['its time is over, and nothing was ever raised', { ...over, quotas: [aQuota()] }, 'ourFault'],
    ['its time is over, and the raise had no effect: a step or the guard was late', over, 'ourFault'],
    ['its time is over, and its pods could not be listed', { ...over, targets: undefined }, 'ourFault'],
    ['ended because its migration slot was gone', ended(REASON.parallelLimit), 'slotGone'],
    ['ended because it was fenced', ended(REASON.fenced), 'ourFault'],
    ['ended because a recount undid every raise', ended(REASON.undone), 'failed'],
    ['ended without a proof', ended(REASON.noProof), 'ourFault'],
    ['ended while a quota was being counted', ended(REASON.statusUnknown), 'ourFault'],
    ['ended because there was headroom', ended(REASON.fits), 'ourFault'],
    ['ended because the allowance is too small', ended(REASON.notEnough), 'failed'],
    ['its migration is gone', { migrations: [] }, 'gaveWay'],
    ['the raise had no effect', NO_EFFECT, 'failed'],
    ['no effect, and others wait for the slots', put, 'gaveWay'],
    [
      'no effect, others wait for the slots, and the refusals are unknown',
      { ...put, rejections: undefined },
      'failed',
    ],
  ])('%s', (_, different, want) => {
    expect(lowered(different).outcome).toBe(want);
  });
});

describe('a raise without effect is charged only where KubeVirt could try (docs/adr/0005)', () => {
  const unknown: Partial<LowerSnapshot> = { ...NO_EFFECT, lease: undefined, watchedMs: undefined };
  const asRaised = `requests.cpu=${String(RAISED.status?.hard?.['requests.cpu'])}`;
  const BY_QUOTA = aFailure(exceeded('quota', 'requests.cpu=2', asRaised), -2);
  const BY_GUARD = aFailure(
    'Internal error occurred: failed calling webhook "locked.mtq.kubevirt.io": no endpoints available',
    -2,
  );
  test.each<[string, Partial<LowerSnapshot>, string]>([
    ['nothing is known', unknown, 'notTried'],
    ['a quota refused its pod after the raise', { ...unknown, rejections: [BY_QUOTA] }, 'failed'],
    [
      'a quota refused its pod before the raise',
      { ...unknown, rejections: [aFailure(exceeded('quota', 'requests.cpu=2', asRaised), -4)] },
      'notTried',
    ],
    [
      'a quota refused its pod by what it allowed before the raise, which took effect late',
      { ...unknown, rejections: [aFailure(exceeded('quota', 'requests.cpu=2', 'requests.cpu=1'), -2)] },
      'notTried',
    ],
    [
      'another VM’s pod was refused',
      { ...unknown, rejections: [{ ...BY_QUOTA, involvedObject: { name: 'vm9' } }] },
      'notTried',
    ],
    ['the guard did not answer KubeVirt', { ...NO_EFFECT, rejections: [BY_GUARD] }, 'notTried'],
    [
      'it did not at first, and then a quota refused',
      { ...NO_EFFECT, rejections: [BY_GUARD, BY_QUOTA] },
      'failed',
    ],
    ['virt-controller’s Lease is old', { ...NO_EFFECT, lease: aLease(-1.001) }, 'notTried'],
    ['the Lease is just renewed often enough', { ...NO_EFFECT, lease: aLease(-1) }, 'failed'],
    ['virt-controller has just begun to lead', { ...NO_EFFECT, lease: aLease(3, 0) }, 'notTried'],
    ['the guard has begun after the raise', { ...NO_EFFECT, watchedMs: 7_999 }, 'notTried'],
    ['the guard has watched as long as a clock shows', { ...NO_EFFECT, watchedMs: 8_000 }, 'failed'],
  ])('%s', (_, different, want) => {
    const reason = want === 'failed' ? REASON.raisedButNotAdmitted : REASON.notTried;
    expect(lowered(different)).toMatchObject({ outcome: want, reason });
  });
});

test('a raise whose migration slot others have taken ends at the first look, not charged', () => {
  const gone = { slotless: ['uid-of-mig0'] };
  expect(decided({ ...gone, now: NOW - 1_001 }).kind).toBe('wait');
  expect(lowered({ ...gone, now: NOW - 1_000 })).toMatchObject({
    outcome: 'slotGone',
    reason: REASON.parallelLimit,
  });
  expect(decided({ slotless: ['uid-of-mig9'], now: NOW - 1_000 }).kind).toBe('nudge');
});

test('the state of its migrations is unknown: the lock ends at its time, and not before', () => {
  expect(decided({ migrations: undefined })).toMatchObject({ kind: 'wait' });
  expect(decided({ migrations: undefined, now: NOW + 25_000 })).toMatchObject({ kind: 'lower' });
});

describe('one quota is fenced by this lock, and the other is not: its write failed', () => {
  const half = (outcome: LockOutcome, other = aQuota(named('other'))): Partial<LowerSnapshot> => ({
    quotas: [aQuota(fencedBy('token-1', outcome)), other],
  });
  const over = { now: NOW, namespace: aNamespace(lockedBy(anExpiredLock())) };

  test.each<[string, Partial<LowerSnapshot>, { reason: string; outcome: string }]>([
    ['with that outcome', half('failed'), { reason: REASON.raisedButNotAdmitted, outcome: 'failed' }],
    [
      'also where it is raised',
      half('charged', raisedBy(aVmmrq())(aQuota(named('other')))),
      { reason: REASON.charged, outcome: 'charged' },
    ],
    [
      'also where the migrations were not read',
      { ...half('failed'), migrations: undefined },
      { reason: REASON.raisedButNotAdmitted, outcome: 'failed' },
    ],
    [
      'as admitted where the pods are there',
      { ...half('failed'), targets: [aTarget()] },
      { reason: REASON.admitted, outcome: 'admitted' },
    ],
    [
      'with that outcome at the end of the lock',
      { ...over, ...half('failed') },
      { reason: REASON.lockExpired, outcome: 'failed' },
    ],
  ])('the rest is lowered, %s', (_, different, want) => {
    expect(lowered(different)).toMatchObject({ token: 'token-1', ...want });
  });

  test.each<[string, Partial<LowerSnapshot>]>([
    [
      'by another lock',
      { quotas: [aQuota(fencedBy('token-0', 'failed')), raisedBy(aVmmrq())(aQuota(named('other')))] },
    ],
    ['as every quota of the lock', { quotas: [aQuota(fencedBy('token-1', 'failed'))] }],
  ])('where one is fenced %s, it waits', (_, different) => {
    expect(decided(different).kind).toBe('wait');
  });
});

describe('left alone', () => {
  test('the namespace is unlocked and holds no grant', () => {
    expect(decided({ namespace: aNamespace(), quotas: [aQuota()] })).toMatchObject({
      kind: 'leave',
      reason: REASON.notOurLock,
    });
  });

  test.each<[string, Partial<LowerSnapshot>]>([
    ['no target pod yet', {}],
    ['nothing raised yet', { quotas: [aQuota()], now: NOW + 20_000 }],
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
  const locked = { name: 'mig0', uid: 'uid-of-mig0', vmi: 'uid-of-vm0', lacks: 'attachment' } as const;
  const target = aTarget(aMigration(), ready);
  const forAttachment = (different: Partial<LowerSnapshot> = {}): LowerDecision =>
    decided({
      namespace: aNamespace(lockedBy(aLock({ migrations: [locked] }))),
      targets: [target],
      ...different,
    });

  test('its target alone does not settle it; its attachment pod does', () => {
    expect(forAttachment()).toMatchObject({ kind: 'wait', reason: REASON.stillWaiting });
    const targets = [target, anAttachment(target, aMigration())];
    expect(forAttachment({ targets })).toMatchObject({ kind: 'lower', reason: REASON.admitted });
  });

  test('its volumes were unplugged, and it goes on without it: lowered', () => {
    expect(forAttachment({ migrations: [aMigration(inPhase('Scheduling'))] })).toMatchObject({
      kind: 'lower',
    });
  });
});

describe('a raise without effect', () => {
  /** The raise was four seconds before NOW. */
  const at = (after: number): Partial<LowerSnapshot> => ({ now: NOW + after * 1_000 });
  const nudged = (after: number, token = 'token-1'): Partial<LowerSnapshot> => ({
    migrations: [aMigration(nudgedFor(token, seconds(after)))],
  });

  test('a millisecond before stallSeconds: it waits', () => {
    expect(decided(at(-1.001)).kind).toBe('wait');
  });

  test('after stallSeconds: one nudge, which names the lock', () => {
    expect(decided(at(-1))).toEqual({
      kind: 'nudge',
      migrations: [aMigration()],
      value: `token-1 ${seconds(-1)}`,
      reason: REASON.raisedButNotAdmitted,
      message: 'nudging mig0',
    });
  });

  test('the time is the configured one', () => {
    expect(decided({ ...at(-1), stallSeconds: 4 }).kind).toBe('wait');
    expect(decided({ ...at(0), stallSeconds: 4 }).kind).toBe('nudge');
  });

  test.each<[string, Partial<LowerSnapshot>]>([
    ['for another lock', nudged(-1, 'token-0')],
    [
      'for headroom, by feasibility',
      { migrations: [aMigration(annotated(ANNOTATION.nudged, 'headroom 1'))] },
    ],
  ])('nudged %s: nudged for this one', (_, different) => {
    expect(decided({ ...at(0), ...different }).kind).toBe('nudge');
  });

  test.each<[string, Partial<LowerSnapshot>]>([
    ['at a time to come', nudged(3)],
    ['at no time', { migrations: [aMigration(annotated(ANNOTATION.nudged, 'token-1 soon'))] }],
    ['again and again', nudged(4.9)],
  ])('nudged by another writer %s: extends nothing', (_, different) => {
    expect(decided({ ...at(4.999), ...different }).kind).toBe('wait');
    expect(decided({ ...at(5), ...different }).kind).toBe('lower');
  });

  test('where its migrations were not read it waits for its time', () => {
    expect(decided({ ...at(5), migrations: undefined }).kind).toBe('wait');
  });

  describe('without a condition no quota change makes virt-controller look', () => {
    const asleep = (...changes: Parameters<typeof aMigration>): Partial<LowerSnapshot> => ({
      migrations: [aMigration(withCondition(), ...changes)],
    });

    test('it is nudged at once', () => {
      expect(decided({ ...at(-4), ...asleep() }).kind).toBe('nudge');
    });

    test('then it waits, and is nudged once more without effect', () => {
      const early = asleep(nudgedFor('token-1', seconds(-4)));
      expect(decided({ ...at(-1.001), ...early }).kind).toBe('wait');
      expect(decided({ ...at(-1), ...early }).kind).toBe('nudge');
      const late = asleep(nudgedFor('token-1', seconds(-1)));
      expect(decided({ ...at(4.999), ...late }).kind).toBe('wait');
      expect(decided({ ...at(5), ...late }).kind).toBe('lower');
    });
  });

  test('nudged, and not yet twice as long ago: it waits, virt-controller may have deferred it', () => {
    expect(decided({ ...at(4.999), ...nudged(-1) }).kind).toBe('wait');
    expect(decided({ ...at(7.999), ...nudged(0), stallSeconds: 4 }).kind).toBe('wait');
  });

  test('nudged twice as long ago: lowered (F34)', () => {
    expect(decided({ ...at(8), ...nudged(0), stallSeconds: 4 }).kind).toBe('lower');
    expect(lowered({ ...NO_EFFECT, ...nudged(-1) })).toMatchObject({
      reason: REASON.raisedButNotAdmitted,
      lock: aLock(),
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
    const later = holding(aGrant({ standingSince: seconds(-2) }))(aQuota(named('other')));
    expect(decided({ ...at(0), quotas: [RAISED, later] }).kind).toBe('wait');
    expect(decided({ ...at(1), quotas: [RAISED, later] }).kind).toBe('nudge');
  });

  test('a raise that was undone and made again counts from the last time', () => {
    const again = holding(aGrant({ raisedAt: seconds(-20), standingSince: seconds(-3) }))(aQuota());
    expect(decided({ ...at(0), quotas: [again] }).kind).toBe('nudge');
  });

  test('a grant of another token is no raise of this lock', () => {
    const foreign = raisedBy(aVmmrq(), 'token-0')(aQuota());
    expect(decided({ ...at(20), quotas: [foreign] }).kind).toBe('wait');
  });
});
