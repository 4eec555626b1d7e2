import { describe, expect, test } from '@jest/globals';
import {
  aLock,
  anExpiredLock,
  aNamespace,
  lockedBy,
  lockedUnreadably,
} from '../../test/support/builders/namespace.ts';
import { annotated, atVersion, named, NOW, seconds } from '../../test/support/builders/object.ts';
import {
  aGrant,
  aQuota,
  hard,
  holding,
  holdingUnreadably,
  putBack,
  raisedBy,
  releasedBy,
  settled,
} from '../../test/support/builders/quota.ts';
import { aVmmrq, giving } from '../../test/support/builders/snapshot.ts';
import { grantOf } from '../domain/quota/grant.ts';
import { lockOf, type Places } from '../domain/lock.ts';
import { ANNOTATION, REASON } from '../domain/names.ts';
import type { ResourceQuota } from '../domain/objects.ts';
import { decide, isRaisedAlready, type RaiseDecision, type RaiseSnapshot } from './decide.ts';

/** KubeVirt has a place for one. */
const PLACES: Places = { counted: [], inCluster: 1, onNode: {}, nodes: {} };

const decided = (different: Partial<RaiseSnapshot> = {}): RaiseDecision =>
  decide({
    token: 'token-1',
    quotas: [aQuota()],
    vmmrqs: [aVmmrq()],
    others: [],
    proof: { proven: true },
    namespace: aNamespace(lockedBy(aLock())),
    kubevirtNamespace: 'kubevirt',
    now: NOW,
    ...different,
  });

describe('left alone: not ours, or too late', () => {
  test.each<[string, Partial<RaiseSnapshot>, string]>([
    ['the namespace is not locked', { namespace: aNamespace() }, REASON.notOurLock],
    ['its lock cannot be read', { namespace: aNamespace(lockedUnreadably()) }, REASON.notOurLock],
    ['by another token', { token: 'token-0' }, REASON.notOurLock],
    ['by no token at all', { token: '' }, REASON.notOurLock],
    ['past its time', { namespace: aNamespace(lockedBy(anExpiredLock())) }, REASON.lockExpired],
    ['in the very moment of its end', { now: NOW + 25_000 }, REASON.lockExpired],
    [
      'of a version that we do not know',
      { namespace: aNamespace(lockedBy(aLock({ v: 2 }))) },
      REASON.notOurLock,
    ],
    ['let go of by this lock already', { quotas: [aQuota(releasedBy('token-1'))] }, REASON.fenced],
    [
      'one of its quotas let go of',
      { quotas: [aQuota(), aQuota(named('other'), releasedBy('token-1'))] },
      REASON.fenced,
    ],
    ['held by another grant', { quotas: [aQuota(holding(aGrant({ token: 'token-0' })))] }, REASON.fenced],
    ['held by a grant that cannot be read', { quotas: [aQuota(holdingUnreadably())] }, REASON.fenced],
    [
      'fenced, though nothing is proven either',
      { quotas: [aQuota(releasedBy('token-1'))], proof: { proven: false, why: 'no guard' } },
      REASON.fenced,
    ],
  ])('%s', (_, different, reason) => {
    expect(decided(different)).toEqual({ kind: 'leave', reason, message: expect.any(String) });
  });
});

describe('policy Exact, which is the default', () => {
  const exact = aVmmrq();
  const need = { pods: '1', 'requests.cpu': '1005m', 'requests.memory': '1412828864' };
  const lockFor = (...names: string[]): ReturnType<typeof aLock> =>
    aLock({ quotas: names.map((name) => ({ name, uid: `uid-of-${name}`, need })) });
  const roomy = aQuota(named('other'), hard({ 'requests.cpu': '9' }));

  test('a quota that has the room by now is not raised, the others are', () => {
    const namespace = aNamespace(lockedBy(lockFor('quota', 'other')));
    const decision = decided({ vmmrqs: [exact], quotas: [aQuota(), roomy], namespace });
    const writes = decision.kind === 'raise' ? decision.writes : [];
    expect(writes.map(({ metadata, spec }) => [metadata.name, spec.hard])).toEqual([
      ['quota', { pods: '10', 'requests.cpu': '2010m', 'requests.memory': '2825657728' }],
    ]);
    const again = decided({ vmmrqs: [exact], quotas: [...writes, roomy], namespace });
    expect(again).toMatchObject({ kind: 'raise', writes: [] });
  });

  test('all have the room by now: the lock ends', () => {
    const namespace = aNamespace(lockedBy(lockFor('other')));
    expect(decided({ vmmrqs: [exact], quotas: [roomy], namespace })).toMatchObject({
      kind: 'end',
      reason: REASON.fits,
    });
  });
});

describe('ended: it cannot work', () => {
  const unlabelled = aNamespace(annotated(ANNOTATION.lock, JSON.stringify(aLock())));
  test.each<[string, Partial<RaiseSnapshot>, string]>([
    ['no proof', { proof: { proven: false, why: 'a 500 instead' } }, REASON.noProof],
    ['the label is gone: the guard sees nothing', { namespace: unlabelled }, REASON.noProof],
    ['the VMMRQ is gone', { vmmrqs: [] }, REASON.notEnough],
    ['it gives nothing for the quota', { vmmrqs: [aVmmrq(giving({ 'limits.cpu': '1' }))] }, REASON.notEnough],
    [
      'it gives nothing for one of the quotas',
      { quotas: [aQuota(), aQuota(named('other'), hard({ 'limits.cpu': '1' }))] },
      REASON.notEnough,
    ],
    ['the quotas of the lock are gone', { quotas: [] }, REASON.notEnough],
    ...['kube-system', 'default', 'mtq-system', 'knative-serving', 'openshift-cnv', 'kubevirt'].map(
      (name): [string, Partial<RaiseSnapshot>, string] => [
        `${name} is the cluster’s`,
        { namespace: aNamespace(named(name), lockedBy(aLock())) },
        REASON.reservedNamespace,
      ],
    ),
    [
      'others are locked for the last place, and go first',
      {
        namespace: aNamespace(lockedBy(aLock({ places: PLACES }))),
        others: [aNamespace(lockedBy(aLock({ token: 'token-0' })))],
      },
      REASON.parallelLimit,
    ],
    [
      'KubeVirt is elsewhere, and this is where',
      { namespace: aNamespace(named('virt'), lockedBy(aLock())), kubevirtNamespace: 'virt' },
      REASON.reservedNamespace,
    ],
  ])('%s: nothing is raised, nobody waits', (_, different, reason) => {
    const decision = decided(different);
    if (decision.kind !== 'end') throw new Error(decision.kind);
    expect(decision.reason).toBe(reason);
    const { lock } = decision;
    expect(lock).toMatchObject(aLock());
    const ended = { reason, message: decision.message };
    expect(lockOf(decision.namespace)).toEqual({
      kind: 'held',
      lock: { ...lock, expiresAt: seconds(0), ended },
      labelled: true,
    });
    expect(decision.namespace.metadata.resourceVersion).toBe('100');
  });

  test('in the words of what happened instead of the proof', () => {
    const decision = decided({ proof: { proven: false, why: 'a 500 instead' } });
    expect(decision.message).toBe('a 500 instead');
  });
});

describe('raised', () => {
  const hardOf = (decision: RaiseDecision): unknown =>
    decision.kind === 'raise' ? decision.writes.map(({ spec }) => spec.hard) : decision.kind;

  test('held and proven: every quota of the lock, on the version that was read', () => {
    const quotas = [aQuota(atVersion('8')), aQuota(named('other'), hard({ cpu: '2' }), atVersion('9'))];
    const decision = decided({ quotas });
    if (decision.kind !== 'raise') throw new Error(decision.kind);
    expect(decision.writes.map(({ metadata }) => metadata.resourceVersion)).toEqual(['8', '9']);
    expect(hardOf(decision)).toEqual([
      { pods: '10', 'requests.cpu': '2605m', 'requests.memory': '3614838464' },
      { cpu: '3200m' },
    ]);
    expect(decision.writes.map(grantOf)).toMatchObject([
      { grant: { token: 'token-1', raisedAt: seconds(0), original: { 'requests.cpu': '1405m' } } },
      { grant: { token: 'token-1', original: { cpu: '2' } } },
    ]);
    expect(decision.writes.map(({ metadata }) => metadata.annotations?.[ANNOTATION.migrations])).toEqual([
      'uid-of-mig0/uid-of-vm0',
      'uid-of-mig0/uid-of-vm0',
    ]);
    expect(decision.message).toBe('raised quota, other');
  });

  test('the fence of an earlier lock is no fence', () => {
    expect(decided({ quotas: [aQuota(releasedBy('token-0'))] }).kind).toBe('raise');
  });

  const raised = raisedBy(aVmmrq())(aQuota());
  test.each<[string, RaiseSnapshot['quotas'], string[]]>([
    ['all are raised already', [raised], []],
    ['and enforced', [settled()(raised)], []],
    ['and put back again, record kept', [putBack(aGrant())(raised)], []],
    ['one of two is', [raised, aQuota(named('other'))], ['other']],
  ])('a retried raise: %s, `original` is never taken from a raised quota', (_, quotas, want) => {
    const decision = decided({ quotas });
    if (decision.kind !== 'raise') throw new Error(decision.kind);
    expect(decision.writes.map(({ metadata }) => metadata.name)).toEqual(want);
  });
});

describe('a duplicate', () => {
  const raised = raisedBy(aVmmrq())(aQuota());
  const other = raisedBy(aVmmrq())(aQuota(named('other')));
  test.each<[string, ResourceQuota[], boolean]>([
    ['no quota is left', [], false],
    ['the only one holds our grant', [raised], true],
    ['all hold it', [raised, other], true],
    ['one does not', [raised, aQuota(named('other'))], false],
    ['the grant cannot be read', [aQuota(holdingUnreadably())], false],
  ])('%s', (_, quotas, want) => {
    expect(isRaisedAlready(quotas, 'token-1')).toBe(want);
    expect(isRaisedAlready(quotas, 'token-2')).toBe(false);
  });
});
