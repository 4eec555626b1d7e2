import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EVENT } from '../../../functions/domain/names.ts';
import { expectAsBefore } from '../../support/as-before.ts';
import { expectInTime } from '../../support/at-rest.ts';
import { Measured } from '../../support/measured.ts';
import { wasRaised } from '../../support/invariants.ts';
import { startLab, type Lab } from '../../support/lab.ts';
import { EVERYTHING, losses, to, WHAT_ENDS_A_LOCK } from '../../support/losses.ts';
import { countedPods, newTenant, type Tenant } from '../../support/tenant.ts';

const LOCK_SECONDS = 10;
const ENV = {
  LOCK_SECONDS: String(LOCK_SECONDS),
  SWEEP_SECONDS: '1',
  OVERDUE_SECONDS: '1',
  // Long enough to kill a function between the lock and the raise.
  SETTLE_MS: '300',
};

let lab: Lab;
const measured = new Measured('locked for');
let lost: ReturnType<typeof losses>;
/** These two wait for the end of their lock: the other tests go on meanwhile. */
let raised: Tenant;
let locked: Tenant;

beforeAll(async () => {
  lab = await startLab({ env: ENV });
  lost = losses(lab);
  [raised, locked] = await Promise.all([
    newTenant(lab, { name: 'nothing-after-raise' }),
    newTenant(lab, { name: 'nothing-after-lock' }),
  ]);
  lost.set(raised.name, (delivery) => WHAT_ENDS_A_LOCK(delivery) || wasRaised(raised.history));
  const afterLock = to('mtq-raise', 'mtq-lower', 'mtq-unlock');
  // Nor is it locked once more, when its back-off is over before somebody looks at it.
  lost.set(locked.name, (delivery) => afterLock(delivery) || locked.history.locks().length > 0);
  await Promise.all([raised.migrate(), locked.migrate()]);
});

afterAll(async () => {
  measured.print();
  await lab.stop();
});

/** How long the namespace was locked; within the bound of I3. */
async function expectEndInTime(tenant: Tenant): Promise<void> {
  await tenant.untilUnlocked();
  measured.add(tenant.name, expectInTime(tenant, LOCK_SECONDS));
}

test('nothing is delivered at all, and then again: the sweep finds what was missed', async () => {
  const tenant = await newTenant(lab, { name: 'nothing-at-all' });
  lost.set(tenant.name, EVERYTHING);
  await tenant.migrate();
  await tenant.untilBlocked();
  await lab.hops.until('a sweep is lost too', () =>
    lab.hops.items.some(
      ({ namespace, eventType }) => namespace === tenant.name && eventType === EVENT.sweepRequested,
    ),
  );
  expect(tenant.history.locks()).toEqual([]);
  lost.delete(tenant.name);
  await tenant.untilThrough();
  await expectAsBefore(lab.admin, tenant);
});

test('namespace.unlocked is lost: whoever is left is found all the same', async () => {
  const tenant = await newTenant(lab, { name: 'unlocked-lost', vms: 2 });
  lost.set(tenant.name, ({ event }) => event.attributes['type'] === EVENT.namespaceUnlocked);
  await Promise.all([tenant.migrate(0), tenant.migrate(1)]);
  await tenant.untilThrough(0, 1);
  await expectAsBefore(lab.admin, tenant);
});

test.each(['raise', 'lower', 'unlock'])(
  '%s is killed right after the lock, and again right after the raise (F2, F4, F5)',
  async (service) => {
    const tenant = await newTenant(lab, { name: `${service}-killed` });
    const { history } = tenant;
    await tenant.migrate();
    await history.until('it is locked', () => history.isLocked());
    lab.cluster.eventing.activator.kill(service, 'SIGKILL');
    await history.until('it is raised', () => wasRaised(history));
    lab.cluster.eventing.activator.kill(service, 'SIGKILL');
    await expectEndInTime(tenant);
    await tenant.untilThrough();
    await expectAsBefore(lab.admin, tenant);
  },
);

test('the Broker delivers nothing after the raise: the watchdog alone puts everything back (F3)', async () => {
  await expectEndInTime(raised);
  expect(wasRaised(raised.history)).toBe(true);
  await raised.untilThrough();
  await expectAsBefore(lab.admin, raised);
});

test('the Broker delivers nothing after the lock: unlocked, and never raised (F1, F9)', async () => {
  await expectEndInTime(locked);
  expect(wasRaised(locked.history)).toBe(false);
  await expectAsBefore(lab.admin, locked, { failed: true });
});

test('the guard and the API server are gone for a moment while a quota is raised (F5)', async () => {
  const tenant = await newTenant(lab, { name: 'all-gone' });
  lost.set(tenant.name, WHAT_ENDS_A_LOCK);
  await tenant.migrate();
  // In while somebody is there to be asked: or else the attempt would count as failed.
  await tenant.history.until('the target pod is charged', () => countedPods(tenant) === '2');
  // A raise that comes twice must not find the guard gone: it would end the lock itself.
  await lab.cluster.eventing.broker.idle();
  await lab.cluster.killGuard();
  await lab.cluster.controlPlane.stopApiServer();
  await lab.cluster.controlPlane.startApiServer();
  await lab.cluster.startGuard();
  await expectEndInTime(tenant);
  await expectAsBefore(lab.admin, tenant);
});
