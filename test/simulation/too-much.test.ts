import { describe, expect, test } from '@jest/globals';
import { lastAttemptOf } from '../../functions/domain/attempt.ts';
import type { Lock } from '../../functions/domain/lock.ts';
import { ANNOTATION, EVENT, LABEL } from '../../functions/domain/names.ts';
import type { Namespace, ResourceQuota } from '../../functions/domain/objects.ts';
import type { Cluster, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { TooMuch } from '../../functions/kubernetes/errors.ts';
import {
  MIGRATIONS,
  NAMESPACES,
  PODS,
  RESOURCE_QUOTAS,
  VMMRQS,
} from '../../functions/kubernetes/resources.ts';
import { lower } from '../../functions/lower/handle.ts';
import type { Step } from '../../functions/step.ts';
import { unlock } from '../../functions/unlock/handle.ts';
import { aLock, anExpiredLock, lockedBy } from '../builders/namespace.ts';
import type { Model } from './model/model.ts';
import { TENANT, tenantNamespace } from './objects.ts';
import { aBlockedTenant, wakeUp } from './one-step.ts';

/** A tenant stores more pods, migrations or VMMRQs than a process of ours takes into its memory. */

const STUFFED: readonly string[] = [PODS, MIGRATIONS, VMMRQS].map(({ kind }) => kind);

const stuffed = (cluster: Cluster): Cluster =>
  new Proxy(cluster, {
    get: (target, property) => {
      if (property === 'list') {
        return (type: ResourceType, where: object) =>
          STUFFED.includes(type.kind)
            ? Promise.reject(new TooMuch(`${type.plural} of ${TENANT}`))
            : target.list(type, where);
      }
      const value: unknown = Reflect.get(target, property);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });

const quotaIn = ({ store }: Model): ResourceQuota | undefined =>
  store.get({ kind: RESOURCE_QUOTAS.kind, namespace: TENANT, name: 'quota' });

/** Locked for the refused migration. */
function lockedWith(lock: Lock): Model {
  const model = aBlockedTenant();
  model.store.put(lockedBy(lock)(tenantNamespace('uid-of-tenant')));
  return model;
}

const wake = (step: Step, model: Model, type: string): ReturnType<typeof wakeUp> =>
  wakeUp(
    step,
    { ...model, server: { as: (user) => stuffed(model.server.as(user)) } },
    { type, id: 'wake', namespace: TENANT, token: 'token-1' },
  );

describe('nobody keeps a namespace locked by what they store', () => {
  test('an expired lock is lowered all the same', async () => {
    const model = lockedWith(anExpiredLock());
    expect(await wake(lower, model, EVENT.lockExpired)).toMatchObject({
      reason: 'LockExpired',
      reply: { type: EVENT.quotaLowered, token: 'token-1' },
    });
    expect(quotaIn(model)?.metadata.annotations).toMatchObject({ [ANNOTATION.lastRelease]: 'token-1' });
  });

  test('one that is not is looked at again, until it is', async () => {
    const model = lockedWith(aLock());
    await expect(wake(lower, model, EVENT.lockStalled)).rejects.toThrow(TooMuch);
  });

  test('the namespace is freed, and the attempt counts as failed: nobody can say that it did not', async () => {
    const model = lockedWith(anExpiredLock());
    await wake(lower, model, EVENT.lockExpired);
    expect(await wake(unlock, model, EVENT.quotaLowered)).toMatchObject({ reason: 'Unlocked' });
    const namespace = model.store.get<Namespace>({ kind: NAMESPACES.kind, name: TENANT });
    expect(namespace?.metadata.labels).not.toHaveProperty([LABEL.locked]);
    expect(namespace && lastAttemptOf(namespace)).toMatchObject({ failures: 1 });
  });
});
