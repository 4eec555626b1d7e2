import { describe, expect, test } from '@jest/globals';
import { lastAttemptOf } from '../../../functions/domain/verdict/attempt.ts';
import type { Lock } from '../../../functions/domain/lock.ts';
import { ANNOTATION, EVENT, KUBEVIRT, LABEL } from '../../../functions/domain/names.ts';
import type { Namespace, ResourceQuota } from '../../../functions/domain/objects.ts';
import type { Cluster, ResourceType, Selection } from '../../../functions/kubernetes/cluster.ts';
import { TooMuch } from '../../../functions/kubernetes/errors.ts';
import {
  MIGRATIONS,
  NAMESPACES,
  PODS,
  RESOURCE_QUOTAS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import { lower } from '../../../functions/lower/handle.ts';
import type { Step } from '../../../functions/host/step.ts';
import { unlock } from '../../../functions/unlock/handle.ts';
import { aLock, anExpiredLock, lockedBy } from '../../support/builders/namespace.ts';
import { labelled, named, withUid } from '../../support/builders/object.ts';
import { raisedBy } from '../../support/builders/quota.ts';
import type { Model } from '../model/model.ts';
import { LAUNCHER, launcherPod, TENANT, tenantNamespace, vmi, vmmrq } from '../world/objects.ts';
import { aBlockedTenant, FULL, GIVES, runStep } from '../world/one-step.ts';

/** A tenant stores more pods, migrations or VMMRQs than a process of the project reads into memory. */

type Oversized = (type: ResourceType, where: Selection) => boolean;

const KINDS: readonly string[] = [PODS, MIGRATIONS, VMMRQS].map(({ kind }) => kind);
const everything: Oversized = ({ kind }) => KINDS.includes(kind);
/** Only pod lists without a label selector of KubeVirt are too large. */
const podsOutsideLock: Oversized = ({ kind }, { labelSelector }) =>
  KINDS.includes(kind) && labelSelector === undefined;

const reaching = (cluster: Cluster, isOversized: Oversized): Cluster =>
  new Proxy(cluster, {
    get: (target, property) => {
      if (property === 'list') {
        return (type: ResourceType, where: Selection) =>
          isOversized(type, where)
            ? Promise.reject(new TooMuch(`${type.plural} of ${TENANT}`))
            : target.list(type, where);
      }
      const value: unknown = Reflect.get(target, property);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });

const quotaIn = ({ store }: Model): ResourceQuota => {
  const quota = store.get<ResourceQuota>({ kind: RESOURCE_QUOTAS.kind, namespace: TENANT, name: 'quota' });
  if (quota === undefined) throw new Error('there is no quota');
  return quota;
};

/** Locked and raised for the refused migration. The spec is not restored, because the test runs no other step. */
function raised(lock: Lock): Model {
  const model = aBlockedTenant();
  model.store.put(lockedBy(lock)(tenantNamespace('uid-of-tenant')));
  model.store.put(raisedBy(vmmrq('more', 'uid-of-more', GIVES))(quotaIn(model)));
  return model;
}

/** Creates the target pod. */
function admitted({ store }: Model): void {
  const source = launcherPod(vmi('vm0', 'uid-of-vm0'), { requests: LAUNCHER });
  store.put(withUid('uid-of-target')(named('target')(ofMigration(source))));
}

const ofMigration = labelled(KUBEVIRT.migrationJobUID, 'uid-of-mig0');

interface OversizedRequest {
  readonly type: string;
  readonly isOversized: Oversized;
}

const runWith = (
  step: Step,
  model: Model,
  { type, isOversized }: OversizedRequest,
): ReturnType<typeof runStep> =>
  runStep(
    step,
    { ...model, server: { as: (user) => reaching(model.server.as(user), isOversized) } },
    { type, id: 'event-1', namespace: TENANT, token: 'token-1' },
  );

describe('with more stored objects than fit into memory', () => {
  test('lower still lowers the quotas of an expired lock', async () => {
    const model = raised(anExpiredLock());
    const isOversized = everything;
    expect(quotaIn(model).status?.hard).not.toEqual(FULL);
    expect(await runWith(lower, model, { type: EVENT.lockExpired, isOversized })).toMatchObject({
      reason: 'LockExpired',
      reply: { type: EVENT.quotaLowered, token: 'token-1' },
    });
    expect(quotaIn(model)).toMatchObject({
      metadata: { annotations: { [ANNOTATION.lastRelease]: 'token-1 ourFault' } },
      spec: { hard: FULL },
      status: { hard: FULL },
    });
  });

  const tooMany =
    ({ kind }: ResourceType): Oversized =>
    (type) =>
      type.kind === kind;

  test('lower fails, to be retried, for a live lock with too many target pods', async () => {
    const outcome = runWith(lower, raised(aLock()), { type: EVENT.lockStalled, isOversized: tooMany(PODS) });
    await expect(outcome).rejects.toThrow(TooMuch);
  });

  test('lower does not explain a stalled lock with too many migrations', async () => {
    const outcome = runWith(lower, raised(aLock()), {
      type: EVENT.lockStalled,
      isOversized: tooMany(MIGRATIONS),
    });
    expect(await outcome).toMatchObject({ reason: 'RaisedButNotAdmitted' });
  });

  test.each([
    ['counts a migration by the labels of its target pod', podsOutsideLock, undefined],
    ['counts no failure where even that list is too large', everything, { failures: 0, outcome: 'ourFault' }],
  ])('unlock unlocks the namespace and %s', async (_what, isOversized, attempt) => {
    const model = raised(anExpiredLock());
    admitted(model);
    await runWith(lower, model, { type: EVENT.lockExpired, isOversized });
    expect(await runWith(unlock, model, { type: EVENT.quotaLowered, isOversized })).toMatchObject({
      reason: 'Unlocked',
    });
    const namespace = model.store.get<Namespace>({ kind: NAMESPACES.kind, name: TENANT });
    expect(namespace?.metadata.labels).not.toHaveProperty([LABEL.locked]);
    const last = namespace && lastAttemptOf(namespace, Infinity);
    if (attempt === undefined) expect(last).toBeUndefined();
    else expect(last).toMatchObject(attempt);
  });
});
