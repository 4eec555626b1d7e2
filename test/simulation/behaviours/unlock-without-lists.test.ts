import { expect, test } from '@jest/globals';
import { lockOf } from '../../../functions/domain/lock.ts';
import { EVENT } from '../../../functions/domain/names.ts';
import type { Namespace } from '../../../functions/domain/objects.ts';
import { lastAttemptOf } from '../../../functions/domain/verdict/attempt.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { unlock } from '../../../functions/unlock/handle.ts';
import { aLock, lockedBy } from '../../support/builders/namespace.ts';
import { aQuota, fencedBy, hard } from '../../support/builders/quota.ts';
import { TENANT, tenantNamespace } from '../world/objects.ts';
import { aBlockedTenant, FULL, runStep } from '../world/one-step.ts';

/** A namespace must not stay locked because a CRD is gone or a role is only half applied. */
test.each<[string, 'failed' | 'charged', number]>([
  ['failed, and the CRDs are gone', 'failed', 404],
  ['failed, and no role allows a list', 'failed', 403],
  ['charged, and no role allows a list of its pods', 'charged', 403],
])('unlock needs no list: a lock that ended as %s', async (_, outcome, code) => {
  const model = aBlockedTenant();
  const { store, clock } = model;
  const quota = aQuota(hard(FULL), fencedBy('token-1', outcome));
  const { metadata } = quota;
  store.put({ ...quota, metadata: { ...metadata, namespace: TENANT } });
  const lock = aLock({ quotas: [{ name: metadata.name, uid: metadata.uid }] });
  store.put(lockedBy(lock)(tenantNamespace('uid-of-tenant')));
  const list = (): Promise<never> =>
    Promise.reject(new ApiError('LIST', { code, message: 'no' }, new Date(clock.now)));
  const as = (user: string): Cluster => Object.assign(model.server.as(user), { list });
  const about = { type: EVENT.quotaLowered, id: 'event-1', namespace: TENANT, token: lock.token };
  await runStep(unlock, { server: { as }, clock }, about);
  const namespace = store.get<Namespace>({ kind: 'Namespace', name: TENANT });
  expect(namespace === undefined ? undefined : lockOf(namespace)).toEqual({ kind: 'none' });
  expect(namespace === undefined ? undefined : lastAttemptOf(namespace, Infinity)?.outcome).toBe(outcome);
});
