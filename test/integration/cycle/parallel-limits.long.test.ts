import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { FULL_KUBEVIRTS, newKubeVirt } from '../../cluster/kubevirt/objects/objects.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { refuseTargets } from '../../support/tenant/refuse-targets.ts';
import { newTenant } from '../../support/tenant/tenant.ts';

let environment: TestEnvironment;

/** A migration runs until it is cancelled, and no resync runs during the test. */
beforeAll(async () => {
  environment = await startTestEnvironment({
    timings: { migrationMs: 3_600_000 },
    env: { SWEEP_SECONDS: '3600', STALL_SECONDS: '4' },
  });
  await environment.admin.create(FULL_KUBEVIRTS, newKubeVirt({ parallelMigrationsPerCluster: 1 }));
});

afterAll(async () => {
  await environment.stop();
});

test('a locked migration without success holds its slot until the lock ends, which starts the next one at once', async () => {
  const withoutSlot = await newTenant(environment, { name: 'limit-vain' });
  const next = await newTenant(environment, { name: 'limit-next' });
  await refuseTargets(environment, withoutSlot);
  await withoutSlot.history.until('it is locked', (history) => history.isLocked());

  await next.migrate();
  const { history } = next;
  await next.untilBlocked();
  await environment.cluster.eventing.broker.idle();
  expect(history.locks()).toEqual([]);
  expect(withoutSlot.history.isLocked()).toBe(true);

  await next.untilUnlocked();
  await history.until('it runs', () => next.migration()?.status?.phase === 'Running');
  expect(history.locks()).toHaveLength(1);
  await expectAsBefore(environment.admin, next);
});
