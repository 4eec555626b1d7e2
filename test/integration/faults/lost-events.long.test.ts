import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EVENT, sourceOf } from '../../../functions/domain/names.ts';
import type { CloudEvent } from '../../cluster/eventing/cloudevent.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { expectInTime } from '../../support/invariants/quiescent.ts';
import { Measured } from '../../support/measured.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { EVERYTHING, droppedEvents, to, WHAT_ENDS_A_LOCK } from '../../support/faults/dropped-events.ts';
import { countedPods, newTenant, type Tenant } from '../../support/tenant/tenant.ts';

const LOCK_SECONDS = 15;
const ENV = {
  LOCK_SECONDS: String(LOCK_SECONDS),
  SWEEP_SECONDS: '1',
  OVERDUE_SECONDS: '1',
  // Long enough for the test to kill a function between the lock and the raise.
  SETTLE_MS: '300',
};

let environment: TestEnvironment;
const measured = new Measured('seconds');
let dropped: ReturnType<typeof droppedEvents>;
/** These two tenants wait for the end of their lock while the other tests run. */
let raised: Tenant;
let locked: Tenant;

beforeAll(async () => {
  environment = await startTestEnvironment({ env: ENV });
  dropped = droppedEvents(environment);
  [raised, locked] = await Promise.all([
    newTenant(environment, { name: 'nothing-after-raise' }),
    newTenant(environment, { name: 'nothing-after-lock' }),
  ]);
  dropped.set(raised.name, (delivery) => WHAT_ENDS_A_LOCK(delivery) || wasRaised(raised.history));
  const afterLock = to('mtq-raise', 'mtq-lower', 'mtq-unlock');
  // Prevents a second lock, in case the back-off ends before the test checks.
  dropped.set(locked.name, (delivery) => afterLock(delivery) || locked.history.locks().length > 0);
  await Promise.all([raised.migrate(), locked.migrate()]);
});

afterAll(async () => {
  measured.print();
  await environment.stop();
});

/** The guard looks at a lock 2 s after it has seen it, and then every 3 s (webhook/watchdog/watchdog.ts). */
const SAID_AGAIN_MS = 5_000;

/**
 * Checks that the lock ended within the bound of I3. The Broker loses here also what the guard says again, so only the end of the lock and
 * the guard's repair help.
 */
async function expectEndInTime(tenant: Tenant): Promise<void> {
  await tenant.untilUnlocked();
  measured.add(tenant.name, expectInTime(tenant, LOCK_SECONDS));
}

test('the Broker delivers no event for a while: the resync then finds the blocked migration', async () => {
  const tenant = await newTenant(environment, { name: 'nothing-at-all' });
  dropped.set(tenant.name, EVERYTHING);
  await tenant.migrate();
  await tenant.untilBlocked();
  await environment.hops.until('a resync is lost too', () =>
    environment.hops.items.some(
      ({ namespace, eventType }) => namespace === tenant.name && eventType === EVENT.resyncRequested,
    ),
  );
  expect(tenant.history.locks()).toEqual([]);
  dropped.delete(tenant.name);
  await tenant.untilThrough();
  await expectAsBefore(environment.admin, tenant);
});

test('namespace.unlocked is lost: the remaining migration still gets its lock', async () => {
  const tenant = await newTenant(environment, { name: 'unlocked-lost', vms: 2 });
  dropped.set(tenant.name, ({ event }) => event.attributes['type'] === EVENT.namespaceUnlocked);
  await Promise.all([tenant.migrate(0), tenant.migrate(1)]);
  await tenant.untilThrough(0, 1);
  await expectAsBefore(environment.admin, tenant);
});

/** For each station of a cycle: its Trigger, and the guard's events that lead on from it. The Broker loses all others on that way. */
const STATIONS: Readonly<Record<string, { trigger: string; saidAgain: readonly string[] }>> = {
  'locked and not raised': { trigger: 'mtq-raise', saidAgain: [EVENT.namespaceLocked] },
  'raised and not lowered': {
    trigger: 'mtq-lower',
    saidAgain: [EVENT.quotaRaised, EVENT.lockStalled, EVENT.migrationEnded],
  },
  'lowered and not unlocked': { trigger: 'mtq-unlock', saidAgain: [EVENT.quotaLowered] },
};

test.each(Object.entries(STATIONS))(
  'the event of a station is lost: the guard says it again within 5 s (%s)',
  async (station, { trigger, saidAgain }) => {
    const tenant = await newTenant(environment, { name: `lost-to-${trigger}` });
    const isSaidAgain = ({ attributes: { source, type = '' } }: CloudEvent): boolean =>
      source === sourceOf('guard') && saidAgain.includes(type);
    const isOfStation = to(trigger);
    dropped.set(tenant.name, (delivery) => isOfStation(delivery) && !isSaidAgain(delivery.event));
    await tenant.migrate();
    await tenant.untilThrough();

    const first = (isLost: boolean): number =>
      environment.hops.items.find(
        (hop) =>
          hop.namespace === tenant.name &&
          hop.trigger === trigger &&
          hop.eventType !== EVENT.quotaUntried &&
          (hop.outcome === 'lost') === isLost,
      )?.at ?? NaN;
    await environment.hops.until('it was said again', () => !Number.isNaN(first(false)));
    // By the Broker's own times: how long the test waits for them does not count.
    const ms = first(false) - first(true);
    expect(ms).toBeLessThanOrEqual(SAID_AGAIN_MS);
    measured.add(`${station}: said again after`, ms / 1_000);
    await expectAsBefore(environment.admin, tenant);
  },
);

test.each(['raise', 'lower', 'unlock'])(
  '%s is killed right after the lock, and again right after the raise (F2, F4, F5)',
  async (service) => {
    const tenant = await newTenant(environment, { name: `${service}-killed` });
    const { history } = tenant;
    await tenant.migrate();
    await history.until('it is locked', () => history.isLocked());
    environment.cluster.eventing.activator.kill(service, 'SIGKILL');
    await history.until('it is raised', () => wasRaised(history));
    environment.cluster.eventing.activator.kill(service, 'SIGKILL');
    await expectEndInTime(tenant);
    await tenant.untilThrough();
    await expectAsBefore(environment.admin, tenant);
  },
);

test('the Broker delivers nothing after the raise: the watchdog alone restores everything (F3)', async () => {
  await expectEndInTime(raised);
  expect(wasRaised(raised.history)).toBe(true);
  await raised.untilThrough();
  await expectAsBefore(environment.admin, raised);
});

test('the Broker delivers nothing after the lock: the watchdog unlocks, and no quota is raised (F1, F9)', async () => {
  await expectEndInTime(locked);
  expect(wasRaised(locked.history)).toBe(false);
  await expectAsBefore(environment.admin, locked, { failed: true });
});

test('the guard and the API server are gone for a moment while a quota is raised (F5)', async () => {
  const tenant = await newTenant(environment, { name: 'all-gone' });
  dropped.set(tenant.name, WHAT_ENDS_A_LOCK);
  await tenant.migrate();
  // The guard must review the target pod before it goes away, or the attempt would fail.
  await tenant.history.until('the target pod is charged', () => countedPods(tenant) === '2');
  // A duplicate delivery to `raise` must not find the guard gone, because `raise` would end the lock itself.
  await environment.cluster.eventing.broker.idle();
  await environment.cluster.killGuard();
  await environment.cluster.controlPlane.stopApiServer();
  await environment.cluster.controlPlane.startApiServer();
  await environment.cluster.startGuard();
  await expectEndInTime(tenant);
  await expectAsBefore(environment.admin, tenant);
});
