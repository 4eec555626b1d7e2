import { describe, expect, test } from '@jest/globals';
import {
  afterAttempt,
  aLock,
  anAttempt,
  anExpiredLock,
  aNamespace,
  lockedBy,
  lockedFor,
  lockedUnreadably,
} from '../../test/support/builders/namespace.ts';
import { aMigration, aTarget } from '../../test/support/builders/kubevirt.ts';
import { atVersion, labelled, named, NOW, seconds } from '../../test/support/builders/object.ts';
import { aGrant, aQuota, holding, fencedBy, uncounted } from '../../test/support/builders/quota.ts';
import { lastAttemptOf, type Attempt } from '../domain/verdict/attempt.ts';
import { lockOf, unreadableToken, type Lock } from '../domain/lock.ts';
import { KUBEVIRT, REASON } from '../domain/names.ts';
import { decide, type Unlock, type UnlockDecision, type UnlockSnapshot } from './decide.ts';

const decided = (different: Partial<UnlockSnapshot> = {}): UnlockDecision =>
  decide({
    now: NOW,
    namespace: aNamespace(lockedBy(aLock())),
    quotas: [aQuota(fencedBy('token-1'))],
    token: 'token-1',
    ...different,
  });

function unlocked(different: Partial<UnlockSnapshot> = {}): Unlock {
  const decision = decided(different);
  if (decision.kind !== 'unlock') throw new Error(decision.message);
  return decision;
}

const attemptAfter = (different: Partial<UnlockSnapshot>): Attempt | undefined =>
  lastAttemptOf(unlocked(different).namespace, NOW);

describe('another lock, or none', () => {
  test.each<[string, Partial<UnlockSnapshot>]>([
    ['the namespace is free', { namespace: aNamespace() }],
    ['another token holds it', { token: 'token-0' }],
  ])('%s', (_, different) => {
    expect(decided(different)).toMatchObject({ kind: 'leave', reason: REASON.notOurLock });
  });
});

describe('its quotas are lowered first', () => {
  test.each<[string, Partial<UnlockSnapshot>]>([
    ['not fenced', { quotas: [aQuota()] }],
    ['fenced by another token', { quotas: [aQuota(fencedBy('token-0'))] }],
    ['one of two', { quotas: [aQuota(fencedBy('token-1')), aQuota(named('other'))] }],
    ['it holds a grant', { quotas: [aQuota(fencedBy('token-1'), holding(aGrant()))] }],
    ['an unreadable lock without a fence', { namespace: aNamespace(lockedUnreadably()), quotas: [aQuota()] }],
    [
      'an unreadable lock, fenced for an older version of the namespace',
      {
        namespace: aNamespace(lockedUnreadably(), atVersion('7')),
        quotas: [aQuota(fencedBy('unreadable-6', 'failed'))],
      },
    ],
    [
      'an unreadable lock, and a grant',
      { namespace: aNamespace(lockedUnreadably()), quotas: [aQuota(holding(aGrant()))] },
    ],
  ])('%s', (_, different) => {
    expect(decided({ token: undefined, ...different })).toMatchObject({
      kind: 'lowerFirst',
      reason: REASON.notRestored,
    });
  });
});

describe('unlocked', () => {
  test('one write: it removes all of the lock, on the version that was read', () => {
    const { namespace } = unlocked({ namespace: aNamespace(lockedBy(aLock()), atVersion('42')) });
    expect(lockOf(namespace)).toEqual({ kind: 'none' });
    expect(namespace.metadata).toMatchObject({ resourceVersion: '42', annotations: {} });
  });

  test.each<[string, Partial<UnlockSnapshot>]>([
    ['its quotas are gone (F20)', { quotas: [] }],
    [
      'an edit of its owner that the quota controller has not followed',
      { quotas: [aQuota(fencedBy('token-1'), uncounted())] },
    ],
    ['without a token in the event', { token: undefined }],
    ['past its time', { namespace: aNamespace(lockedBy(anExpiredLock())) }],
  ])('%s', (_, different) => {
    expect(lockOf(unlocked(different).namespace)).toEqual({ kind: 'none' });
  });

  test('an unreadable lock, once every quota is fenced for this very version', () => {
    const namespace = aNamespace(lockedUnreadably(), afterAttempt(anAttempt()), atVersion('7'));
    const fenced = fencedBy(unreadableToken(namespace), 'failed');
    const decision = unlocked({ namespace, quotas: [aQuota(fenced)], token: undefined });
    expect(lockOf(decision.namespace)).toEqual({ kind: 'none' });
    // How it ended is unknown: the record stays.
    expect(lastAttemptOf(decision.namespace, NOW)).toEqual(anAttempt());
  });

  test('where a policy refused the raise alone, another raise may land that it has not seen: the fence is needed', () => {
    const ended = { reason: REASON.refusedByPolicy, message: 'no' };
    const namespace = aNamespace(lockedBy(aLock({ ended })));
    expect(decided({ namespace, quotas: [aQuota()] }).kind).toBe('lowerFirst');
  });

  test('where a policy refuses the fence, no raise can land, and none is needed', () => {
    const ended = { reason: REASON.refusedByPolicy, message: 'no', unfenced: true };
    const namespace = aNamespace(lockedBy(aLock({ ended })));
    expect(decided({ namespace, quotas: [aQuota()] }).kind).toBe('unlock');
    expect(decided({ namespace, quotas: [aQuota(holding(aGrant()))] }).kind).toBe('lowerFirst');
  });
});

describe('the record of the attempt', () => {
  const fenced = (...outcomes: Parameters<typeof fencedBy>[1][]): Partial<UnlockSnapshot> => ({
    quotas: outcomes.map((outcome, index) =>
      aQuota(named(`quota-${String(index)}`), fencedBy('token-1', outcome)),
    ),
  });
  /** Ten seconds ago. */
  const FREE = anAttempt({
    failures: 0,
    reason: REASON.notTried,
    outcome: 'notTried',
    locked: lockedFor(0),
  });
  const after = (last: Attempt, different: Partial<Lock> = {}): Partial<UnlockSnapshot> => ({
    namespace: aNamespace(lockedBy(aLock(different)), afterAttempt(last)),
  });

  test.each<[string, Partial<UnlockSnapshot>, Partial<Attempt> | undefined]>([
    ['admitted: none', fenced('admitted'), undefined],
    ['the best of its quotas counts', fenced('failed', 'admitted'), undefined],
    ['failed', fenced('failed'), { failures: 1, reason: REASON.raisedButNotAdmitted, of: 'something' }],
    [
      'charged: counts against the budget alone',
      fenced('charged'),
      { failures: 0, outcome: 'charged', locked: [{ until: seconds(0), ms: 6_000 }] },
    ],
    ['charged, and its pod is there by now: none', { ...fenced('charged'), targets: [aTarget()] }, undefined],
    [
      'charged, and only the pod of another VM is there',
      { ...fenced('charged'), targets: [aTarget(aMigration(), labelled(KUBEVIRT.createdBy, 'other'))] },
      { failures: 0, outcome: 'charged' },
    ],
    [
      'failed, though its pod is there by now',
      { ...fenced('failed'), targets: [aTarget()] },
      { failures: 1 },
    ],
    [
      'our fault: no failure, and free',
      fenced('ourFault'),
      { failures: 0, outcome: 'ourFault', locked: [{ until: seconds(0), ms: 0 }] },
    ],
    [
      'our fault once more: counts against the budget alone',
      { ...fenced('ourFault'), ...after(FREE) },
      { failures: 0, locked: [...FREE.locked, { until: seconds(0), ms: 6_000 }] },
    ],
    [
      'our fault, for a reason that nothing is away in: its time counts',
      {
        ...fenced('ourFault'),
        namespace: aNamespace(lockedBy(aLock({ ended: { reason: REASON.fits, message: '' } }))),
      },
      { failures: 0, locked: [{ until: seconds(0), ms: 6_000 }] },
    ],
    [
      'KubeVirt did not try: no failure, and free',
      { ...fenced('notTried'), ...after(anAttempt({ failures: 2 })) },
      {
        failures: 2,
        reason: REASON.notTried,
        outcome: 'notTried',
        of: '',
        locked: [...anAttempt().locked, { until: seconds(0), ms: 0 }],
      },
    ],
    [
      'KubeVirt did not try once more: counts against the budget alone',
      { ...fenced('notTried'), ...after(FREE) },
      {
        failures: 0,
        reason: REASON.notTried,
        outcome: 'notTried',
        locked: [...FREE.locked, { until: seconds(0), ms: 6_000 }],
      },
    ],
    [
      'KubeVirt did not try once more, after ten minutes: free again',
      { ...fenced('notTried'), ...after(anAttempt({ ...FREE, locked: lockedFor(0, seconds(-600)) })) },
      { failures: 0, locked: [{ until: seconds(0), ms: 0 }] },
    ],
    [
      'KubeVirt did not try, after a success: counts against the budget alone',
      { ...fenced('notTried'), ...after(anAttempt({ ...FREE, outcome: 'admitted' })) },
      { failures: 0, locked: [...FREE.locked, { until: seconds(0), ms: 6_000 }] },
    ],
    [
      'its migration slot was gone: no failure, and free',
      fenced('slotGone'),
      { failures: 0, reason: REASON.parallelLimit, locked: [{ until: seconds(0), ms: 0 }] },
    ],
    [
      'its migration slot was gone once more: counts against the budget alone',
      { ...fenced('slotGone'), ...after(anAttempt({ ...FREE, reason: REASON.parallelLimit })) },
      {
        failures: 0,
        reason: REASON.parallelLimit,
        outcome: 'slotGone',
        locked: [...FREE.locked, { until: seconds(0), ms: 6_000 }],
      },
    ],
    ['yielded to no migration: its own ended', fenced('gaveWay'), { failures: 0, reason: REASON.ended }],
    [
      'yielded to others',
      { ...fenced('gaveWay'), namespace: aNamespace(lockedBy(aLock({ others: true }))) },
      { failures: 0, reason: REASON.raisedButNotAdmitted },
    ],
    [
      'yielded to others once more: a failure',
      {
        ...fenced('gaveWay'),
        ...after(anAttempt({ failures: 0, reason: REASON.raisedButNotAdmitted }), { others: true }),
      },
      { failures: 1 },
    ],
    ['no quota is left: as before', { quotas: [], ...after(anAttempt()) }, anAttempt()],
    ['of another version: as before', { ...fenced('failed'), ...after(anAttempt(), { v: 2 }) }, anAttempt()],
    [
      'ended early: its reason',
      {
        ...fenced('failed'),
        namespace: aNamespace(lockedBy(aLock({ ended: { reason: REASON.notEnough, message: '' } }))),
      },
      { failures: 1, reason: REASON.notEnough },
    ],
  ])('%s', (_, different, want) => {
    const attempt = attemptAfter(different);
    if (want === undefined) expect(attempt).toBeUndefined();
    else expect(attempt).toMatchObject(want);
  });

  test.each<[string, number, number]>([
    ['by two clocks that agree', 0, 6_000],
    ['by a clock that is a second behind: not less than nothing', -6_000, 1_000],
    ['by a clock that is further behind: as a lock and its repair may last', -6_001, 46_000],
    ['by a clock that is far behind', -3_600_000, 46_000],
    ['by a clock that is far ahead: not more than a lock and its repair may last', 3_600_000, 46_000],
  ])('the locked time, %s', (_, aheadMs, want) => {
    const { namespace } = unlocked({ ...fenced('failed'), now: NOW + aheadMs });
    expect(lastAttemptOf(namespace, NOW + aheadMs)?.locked).toMatchObject([{ ms: want }]);
  });

  test('the sizes of a raise that was not enough', () => {
    const quotas = [{ name: 'quota', uid: 'uid-of-quota', need: { pods: '1' } }];
    const namespace = aNamespace(lockedBy(aLock({ quotas })));
    expect(attemptAfter({ namespace, quotas: [aQuota(fencedBy('token-1', 'failed'))] })?.sized).toMatch(/./);
    expect(attemptAfter(fenced('failed'))?.sized).toBeUndefined();
    expect(attemptAfter(fenced('failed'))?.at).toBe(seconds(0));
  });
});
