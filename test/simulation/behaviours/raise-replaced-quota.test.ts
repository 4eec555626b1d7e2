import { expect, test } from '@jest/globals';
import { EVENT, REASON, WEBHOOK } from '../../../functions/domain/names.ts';
import type { Namespace, ResourceQuota, Vmmrq } from '../../../functions/domain/objects.ts';
import { proofOf } from '../../../functions/domain/proof.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import { raise } from '../../../functions/raise/handle.ts';
import { aLock, lockedBy } from '../../support/builders/namespace.ts';
import { TENANT, tenantNamespace, vmmrq } from '../world/objects.ts';
import { aBlockedTenant, GIVES, runStep } from '../world/one-step.ts';

const LOCK = aLock({
  migrations: [{ name: 'mig0', uid: 'uid-of-mig0', vmi: 'uid-of-vm0' }],
  quotas: [{ name: 'quota', uid: 'uid-of-quota' }],
  vmmrqs: ['more'],
});
const NAMESPACE = tenantNamespace('uid-of-tenant');
const QUOTA = { kind: 'ResourceQuota', namespace: TENANT, name: 'quota' };

/*
 * Found by seed 14602967: `raise` stood still after its proof. Another raise of the same event was lowered, the namespace was unlocked, and
 * an administrator replaced the quota by its manifest, without the fence.
 */
test.each<[string, Namespace, { reason: string; cpu: string }]>([
  ['unlocked: does not raise', NAMESPACE, { reason: REASON.notOurLock, cpu: '1' }],
  [
    'locked by another token: does not raise',
    lockedBy({ ...LOCK, token: 'other' })(NAMESPACE),
    { reason: REASON.notOurLock, cpu: '1' },
  ],
  ['still locked: raises', lockedBy(LOCK)(NAMESPACE), { reason: REASON.raised, cpu: '2' }],
])('a quota is replaced after the proof, and the namespace is %s', async (_, meanwhile, wanted) => {
  const model = aBlockedTenant();
  const { store, clock } = model;
  store.put<Vmmrq>(vmmrq('more', 'uid-of-more', { ...GIVES, raisePolicy: 'Fixed' }));
  store.put(lockedBy(LOCK)(NAMESPACE));
  let proofs = 0;
  const create = (): Promise<unknown> => {
    const date = new Date(clock.now);
    proofs += 1;
    if (proofs > 1) return Promise.resolve({ object: {}, date });
    const message = JSON.stringify(
      proofOf({ lock: LOCK, namespace: NAMESPACE, now: clock.now, incumbent: { kind: 'absent' } }),
    );
    const quota = store.get<ResourceQuota>(QUOTA);
    if (quota !== undefined)
      store.put({ ...quota, metadata: { ...quota.metadata, labels: { by: 'manifest' } } });
    store.put(meanwhile);
    const details = { causes: [{ reason: WEBHOOK.locked, message }] };
    return Promise.reject(new ApiError('POST', { code: 403, details }, date));
  };
  const server = { as: (user: string) => Object.assign(model.server.as(user), { create }) };
  const request = { type: EVENT.namespaceLocked, id: 'event-1', namespace: TENANT, token: LOCK.token };
  const { reason } = await runStep(
    raise,
    { server, clock },
    { ...request, quotas: ['quota'], vmmrqs: ['more'] },
  );
  const cpu = store.get<ResourceQuota>(QUOTA)?.status?.hard?.['requests.cpu'];
  expect({ reason, cpu }).toEqual(wanted);
});
