import { describe, expect, test } from '@jest/globals';
import { aLock } from '../../test/support/builders/namespace.ts';
import { NOW, annotated, named, seconds, withUid } from '../../test/support/builders/object.ts';
import {
  aGrant,
  aQuota,
  hard,
  holding,
  holdingUnreadably,
  raisedBy,
  recounted,
  fencedBy,
  uncounted,
  used,
  withUncounted,
} from '../../test/support/builders/quota.ts';
import { aClusterVmmrq, aVmmrq, forPurposes, giving } from '../../test/support/builders/snapshot.ts';
import { grantOf, type Grant } from '../domain/quota/grant.ts';
import { ANNOTATION, LABEL, MAX_RAISES, REASON } from '../domain/names.ts';
import type { ResourceList, ResourceQuota, Vmmrq } from '../domain/objects.ts';
import { decide, isRaisedAlready, type RaiseDecision, type RaiseSnapshot } from './decide.ts';

const decided = (different: Partial<RaiseSnapshot> = {}): RaiseDecision =>
  decide({
    namespace: 'tenant',
    token: 'token-1',
    quotas: [aQuota()],
    vmmrqs: [aVmmrq()],
    lock: aLock(),
    kubevirtNamespace: 'kubevirt',
    now: NOW,
    ...different,
  });

const written = (different: Partial<RaiseSnapshot> = {}): readonly ResourceQuota[] => {
  const decision = decided(different);
  return decision.kind === 'raise' ? decision.writes : [];
};

const grantIn = (quota: ResourceQuota | undefined): Partial<Grant> => {
  const state = quota === undefined ? undefined : grantOf(quota);
  return state?.kind === 'held' ? state.grant : {};
};

/** A quota raised by the full allowance of aVmmrq. */
const RAISED = raisedBy(aVmmrq())(aQuota());
const receives = [{ name: 'mig0', uid: 'uid-of-mig0', vmi: 'uid-of-vm0', receives: true as const }];
const allowing: Vmmrq = { ...aVmmrq(), spec: { ...aVmmrq().spec, allowReceive: true } };

/** A key that older clusters do not know. */
const GPUS = 'requests.deviceclass.resource.kubernetes.io/gpu';

describe('raised (F6)', () => {
  test('status.hard, label and grant in one object; spec and `used` are unchanged', () => {
    const [quota] = written();
    expect(quota?.spec).toEqual(aQuota().spec);
    expect(quota?.status?.used).toEqual(aQuota().status?.used);
    expect(quota?.status?.hard).toEqual({
      ...aQuota().status?.hard,
      'requests.cpu': '2605m',
      'requests.memory': String(2_041_974_464 + 1_500 * 1_024 ** 2),
    });
    expect(quota?.metadata.labels).toMatchObject({ [LABEL.raised]: 'true' });
    expect(quota?.metadata.annotations).toMatchObject({ [ANNOTATION.migrations]: 'uid-of-mig0/uid-of-vm0' });
    expect(grantIn(quota)).toMatchObject({
      token: 'token-1',
      raisedAt: seconds(0),
      expiresAt: aLock().expiresAt,
      raises: 1,
      quotas: [{ name: 'quota', uid: 'uid-of-quota' }],
      migrations: [{ name: 'mig0', uid: 'uid-of-mig0' }],
      vmmrqs: [{ name: 'vmmrq', uid: 'uid-of-vmmrq' }],
    });
  });

  test('the target is the expected charge of the raised keys', () => {
    const need = { 'requests.cpu': '1005m', pods: '1' };
    const lock = aLock({ quotas: [{ name: 'quota', uid: 'uid-of-quota', need }] });
    expect(grantIn(written({ lock })[0]).target).toEqual({ 'requests.cpu': '2010m' });
  });

  test('the quotas with a shortfall, and no other', () => {
    const quotas = [aQuota(), aQuota(named('roomy'), hard({ 'requests.cpu': '99' }))];
    const need = { 'requests.cpu': '1005m' };
    const lock = aLock({ quotas: quotas.map(({ metadata: { name, uid } }) => ({ name, uid, need })) });
    expect(written({ quotas, lock }).map(({ metadata }) => metadata.name)).toEqual(['quota']);
  });

  test('a quota that this token has raised already is left as it is', () => {
    const quotas = [RAISED, aQuota(named('other'))];
    expect(written({ quotas }).map(({ metadata }) => metadata.name)).toEqual(['other']);
    expect(isRaisedAlready(quotas, 'token-1')).toBe(false);
    expect(isRaisedAlready([RAISED], 'token-1')).toBe(true);
    expect(isRaisedAlready([RAISED], 'token-0')).toBe(false);
    expect(isRaisedAlready([recounted()(RAISED)], 'token-1')).toBe(false);
    expect(isRaisedAlready([], 'token-1')).toBe(false);
  });
});

describe('the migration slots are gone', () => {
  const two = aLock({
    migrations: [...aLock().migrations, { name: 'mig1', uid: 'uid-of-mig1', vmi: 'uid-of-vm1' }],
  });
  const attached = aLock({
    migrations: [{ name: 'mig0', uid: 'uid-of-mig0', vmi: 'uid-of-vm0', lacks: 'attachment' }],
  });

  test.each<[string, Partial<RaiseSnapshot>, string]>([
    ['of its migration: the lock ends', { slotless: ['uid-of-mig0'] }, 'end'],
    ['of another migration', { slotless: ['uid-of-mig9'] }, 'raise'],
    ['of one of two', { lock: two, slotless: ['uid-of-mig0'] }, 'raise'],
    ['of both', { lock: two, slotless: ['uid-of-mig0', 'uid-of-mig1'] }, 'end'],
    [
      'of one that has its target, and lacks its attachment pod',
      { lock: attached, slotless: ['uid-of-mig0'] },
      'raise',
    ],
    ['and the guard does not say so', { slotless: undefined }, 'raise'],
  ])('%s', (_, different, want) => {
    const decision = decided(different);
    expect(decision.kind).toBe(want);
    if (decision.kind === 'end') expect(decision.reason).toBe(REASON.parallelLimit);
  });
});

describe('raised again after a recount', () => {
  const undone = recounted()(RAISED);

  test('to the same amounts, for the same raise: need and used are not added again', () => {
    const [quota] = written({ quotas: [used({ 'requests.cpu': '2' })(undone)] });
    expect(quota?.status?.hard).toEqual(RAISED.status?.hard);
    const before = grantIn(RAISED);
    expect(grantIn(quota)).toEqual({ ...before, raises: 2, standingSince: new Date(NOW).toISOString() });
  });

  test('no higher than the current allowance', () => {
    const [quota] = written({ quotas: [undone], vmmrqs: [aVmmrq(giving({ 'requests.cpu': '100m' }))] });
    expect(quota?.status?.hard).toMatchObject({ 'requests.cpu': '1505m' });
    expect(grantIn(quota).raised).toEqual({ 'requests.cpu': '1505m' });
  });

  test('from the current spec.hard of its owner', () => {
    const lowered = hard({ ...aQuota().spec.hard, 'requests.cpu': '1' })(undone);
    expect(written({ quotas: [lowered] })[0]?.status?.hard).toMatchObject({ 'requests.cpu': '2200m' });
  });

  test('also as often as that, where each migration of the lock may have ended a source pod', () => {
    const quotas = [holding({ ...aGrant(), raises: MAX_RAISES })(undone)];
    expect(grantIn(written({ quotas })[0]).raises).toBe(MAX_RAISES + 1);
  });

  test.each<[string, Partial<RaiseSnapshot>, string]>([
    [
      'as often as a token may',
      { quotas: [holding({ ...aGrant(), raises: MAX_RAISES + 1 })(undone)] },
      REASON.undone,
    ],
    ['without an allowance', { quotas: [undone], vmmrqs: [] }, REASON.notEnough],
    ['opted out meanwhile', { quotas: [annotated(ANNOTATION.skip, 'true')(undone)] }, REASON.skipped],
  ])('%s: the lock ends', (_, different, reason) => {
    expect(decided(different)).toMatchObject({ kind: 'end', reason });
  });
});

describe('the lock ends, never silently (F6)', () => {
  const other = aLock({ quotas: [{ name: 'quota', uid: 'uid-of-quota' }], migrations: receives });
  test.each<[string, Partial<RaiseSnapshot>, string]>([
    ['fenced by this token already', { quotas: [aQuota(fencedBy('token-1'))] }, REASON.fenced],
    [
      'one of its quotas fenced',
      { quotas: [aQuota(), aQuota(named('other'), fencedBy('token-1'))] },
      REASON.fenced,
    ],
    ['held by another grant', { quotas: [aQuota(holding(aGrant({ token: 'token-0' })))] }, REASON.fenced],
    [
      'held by a grant that cannot be read, and opted out',
      { quotas: [annotated(ANNOTATION.skip, 'true')(aQuota(holdingUnreadably()))] },
      REASON.fenced,
    ],
    ['held by a grant that cannot be read', { quotas: [aQuota(holdingUnreadably())] }, REASON.fenced],
    ['a namespace of the cluster', { namespace: 'kube-tenant' }, REASON.reservedNamespace],
    ['KubeVirt’s own namespace', { namespace: 'kubevirt' }, REASON.reservedNamespace],
    ['the namespace opts out', { lock: { ...aLock(), skip: true } }, REASON.skipped],
    ['the quota opts out', { quotas: [aQuota(annotated(ANNOTATION.skip, 'true'))] }, REASON.skipped],
    ['the incumbent is there', { lock: { ...aLock(), incumbent: 'remove it' } }, REASON.incumbentPresent],
    [
      'the incumbent has recorded its own raise since',
      {
        vmmrqs: [
          {
            ...aVmmrq(),
            status: { originalBlockingResourceQuotas: [{ name: 'quota', spec: { hard: {} } }] },
          },
        ],
      },
      REASON.incumbentPresent,
    ],
    ['it may not receive any more', { lock: other }, REASON.receiveNotAllowed],
    ['the quota is being counted', { quotas: [aQuota(uncounted())] }, REASON.statusUnknown],
    [
      'a device class of its pods is not counted',
      {
        quotas: [aQuota(withUncounted({ [GPUS]: '1' }))],
        lock: withNeed({ 'requests.cpu': '1005m', [GPUS]: '1' }),
      },
      REASON.statusUnknown,
    ],
    [
      'a device class is not counted, and what its pods need is not known',
      { quotas: [aQuota(withUncounted({ [GPUS]: '1' }))] },
      REASON.statusUnknown,
    ],
    ['the VMMRQs give nothing any more (F11)', { vmmrqs: [] }, REASON.notEnough],
    [
      'the VMMRQs give nothing for this quota',
      { vmmrqs: [aVmmrq(giving({ 'limits.cpu': '1' }))] },
      REASON.notEnough,
    ],
    [
      'the VMMRQs give less than its pods lack by now',
      { vmmrqs: [aVmmrq(giving({ 'requests.cpu': '100m' }))], lock: withNeed() },
      REASON.notEnough,
    ],
    ['its quotas are gone', { quotas: [] }, REASON.ended],
    [
      'there is headroom by now',
      { quotas: [aQuota(hard({ 'requests.cpu': '99' }))], lock: withNeed() },
      REASON.fits,
    ],
  ])('%s', (_, different, reason) => {
    expect(decided(different)).toEqual({ kind: 'end', reason, message: expect.stringMatching(/./) });
  });

  test('a migration that may receive gets its raise', () => {
    expect(decided({ lock: other, vmmrqs: [allowing] }).kind).toBe('raise');
  });

  describe('cluster-wide VMMRQs, for an evacuation', () => {
    const evacuation = {
      name: 'mig0',
      uid: 'uid-of-mig0',
      vmi: 'uid-of-vm0',
      purpose: 'Evacuation' as const,
    };
    const lock: RaiseSnapshot['lock'] = {
      ...aLock({ migrations: [evacuation], vmmrqs: ['cvmmrq/drains'] }),
      labels: { tier: 'gold' },
    };
    const gold = aClusterVmmrq((vmmrq) => ({
      ...vmmrq,
      spec: { ...vmmrq.spec, namespaceSelector: { matchLabels: { tier: 'gold' } } },
    }));

    test('are named in the grant', () => {
      const [quota] = written({ lock, vmmrqs: [gold] });
      expect(grantIn(quota).vmmrqs).toEqual([{ name: 'cvmmrq/drains', uid: 'uid-of-drains' }]);
    });

    test.each<[string, Partial<RaiseSnapshot>]>([
      ['do not select the namespace any more', { lock: { ...lock, labels: {} }, vmmrqs: [gold] }],
      ['are for another purpose by now', { lock, vmmrqs: [forPurposes('WorkloadUpdate')(gold)] }],
      [
        'give nothing to a migration of unknown purpose',
        { lock: { ...aLock(), labels: {} }, vmmrqs: [aClusterVmmrq()] },
      ],
    ])('that %s end the lock', (_, different) => {
      expect(decided(different)).toMatchObject({ kind: 'end', reason: REASON.purposeNotServed });
    });

    test('only those that still give count', () => {
      const vmmrqs = [gold, forPurposes('WorkloadUpdate')(aClusterVmmrq(named('updates')))];
      const [quota] = written({ lock, vmmrqs });
      expect(quota?.status?.hard?.['requests.cpu']).toBe('2605m');
    });
  });

  test('a quota with a device class that an older cluster does not count, and no pod asks for, is raised', () => {
    const [quota] = written({ quotas: [aQuota(withUncounted({ [GPUS]: '1' }))], lock: withNeed() });
    expect(quota?.status?.hard).toMatchObject({ 'requests.cpu': '2010m', [GPUS]: '1' });
  });

  test('a quota fenced by another token is raised', () => {
    expect(decided({ quotas: [aQuota(fencedBy('token-0'), withUid('uid-of-quota'))] }).kind).toBe('raise');
  });
});

function withNeed(need: ResourceList = { 'requests.cpu': '1005m' }): RaiseSnapshot['lock'] {
  return aLock({ quotas: [{ name: 'quota', uid: 'uid-of-quota', need }] });
}
