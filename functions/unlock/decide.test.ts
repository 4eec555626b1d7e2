import { describe, expect, test } from '@jest/globals';
import {
  aLauncher,
  aMigration,
  aTarget,
  inPhase,
  withCondition,
} from '../../test/support/builders/kubevirt.ts';
import {
  afterAttempt,
  aLock,
  anAttempt,
  anExpiredLock,
  aNamespace,
  lockedBy,
  lockedUnreadably,
} from '../../test/support/builders/namespace.ts';
import {
  annotated,
  atVersion,
  beingDeleted,
  createdAt,
  labelled,
  named,
  NOW,
  seconds,
  withUid,
} from '../../test/support/builders/object.ts';
import {
  aGrant,
  aQuota,
  enforced,
  holding,
  holdingUnreadably,
  putBack,
  specHard,
  raisedBy,
  releasedBy,
  settled,
  uncounted,
} from '../../test/support/builders/quota.ts';
import { aFailure, exceeded } from '../../test/support/builders/refusal.ts';
import { aSnapshot, aVmmrq, RULES } from '../../test/support/builders/snapshot.ts';
import { assess } from '../domain/verdict/assessment.ts';
import { lastAttemptOf, type Attempt } from '../domain/verdict/attempt.ts';
import { lockOf, type Lock } from '../domain/lock.ts';
import { KUBEVIRT, LABEL, REASON } from '../domain/names.ts';
import type { KubernetesEvent } from '../domain/objects.ts';
import type { Verdict } from '../domain/verdict/verdict.ts';
import { decide, type UnlockDecision, type UnlockSnapshot } from './decide.ts';

const RELEASED = aQuota(releasedBy('token-1'));

const decided = (different: Partial<UnlockSnapshot> = {}): UnlockDecision =>
  decide({
    now: NOW,
    namespace: aNamespace(lockedBy(aLock())),
    quotas: [RELEASED],
    migrations: [aMigration()],
    pods: [aLauncher(), aTarget()],
    vmmrqs: [aVmmrq()],
    refusals: [],
    token: 'token-1',
    ...different,
  });

function unlocked(different: Partial<UnlockSnapshot> = {}): Extract<UnlockDecision, { kind: 'unlock' }> {
  const decision = decided(different);
  if (decision.kind !== 'unlock') throw new Error(`${decision.kind}: ${decision.message}`);
  return decision;
}

describe('not unlocked', () => {
  test.each<[string, Partial<UnlockSnapshot>]>([
    ['it is free already', { namespace: aNamespace() }],
    ['it is locked by another token', { token: 'token-0' }],
    ['it is locked by another token, and nothing is back', { token: 'token-0', quotas: [aQuota()] }],
  ])('left alone: %s', (_, different) => {
    expect(decided(different)).toMatchObject({ kind: 'leave', reason: REASON.notOurLock });
  });

  const raised = raisedBy(aVmmrq())(aQuota());
  test.each<[string, Partial<UnlockSnapshot>]>([
    ['the quota was not let go of: it may be raised any moment', { quotas: [aQuota()] }],
    ['it was let go of by an earlier lock', { quotas: [aQuota(releasedBy('token-0'))] }],
    ['it is raised', { quotas: [raised] }],
    ['it is put back, and not released', { quotas: [settled()(putBack(aGrant())(raised))] }],
    ['let go of, and holding a grant', { quotas: [holding(aGrant())(RELEASED)] }],
    ['let go of, and holding one that cannot be read', { quotas: [holdingUnreadably()(RELEASED)] }],
    ['let go of, with the label left', { quotas: [labelled(LABEL.raised)(RELEASED)] }],
    [
      'let go of, and still enforced higher',
      { quotas: [enforced({ ...RELEASED.spec.hard, pods: '11' })(RELEASED)] },
    ],
    ['one of two', { quotas: [RELEASED, aQuota(named('other'), holding(aGrant({ token: 'token-0' })))] }],
    [
      'past its time makes no difference',
      { namespace: aNamespace(lockedBy(anExpiredLock())), quotas: [aQuota()] },
    ],
    [
      'the lock cannot be read, a grant is there',
      { namespace: aNamespace(lockedUnreadably()), quotas: [raised], token: undefined },
    ],
    [
      'the lock cannot be read, and a quota is enforced higher than it says',
      {
        namespace: aNamespace(lockedUnreadably()),
        quotas: [enforced({ ...aQuota().spec.hard, pods: '11' })(aQuota())],
        token: undefined,
      },
    ],
  ])('not yet: %s', (_, different) => {
    expect(decided(different)).toMatchObject({ kind: 'notYet', reason: REASON.notRestored });
  });
});

describe('unlocked', () => {
  test.each<[string, Partial<UnlockSnapshot>]>([
    ['every quota of the lock is back', {}],
    ['woken by an event without a token', { token: undefined }],
    ['its quota is gone', { quotas: [] }],
    ['its quota was made anew', { quotas: [aQuota(withUid('new'), enforced({}))] }],
    [
      'its quota is enforced lower: somebody raised it, and the controller is late',
      { quotas: [enforced({ ...RELEASED.spec.hard, pods: '9' })(RELEASED)] },
    ],
    [
      'somebody added a key to it, and the controller is late',
      { quotas: [specHard({ ...RELEASED.spec.hard, services: '5' })(RELEASED)] },
    ],
    ['its quota is not counted any more', { quotas: [uncounted()(RELEASED)] }],
    ['other quotas do not matter', { quotas: [RELEASED, aQuota(named('other'), uncounted())] }],
    ['past its time', { namespace: aNamespace(lockedBy(anExpiredLock())) }],
    ['of any version', { namespace: aNamespace(lockedBy(aLock({ v: 2 }))) }],
  ])('%s', (_, different) => {
    const { namespace, lock } = unlocked(different);
    expect(lockOf(namespace)).toEqual({ kind: 'none' });
    expect(namespace.metadata.labels).not.toHaveProperty(LABEL.locked);
    expect(lock?.token).toBe('token-1');
  });

  test('in one write, on the version that was read first, nothing else changed', () => {
    const before = aNamespace(atVersion('42'), annotated('team', 'blue'));
    const { namespace } = unlocked({ namespace: lockedBy(aLock())(before) });
    expect(namespace).toEqual(before);
  });

  test('a lock that cannot be read, with every quota as it says; the record of the attempt stays', () => {
    const namespace = aNamespace(lockedUnreadably(), afterAttempt(anAttempt()));
    const decision = unlocked({ namespace, quotas: [aQuota()], token: undefined });
    expect(lockOf(decision.namespace)).toEqual({ kind: 'none' });
    expect(lastAttemptOf(decision.namespace)).toEqual(anAttempt());
    expect(decision).toMatchObject({ lock: undefined, strangers: [] });
  });
});

describe('the record of the attempt', () => {
  const attemptOf = (different: Partial<UnlockSnapshot> = {}): Attempt | undefined =>
    lastAttemptOf(unlocked(different).namespace);
  const withoutPod = { pods: [aLauncher()] };
  const afterOne = aNamespace(lockedBy(aLock()), afterAttempt(anAttempt({ at: seconds(-60), failures: 2 })));

  test('a success leaves none', () => {
    expect(attemptOf()).toBeUndefined();
  });

  test('a success ends the failures, what they locked still counts', () => {
    expect(attemptOf({ namespace: afterOne })).toMatchObject({ failures: 0, lockedMs: 4_000 });
  });

  test('a failure counts, for as long as the namespace was locked', () => {
    expect(attemptOf(withoutPod)).toMatchObject({
      at: seconds(0),
      failures: 1,
      // By a clock that counts whole seconds: the one that it may hide is counted too.
      lockedMs: 6_000,
      reason: REASON.raisedButNotAdmitted,
    });
  });

  test('one more failure', () => {
    expect(attemptOf({ namespace: afterOne, ...withoutPod })).toMatchObject({
      failures: 3,
      lockedMs: 10_000,
    });
  });

  test('not all of them got through: a failure', () => {
    const two = [...aLock().migrations, { name: 'mig1', uid: 'uid-of-mig1', vmi: 'uid-of-vm1' }];
    expect(attemptOf({ namespace: aNamespace(lockedBy(aLock({ migrations: two }))) })).toMatchObject({
      failures: 1,
    });
  });

  test.each<[string, Partial<UnlockSnapshot>, string]>([
    ['still Pending', {}, REASON.raisedButNotAdmitted],
    ['it ended', { migrations: [aMigration(inPhase('Failed'))] }, REASON.ended],
    ['it is gone', { migrations: [] }, REASON.ended],
    ['it is being deleted', { migrations: [aMigration(beingDeleted())] }, REASON.ended],
    [
      'the lock was ended for a reason of its own',
      {
        namespace: aNamespace(lockedBy(aLock({ ended: { reason: REASON.noProof, message: 'no guard' } }))),
      },
      REASON.noProof,
    ],
  ])('%s: the reason says so', (_, different, reason) => {
    expect(attemptOf({ ...withoutPod, ...different })?.reason).toBe(reason);
  });

  test('it gave way to others: no failure, and what it locked counts', () => {
    const ended = { reason: REASON.parallelLimit, message: 'others go first' };
    const namespace = aNamespace(lockedBy(aLock({ ended })));
    expect(attemptOf({ ...withoutPod, namespace })).toMatchObject({ failures: 0, lockedMs: 6_000 });
  });

  describe('others were after the same places of KubeVirt’s, and it got nobody in', () => {
    const places = { counted: [], inCluster: 1, onNode: {}, nodes: {} };
    const lock = lockedBy(aLock({ places }));
    const before = (attempt: Partial<Attempt>): Partial<UnlockSnapshot> => ({
      namespace: aNamespace(lock, afterAttempt(anAttempt(attempt))),
    });
    const gone = { migrations: [] };
    const refused = (after: number): KubernetesEvent => aFailure(exceeded('quota', 'pods=1'), after);
    test.each<[string, Partial<UnlockSnapshot>, number]>([
      ['the first time: no failure', { namespace: aNamespace(lock) }, 0],
      ['it had given way before: no failure', before({ failures: 0, reason: REASON.parallelLimit }), 0],
      ['for the second time: a failure', before({ failures: 0, reason: REASON.raisedButNotAdmitted }), 1],
      ['after a failure: one more', before({ failures: 2, reason: REASON.noProof }), 3],
      ['it ended by itself: a failure', { namespace: aNamespace(lock), ...gone }, 1],
      ['KubeVirt tried: a failure', { namespace: aNamespace(lock), refusals: [refused(-1)] }, 1],
      ['nobody can say whether it tried: a failure', { namespace: aNamespace(lock), refusals: undefined }, 1],
      ['KubeVirt tried before only: no failure', { namespace: aNamespace(lock), refusals: [refused(-5)] }, 0],
    ])('%s', (_, different, failures) => {
      expect(attemptOf({ ...withoutPod, ...different })?.failures).toBe(failures);
    });
  });

  test('a clock that is behind counts nothing, never less', () => {
    expect(attemptOf({ ...withoutPod, now: NOW - 60_000 })?.lockedMs).toBe(1_000);
  });

  test('is about what feasibility will look at: unchanged, it waits', () => {
    const failed = unlocked(withoutPod);
    const snapshot = aSnapshot({ namespace: failed.namespace, quotas: [RELEASED] });
    expect(assess(snapshot, RULES).verdicts[0]).toMatchObject({ verdict: 'Waiting', reason: REASON.backOff });
  });

  test('where nothing was raised no size is to blame', () => {
    const lock = aLock({ quotas: [...assess(aSnapshot(), RULES).quotas] });
    const ended = { reason: REASON.noProof, message: 'no guard' };
    const attemptFor = (of: Lock): Attempt | undefined =>
      attemptOf({ ...withoutPod, namespace: aNamespace(lockedBy(of)) });
    expect(attemptFor(lock)?.sized).toEqual(expect.any(String));
    expect(attemptFor({ ...lock, ended })?.sized).toBeUndefined();
  });

  describe('the raise was not enough', () => {
    const before = aSnapshot();
    const lock = aLock({ quotas: [...assess(before, RULES).quotas] });
    const told = (requested: string): KubernetesEvent => aFailure(exceeded('quota', requested), -1);
    interface Told {
      readonly failures?: number;
      readonly events?: readonly KubernetesEvent[];
    }
    const next = (failures: number, events: readonly KubernetesEvent[]): Verdict | undefined => {
      const last = anAttempt({ failures, at: seconds(-600), lockedMs: 0 });
      const held = aNamespace(lockedBy(lock), ...(failures === 0 ? [] : [afterAttempt(last)]));
      const { namespace } = unlocked({ ...withoutPod, namespace: held });
      return assess(aSnapshot({ namespace, quotas: [RELEASED], events }), RULES).verdicts[0];
    };

    const more = { events: [told('requests.memory=1500Mi')] };
    const tooMuch = { events: [told('requests.memory=4Gi')] };
    const waits = { verdict: 'Waiting', reason: REASON.backOff };
    test.each([
      ['nobody knows more: it waits', {}, waits],
      [
        'the API server says more, and that is given: raised by it at once',
        more,
        { verdict: 'FitsWithRaise' },
      ],
      ['only once', { ...more, failures: 1 }, waits],
      [
        'more than is given: told how much is missing',
        tooMuch,
        { verdict: 'NoFit', reason: REASON.notEnough },
      ],
    ])('%s', (_, { failures = 0, events = [] }: Told, want) => {
      expect(next(failures, events)).toMatchObject(want);
    });
  });

  test('the message says how it went', () => {
    expect(unlocked().message).toBe('unlocked: every migration of the lock got through');
    expect(unlocked(withoutPod).message).toContain(REASON.raisedButNotAdmitted);
  });
});

describe('strangers', () => {
  /** The lock was taken five seconds ago. */
  const pod = (after: number): UnlockSnapshot['pods'][number] =>
    aLauncher('other', named('stranger'), createdAt(after));
  test.each<[string, UnlockSnapshot['pods'], string[]]>([
    ['none', [aLauncher(), aTarget()], []],
    ['a pod made while the namespace was locked', [aLauncher(), pod(-3)], ['stranger']],
    ['a pod made before', [aLauncher(), pod(-6)], []],
    ['in the same second: nobody can tell', [aLauncher(), pod(-5)], []],
    ['the target of the lock’s own migration', [aTarget(aMigration(), createdAt(-3))], []],
    [
      'the target of another migration',
      [aTarget(aMigration(named('mig9')), createdAt(-3))],
      ['virt-launcher-vm0-for-mig9'],
    ],
    [
      'a launcher of another VM, labelled like the target',
      [labelled(KUBEVIRT.migrationJobUID, 'uid-of-mig0')(pod(-3))],
      ['stranger'],
    ],
  ])('%s', (_, pods, want) => {
    const { strangers } = unlocked({ pods });
    expect(strangers.map(({ metadata }) => metadata.name)).toEqual(want);
  });
});

test('a migration that is not refused any more is nothing that an attempt is about', () => {
  const one = unlocked({ pods: [aLauncher()], migrations: [aMigration(withCondition())] });
  const other = unlocked({ pods: [aLauncher()], migrations: [] });
  expect(lastAttemptOf(one.namespace)?.of).toBe(lastAttemptOf(other.namespace)?.of);
});
