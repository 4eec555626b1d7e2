import { describe, expect, test } from '@jest/globals';
import {
  EVENT,
  POLICY,
  PROOF_QUOTA,
  PROOF_MESSAGE,
  REASON,
  WEBHOOK,
} from '../../../functions/domain/names.ts';
import { proofOf } from '../../../functions/domain/proof.ts';
import type { ResourceQuota, Vmmrq } from '../../../functions/domain/objects.ts';
import type { View } from '../../../functions/domain/view.ts';
import type { StepRequest } from '../../../functions/eventing/step-request.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import type { Outcome } from '../../../functions/host/step.ts';
import { raise } from '../../../functions/raise/handle.ts';
import type { Lock } from '../../../functions/domain/lock.ts';
import { aLock, lockedBy } from '../../support/builders/namespace.ts';
import type { Change } from '../../support/builders/object.ts';
import { aGrant, holding } from '../../support/builders/quota.ts';
import { aView } from '../../support/builders/snapshot.ts';
import type { Model } from '../model/model.ts';
import type { Pace } from '../model/request.ts';
import { TENANT, tenantNamespace, vmmrq } from '../world/objects.ts';
import { aBlockedTenant, GIVES, runStep } from '../world/one-step.ts';

const LOCK = aLock({
  migrations: [{ name: 'mig0', uid: 'uid-of-mig0', vmi: 'uid-of-vm0' }],
  quotas: [{ name: 'quota', uid: 'uid-of-quota' }],
  vmmrqs: ['more'],
});

interface World {
  /** Left out: namespace.locked. */
  readonly type?: string;
  /** A change of the quota before. */
  readonly change?: Change<ResourceQuota>;
  readonly hints?: Pick<StepRequest, 'quotas' | 'vmmrqs'>;
  readonly lock?: Lock | 'none';
  readonly proof?: 'guard' | 'policy' | 'none';
  readonly view?: View | undefined;
}

interface Seen {
  readonly outcome: Outcome;
  readonly cpu: string | undefined;
  readonly proofs: number;
  /** All requests to the API server, these proofs among them. */
  readonly requests: number;
}

async function raiseIn(world: World): Promise<Seen> {
  const { hints = {}, lock: held = LOCK, proof = 'guard', type = EVENT.namespaceLocked } = world;
  const view = 'view' in world ? world.view : aView();
  let requests = 0;
  const pace: Pace = ({ phase }) => {
    if (phase === 'arrive') requests += 1;
    return Promise.resolve();
  };
  const model = aBlockedTenant({ pace });
  const { store, clock } = model;
  store.put<Vmmrq>(vmmrq('more', 'uid-of-more', { ...GIVES, raisePolicy: 'Fixed' }));
  changeQuota(model, world);
  const namespace = tenantNamespace('uid-of-tenant');
  store.put(held === 'none' ? namespace : lockedBy(held)(namespace));
  let proofs = 0;
  const create = (): Promise<unknown> => {
    proofs += 1;
    const date = new Date(clock.now);
    if (proof === 'none') return Promise.resolve({ object: {}, date });
    const lock = JSON.stringify(
      proofOf({ lock: LOCK, namespace, now: clock.now, incumbent: { kind: 'absent' } }),
    );
    return Promise.reject(
      new ApiError('POST', proof === 'guard' ? guardRefusal(lock) : POLICY_REFUSAL, date),
    );
  };
  const as = (user: string): Cluster => Object.assign(model.server.as(user), { create });
  const request = {
    type,
    id: 'event-1',
    namespace: TENANT,
    token: LOCK.token,
    ...hints,
  };
  const reached = { server: { as }, clock, context: { view: () => Promise.resolve(view) } };
  const outcome = await runStep(raise, reached, request);
  const quota = store.get<ResourceQuota>({ kind: 'ResourceQuota', namespace: TENANT, name: 'quota' });
  return { outcome, cpu: quota?.status?.hard?.['requests.cpu'], proofs, requests: requests + proofs };
}

function changeQuota({ store }: Model, { change }: World): void {
  const full = store.get<ResourceQuota>({ kind: 'ResourceQuota', namespace: TENANT, name: 'quota' });
  if (full !== undefined && change !== undefined) store.put(change(full));
}

const guardRefusal = (lock: string): object => ({
  code: 403,
  details: { causes: [{ reason: WEBHOOK.locked, message: lock }] },
});
const REFUSAL = `ValidatingAdmissionPolicy '${POLICY.locked}' with binding '${POLICY.locked}' denied request: ${PROOF_MESSAGE}${LOCK.token}`;
const POLICY_REFUSAL = {
  code: 403,
  message: `resourcequotas "${PROOF_QUOTA}" is forbidden: ${REFUSAL}`,
  details: { causes: [{ message: REFUSAL }] },
};

describe('raise uses the quotas and VMMRQs in an event only as hints (I5), when the event names', () => {
  const quotas = ['quota'];

  test.each<[string, World['hints']]>([
    ['nothing', {}],
    ['those of the lock', { quotas, vmmrqs: ['more'] }],
    ['a VMMRQ three times, which gives once', { quotas, vmmrqs: ['more', 'more', 'more'] }],
    ['another VMMRQ', { quotas, vmmrqs: ['other'] }],
    ['one VMMRQ more', { quotas, vmmrqs: ['more', 'other'] }],
    ['another quota', { quotas: ['other'], vmmrqs: ['more'] }],
    ['a thousand quotas', { quotas: Array.from({ length: 1_000 }, String), vmmrqs: ['more'] }],
  ])('%s', async (_, hints) => {
    const { outcome, cpu } = await raiseIn(hints === undefined ? {} : { hints });
    expect(outcome.reason).toBe(REASON.raised);
    expect(cpu).toBe('2');
  });

  test('existing objects of an unlocked namespace, where an open proof is not repeated', async () => {
    const hints = { quotas, vmmrqs: ['more'] };
    const { outcome, cpu, proofs } = await raiseIn({ hints, lock: 'none', proof: 'none' });
    expect({ reason: outcome.reason, cpu, proofs }).toEqual({
      reason: REASON.notOurLock,
      cpu: '1',
      proofs: 1,
    });
  });
});

describe('a raise that a recount undid', () => {
  const hints = { quotas: ['quota'], vmmrqs: ['more'] };
  const grant = aGrant({ token: LOCK.token, raised: { 'requests.cpu': '2' } });
  const undone: World = { type: EVENT.quotaUndone, hints, change: holding(grant) };

  test.each<[string, World, { reason: string; cpu: string; proofs: number }]>([
    ['needs no other proof', { ...undone, proof: 'none' }, { reason: REASON.raised, cpu: '2', proofs: 0 }],
    [
      'needs one where no grant shows that there was one',
      { ...undone, change: (quota) => quota, proof: 'none' },
      { reason: REASON.noProof, cpu: '1', proofs: 1 },
    ],
    [
      'needs one where the grant is of another token',
      { ...undone, change: holding({ ...grant, token: 'token-0' }), proof: 'none' },
      { reason: REASON.noProof, cpu: '1', proofs: 1 },
    ],
    [
      'needs one where the guard is silent, which may know of the incumbent',
      { ...undone, view: undefined },
      { reason: REASON.raised, cpu: '2', proofs: 1 },
    ],
    [
      'is not made again where the token holds the namespace no more',
      { ...undone, lock: 'none', proof: 'none' },
      { reason: REASON.notOurLock, cpu: '1', proofs: 1 },
    ],
    [
      'is not made again beside the incumbent',
      { ...undone, view: { ...aView(), incumbent: 'MTQ is installed' }, proof: 'none' },
      { reason: REASON.incumbentPresent, cpu: '1', proofs: 0 },
    ],
  ])('%s', async (_, world, want) => {
    const { outcome, cpu, proofs } = await raiseIn(world);
    expect({ reason: outcome.reason, cpu, proofs }).toMatchObject({ ...want, proofs: expect.any(Number) });
    expect(proofs > 0).toBe(want.proofs > 0);
  });
});

describe('a forged namespace.locked about a namespace without a lock costs raise', () => {
  const names = (count: number, of: string): string[] =>
    Array.from({ length: count }, (_, index) => of + String(index));

  test.each<[string, number, number]>([
    ['one request, where it names five of each', 5, 1],
    ['twelve, where it names four of each', 4, 12],
  ])('%s', async (_, count, want) => {
    // Each cluster-wide VMMRQ costs a request of its own.
    const hints = { quotas: names(count, 'quota'), vmmrqs: names(count, 'cvmmrq/more') };
    const { outcome, requests } = await raiseIn({ hints, lock: 'none', proof: 'none' });
    expect({ reason: outcome.reason, requests }).toEqual({ reason: REASON.notOurLock, requests: want });
  });
});

test('a lock past its time is announced at once, also where only the namespace shows that it is late', async () => {
  const { outcome, cpu, proofs } = await raiseIn({ lock: aLock({ ...LOCK, expiresAt: LOCK.acquiredAt }) });
  expect(outcome).toMatchObject({ reason: REASON.lockExpired, reply: { type: EVENT.lockExpired } });
  expect({ cpu, proofs }).toEqual({ cpu: '1', proofs: 0 });
});

describe('when a policy refuses the proof, raise reads the guard’s view, and where', () => {
  test.each<[string, View | undefined, string, string | undefined]>([
    ['the incumbent is absent, it raises', aView(), REASON.raised, '2'],
    [
      'the incumbent is present, it does not raise',
      { ...aView(), incumbent: 'MTQ is installed' },
      REASON.incumbentPresent,
      '1',
    ],
    ['the guard does not answer: it raises, for a cycle needs no guard there', undefined, REASON.raised, '2'],
  ])('%s', async (...[, view, reason, hard]) => {
    const { outcome, cpu } = await raiseIn({ proof: 'policy', view });
    expect({ reason: outcome.reason, cpu }).toEqual({ reason, cpu: hard });
  });
});
