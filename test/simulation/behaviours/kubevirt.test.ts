import { expect, test } from '@jest/globals';
import { isFinal } from '../../../functions/domain/migration.ts';
import type { Migration, Pod } from '../../../functions/domain/objects.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../../functions/kubernetes/errors.ts';
import { MIGRATIONS, PODS, RESOURCE_QUOTAS, VMIS } from '../../../functions/kubernetes/resources.ts';
import type { Vmi } from '../../cluster/kubevirt/objects/types.ts';
import { annotated } from '../../support/builders/object.ts';
import { smallCase } from '../seeds/exhaustive.ts';
import { startKubeVirt } from '../world/kubevirt.ts';
import { LAUNCHER, TENANT } from '../world/objects.ts';
import { aBlockedTenant } from '../world/one-step.ts';
import { Random } from '../engine/random.ts';
import { drained, Schedule } from '../engine/schedule.ts';
import { START, Time } from '../engine/time.ts';
import { World } from '../world/world.ts';

/** As the simulation found it (seed 120803 of its day): the VM was left without a pod, and its next migration was never tried. */
test('a migration that fails after its VM has moved to the target does not delete the VM’s pod', async () => {
  const world = new World(smallCase(1), { plan: [] });
  const theMigration = (): Migration | undefined => world.store.list<Migration>(MIGRATIONS.kind, TENANT)[0];
  world.store.onChange(({ kind, object }) => {
    const migration = theMigration();
    const isOverThere = kind === VMIS.kind && (object as Vmi).status?.migrationState?.completed === true;
    if (!isOverThere || migration === undefined) return;
    world.failing.add(migration.metadata.uid);
    // The next write of virt-controller is a Conflict, so it retries.
    world.write('admin', annotated('theirs', 'x')(migration));
  });
  world.start();
  for (let seen = theMigration(); seen === undefined || !isFinal(seen); seen = theMigration()) {
    if (!(await world.schedule.step())) await world.schedule.skip();
  }
  expect(theMigration()).toMatchObject({
    metadata: { annotations: { theirs: 'x' } },
    status: { phase: 'Succeeded' },
  });
  const launchers = world.store.list<Pod>(PODS.kind, TENANT).filter(({ metadata }) => metadata.generateName);
  expect(launchers).toMatchObject([{ status: { phase: 'Running' } }]);
});

/** Seed 2071 of the simulation: the API server says so of a quota that was deleted during the pod's admission. */
test('virt-controller retries a target pod that the API server refuses with 404', async () => {
  const model = aBlockedTenant();
  const { store } = model;
  store.delete({ kind: RESOURCE_QUOTAS.kind, namespace: TENANT, name: 'quota' });
  await model.untilStable();
  const kubevirt = model.server.as('kubevirt');
  let tries = 0;
  const create: Cluster['create'] = (type, object) => {
    tries += 1;
    if (tries > 1) return kubevirt.create(type, object);
    const status = { code: 404, reason: 'NotFound', message: 'resourcequotas "quota" not found' };
    return Promise.reject(new ApiError('POST', status, new Date()));
  };
  const random = new Random(1);
  const schedule = new Schedule({
    time: new Time(),
    random,
    pacing: { suspendRate: 0, longDelayRate: 0, maxDelayMs: 0 },
  });
  startKubeVirt({
    store,
    cluster: {
      create,
      replace: (type, object, options) => kubevirt.replace(type, object, options),
      patch: (type, at, change) => kubevirt.patch(type, at, change),
    } as Cluster,
    schedule,
    random,
    targetRequests: LAUNCHER,
    writesEvents: false,
    isFailing: () => false,
  });
  await drained();
  const stepOnce = async (): Promise<boolean> =>
    (await schedule.step()) || (await schedule.skip(START + 10_000));
  while (await stepOnce());
  expect(tries).toBe(2);
  expect(store.list<Migration>(MIGRATIONS.kind, TENANT)).toMatchObject([{ status: { phase: 'Succeeded' } }]);
});
