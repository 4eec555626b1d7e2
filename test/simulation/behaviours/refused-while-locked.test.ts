import { expect, test } from '@jest/globals';
import { annotated } from '../../support/builders/object.ts';
import { aLock, lockedBy } from '../../support/builders/namespace.ts';
import { ANNOTATION, SERVICE_ACCOUNT, userOf } from '../../../functions/domain/names.ts';
import { isFinal, wasRejectedByQuota } from '../../../functions/domain/migration.ts';
import type { Migration, ResourceQuota } from '../../../functions/domain/objects.ts';
import { MIGRATIONS, NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { toResponse } from '../../../webhook/admission/admission.ts';
import { newReview } from '../../../webhook/dispatch-review.ts';
import { drained, Schedule } from '../engine/schedule.ts';
import { Random } from '../engine/random.ts';
import { START, Time } from '../engine/time.ts';
import { smallCase } from '../seeds/exhaustive.ts';
import { startKubeVirt } from '../world/kubevirt.ts';
import { LAUNCHER, quota, TENANT, tenantNamespace } from '../world/objects.ts';
import { aBlockedTenant, BLOCKED, FULL } from '../world/one-step.ts';
import { World } from '../world/world.ts';
import type { Model } from '../model/model.ts';

/** A migration that comes while the namespace is locked for another one: the guard refuses its pod to virt-controller. */

test('it does not keep the pod of the lock waiting: virt-controller creates one at a time, and no lock fails', async () => {
  const world = new World({ ...smallCase(2), migrations: 1 }, { plan: [] });
  const migrations = (): readonly Migration[] => world.store.list<Migration>(MIGRATIONS.kind, TENANT);
  let hasCome = false;
  world.store.onChange(({ kind, object }) => {
    const isLocked = kind === NAMESPACES.kind && object.metadata.annotations?.[ANNOTATION.lock] !== undefined;
    if (!isLocked || hasCome) return;
    hasCome = true;
    world.attempt(world.admin.create(MIGRATIONS, world.newMigration('vm1', TENANT)));
  });
  world.start();
  while (migrations().length < 2 || !migrations().every(isFinal)) {
    if (!(await world.schedule.step()) && !(await world.schedule.skip())) break;
  }
  for (const guard of world.guards) guard.stop();
  const { violation, tenant } = world.checker;
  expect({ violation, counts: tenant.locks.counts }).toEqual({
    violation: undefined,
    counts: { cycles: 2, failures: 0 },
  });
});

/** A tenant whose quota has headroom, locked for another migration; the guard's own code answers the API server. */
async function aLockedTenant(): Promise<Model> {
  const settings = { KUBEVIRT_NAMESPACE: 'kubevirt', KUBEVIRT_CONTROLLER: 'kubevirt-controller' };
  const model: Model = aBlockedTenant({
    admission: async (request) => {
      const review = newReview(model.server.as(userOf(SERVICE_ACCOUNT.guard)), settings, () => ({
        kind: 'absent',
      }));
      return toResponse(request.uid, await review(request));
    },
  });
  const { store } = model;
  store.put({ ...BLOCKED, status: { phase: 'Pending' } });
  store.put(counted());
  store.put(lockedBy(aLock({ migrations: [] }))(tenantNamespace('uid-of-tenant')));
  await model.untilStable();
  return model;
}

const HARD = { 'requests.cpu': '4', 'requests.memory': '8Gi' };
const counted = (): ResourceQuota => ({
  ...quota('quota', 'uid-of-quota', HARD),
  status: { hard: HARD, used: FULL },
});

test('it waits as after a quota’s refusal: it gets its pod when the quota is lowered, not after a back-off', async () => {
  const model = await aLockedTenant();
  const { store } = model;
  const theMigration = (): Migration => store.list<Migration>(MIGRATIONS.kind, TENANT)[0] ?? BLOCKED;
  const random = new Random(1);
  const pacing = { suspendRate: 0, longDelayRate: 0, maxDelayMs: 0 };
  const schedule = new Schedule({ time: new Time(), random, pacing });
  startKubeVirt({
    ...{ store, schedule, random, targetRequests: LAUNCHER, writesEvents: false },
    cluster: model.server.as(userOf('kubevirt-controller', 'kubevirt')),
    isFailing: () => false,
  });
  const until = async (ms: number, isDone: () => boolean): Promise<void> => {
    await drained();
    while (!isDone() && ((await schedule.step()) || (await schedule.skip(START + ms))));
  };
  // Its back-off is longer than a second by then.
  await until(5_000, () => false);
  expect(theMigration()).toMatchObject({ status: { phase: 'Pending' } });
  expect(wasRejectedByQuota(theMigration())).toBe(true);

  store.put(tenantNamespace('uid-of-tenant'));
  store.put(annotated(ANNOTATION.lastRelease, 'token-1 admitted')(counted()));
  await model.untilStable();
  await until(5_100, () => theMigration().status?.phase !== 'Pending');
  expect(theMigration().status?.phase).not.toBe('Pending');
});
