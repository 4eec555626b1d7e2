import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { expectAtRest, expectInTime, untilOver } from '../../support/at-rest.ts';
import { wasRaised } from '../../support/invariants.ts';
import { startLab, type Lab } from '../../support/lab.ts';
import { EVERYTHING, losses, to, WHAT_ENDS_A_LOCK } from '../../support/losses.ts';
import { Measured } from '../../support/measured.ts';
import { countedPods, newTenant, type Tenant } from '../../support/tenant.ts';

const LOCK_SECONDS = 8;
const ENV = {
  LOCK_SECONDS: String(LOCK_SECONDS),
  SWEEP_SECONDS: '1',
  OVERDUE_SECONDS: '1',
};

let lab: Lab;
let lost: ReturnType<typeof losses>;
const measured = new Measured('locked for');

beforeAll(async () => {
  lab = await startLab({ env: ENV });
  lost = losses(lab);
});

afterAll(async () => {
  measured.print();
  await lab.stop();
});

const stopSources = async (): Promise<void> => {
  await Promise.all(lab.cluster.eventing.sources.map((source) => source.stop()));
};
const startSources = async (): Promise<void> => {
  await Promise.all(lab.cluster.eventing.sources.map((source) => source.start()));
};

async function expectThrough(tenant: Tenant): Promise<void> {
  await tenant.untilThrough();
  measured.add(tenant.name, expectInTime(tenant, LOCK_SECONDS));
  await expectAtRest(lab.admin, tenant);
}

test('sources, Broker and every function are gone while namespaces are locked and raised: the guard is enough', async () => {
  const { activator, broker } = lab.cluster.eventing;
  const [locked, raised] = await Promise.all([
    newTenant(lab, { name: 'locked' }),
    newTenant(lab, { name: 'raised' }),
  ]);
  lost.set(locked.name, to('mtq-raise', 'mtq-lower', 'mtq-unlock'));
  lost.set(raised.name, WHAT_ENDS_A_LOCK);
  await Promise.all([locked.migrate(), raised.migrate()]);
  await Promise.all([
    locked.history.until('it is locked', (history) => history.isLocked()),
    raised.history.until('it is raised', (history) => wasRaised(history)),
  ]);

  await stopSources();
  for (const { name } of [locked, raised]) lost.set(name, EVERYTHING);
  // A delivery under way would start a process anew.
  await broker.idle();
  for (const { service } of activator.running()) activator.kill(service, 'SIGKILL');
  for (const tenant of [locked, raised]) {
    await untilOver(tenant);
    measured.add(`all gone, ${tenant.name}`, expectInTime(tenant, LOCK_SECONDS));
    await expectAtRest(lab.admin, tenant);
  }
  expect(activator.running()).toEqual([]);
  lost.clear();
  await startSources();
});

test('the source restarts, and never hears that a migration is blocked', async () => {
  const tenant = await newTenant(lab, { name: 'blocked-in-the-gap' });
  await stopSources();
  await tenant.migrate();
  await tenant.untilBlocked();
  await startSources();
  await expectThrough(tenant);
});

test('the source restarts, and never hears that the target pod is in', async () => {
  const tenant = await newTenant(lab, { name: 'admitted-in-the-gap' });
  const go = lab.hold(tenant.name, 'mtq-raise');
  await tenant.migrate();
  await tenant.history.until('it is locked', (history) => history.isLocked());
  await stopSources();
  go();
  await tenant.history.until('the target pod is charged', () => countedPods(tenant) === '2');
  await startSources();
  await expectThrough(tenant);
});

test('the source rolls in the middle: two of them see the same changes', async () => {
  const tenant = await newTenant(lab, { name: 'rolling' });
  const go = lab.hold(tenant.name, 'mtq-raise');
  await tenant.migrate();
  await tenant.history.until('it is locked', (history) => history.isLocked());
  const rolling = Promise.all(lab.cluster.eventing.sources.map((source) => source.roll()));
  go();
  await rolling;
  await expectThrough(tenant);
  expect(tenant.history.locks()).toHaveLength(1);
});
