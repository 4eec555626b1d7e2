import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { expectQuiescent, expectInTime, untilOver } from '../../support/invariants/quiescent.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { EVERYTHING, droppedEvents, to, WHAT_ENDS_A_LOCK } from '../../support/faults/dropped-events.ts';
import { Measured } from '../../support/measured.ts';
import { countedPods, newTenant, type Tenant } from '../../support/tenant/tenant.ts';

const LOCK_SECONDS = 15;
const ENV = {
  LOCK_SECONDS: String(LOCK_SECONDS),
  SWEEP_SECONDS: '1',
  OVERDUE_SECONDS: '1',
};

let environment: TestEnvironment;
let dropped: ReturnType<typeof droppedEvents>;
const measured = new Measured('locked for');

beforeAll(async () => {
  environment = await startTestEnvironment({ env: ENV });
  dropped = droppedEvents(environment);
});

afterAll(async () => {
  measured.print();
  await environment.stop();
});

const stopSources = async (): Promise<void> => {
  await Promise.all(environment.cluster.eventing.sources.map((source) => source.stop()));
};
const startSources = async (): Promise<void> => {
  await Promise.all(environment.cluster.eventing.sources.map((source) => source.start()));
};

async function expectThrough(tenant: Tenant): Promise<void> {
  await tenant.untilThrough();
  measured.add(tenant.name, expectInTime(tenant, LOCK_SECONDS));
  await expectQuiescent(environment.admin, tenant);
}

test('the guard alone repairs locked and raised namespaces when sources, Broker and all functions are gone', async () => {
  const { activator, broker } = environment.cluster.eventing;
  const [locked, raised] = await Promise.all([
    newTenant(environment, { name: 'locked' }),
    newTenant(environment, { name: 'raised' }),
  ]);
  dropped.set(locked.name, to('mtq-raise', 'mtq-lower', 'mtq-unlock'));
  dropped.set(raised.name, WHAT_ENDS_A_LOCK);
  await Promise.all([locked.migrate(), raised.migrate()]);
  await Promise.all([
    locked.history.until('it is locked', (history) => history.isLocked()),
    raised.history.until('it is raised', (history) => wasRaised(history)),
  ]);

  await stopSources();
  for (const { name } of [locked, raised]) dropped.set(name, EVERYTHING);
  // A delivery in flight would start a new process.
  await broker.idle();
  for (const { service } of activator.running()) activator.kill(service, 'SIGKILL');
  for (const tenant of [locked, raised]) {
    await untilOver(tenant);
    measured.add(`all gone, ${tenant.name}`, expectInTime(tenant, LOCK_SECONDS));
    await expectQuiescent(environment.admin, tenant);
  }
  expect(activator.running()).toEqual([]);
  dropped.clear();
  await startSources();
});

test('the source restarts and misses that a migration is blocked', async () => {
  const tenant = await newTenant(environment, { name: 'blocked-in-the-gap' });
  await stopSources();
  await tenant.migrate();
  await tenant.untilBlocked();
  await startSources();
  await expectThrough(tenant);
});

test('the source restarts and misses that the target pod is admitted', async () => {
  const tenant = await newTenant(environment, { name: 'admitted-in-the-gap' });
  const go = environment.hold(tenant.name, 'mtq-raise');
  await tenant.migrate();
  await tenant.history.until('it is locked', (history) => history.isLocked());
  await stopSources();
  go();
  await tenant.history.until('the target pod is charged', () => countedPods(tenant) === '2');
  await startSources();
  await expectThrough(tenant);
});

test('a rolling update of the source in the middle of a cycle, so that two adapters send the same changes', async () => {
  const tenant = await newTenant(environment, { name: 'rolling' });
  const go = environment.hold(tenant.name, 'mtq-raise');
  await tenant.migrate();
  await tenant.history.until('it is locked', (history) => history.isLocked());
  const rolling = Promise.all(environment.cluster.eventing.sources.map((source) => source.roll()));
  go();
  await rolling;
  await expectThrough(tenant);
  expect(tenant.history.locks()).toHaveLength(1);
});
