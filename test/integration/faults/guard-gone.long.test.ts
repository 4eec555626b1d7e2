import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { REPAIR_MS } from '../../../functions/domain/verdict/attempt.ts';
import { SERVICE_ACCOUNT } from '../../../functions/domain/names.ts';
import { MIGRATIONS, NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { expectQuiescent, expectInTime, untilOver } from '../../support/invariants/quiescent.ts';
import { askUntil } from '../../support/eventually.ts';
import { startFaultyProxy, type FaultyProxy } from '../../support/faults/faulty-proxy.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { WITH_WEBHOOKS } from '../../support/environment/admission-mode.ts';
import { unlimitMigrations } from '../../support/environment/limits.ts';
import { EVERYTHING, droppedEvents, to, WHAT_ENDS_A_LOCK } from '../../support/faults/dropped-events.ts';
import { Measured } from '../../support/measured.ts';
import { all, by, isIn, isLock, not, type Hits } from '../../support/faults/our-writes.ts';
import { refuseTargets } from '../../support/tenant/refuse-targets.ts';
import { newTenant, type Tenant } from '../../support/tenant/tenant.ts';

/** Long enough to raise six namespaces and prepare their faults before the first lock expires. */
const LOCK_SECONDS = 15;
const ENV = {
  LOCK_SECONDS: String(LOCK_SECONDS),
  STALL_SECONDS: '1',
  SWEEP_SECONDS: '1',
  OVERDUE_SECONDS: '1',
};
/** I3: counted from the return of a guard, when none ran before. */
const LIMIT_MS = LOCK_SECONDS * 1_000 + REPAIR_MS;

let environment: TestEnvironment;
let proxy: FaultyProxy;
let dropped: ReturnType<typeof droppedEvents>;
const measured = new Measured('locked for', 'after its return');

beforeAll(async () => {
  proxy = await startFaultyProxy(() => environment.cluster.guard().signal('SIGKILL'));
  const reroute = (account: string, kubeconfig: string): string =>
    account === SERVICE_ACCOUNT.guard ? proxy.reroute(account, kubeconfig) : kubeconfig;
  // Without a guard the proof fails in these modes; the policies alone need no guard (policies/no-proof.long.test.ts).
  environment = await startTestEnvironment({ admissionMode: WITH_WEBHOOKS, env: ENV, reroute });
  dropped = droppedEvents(environment);
  await unlimitMigrations(environment.admin);
});

afterAll(async () => {
  measured.print();
  await environment.stop();
  await proxy.stop();
});

/** Locked, and no step gets the event. */
async function lockedOnly(name: string): Promise<Tenant> {
  const tenant = await newTenant(environment, { name });
  dropped.set(name, to('mtq-raise', 'mtq-lower', 'mtq-unlock'));
  await tenant.migrate();
  await tenant.history.until('it is locked', (history) => history.isLocked());
  return tenant;
}

/** Raised, and no step gets the next events. */
async function raisedOnly(name: string): Promise<Tenant> {
  const tenant = await newTenant(environment, { name });
  dropped.set(name, WHAT_ENDS_A_LOCK);
  await tenant.migrate();
  await tenant.history.until('it is raised', () => wasRaised(tenant.history));
  return tenant;
}

describe('killed, and back only after every lock has expired', () => {
  let locked: Tenant;
  let raised: Tenant;
  let stillHeld: boolean[];
  let backAt: number;

  beforeAll(async () => {
    [locked, raised] = await Promise.all([lockedOnly('long-locked'), raisedOnly('long-raised')]);
    for (const { name } of [locked, raised]) dropped.set(name, EVERYTHING);
    await environment.cluster.killGuard();
    const ends = [locked, raised].map(({ history }) => Date.parse(history.locks()[0]?.expiresAt ?? ''));
    await askUntil(
      "both are past their time by the API server's clock",
      async () => (await environment.admin.get(NAMESPACES, { name: 'default' })).date.getTime(),
      (now) => now > Math.max(...ends),
    );
    stillHeld = [locked, raised].map(({ history }) => history.isLocked());
    backAt = Date.now();
    await environment.cluster.startGuard();
  });

  test.each(['long-locked', 'long-raised'])('%s', async (name) => {
    const tenant = name === 'long-locked' ? locked : raised;
    await untilOver(tenant);
    const [{ from, until = Infinity } = { from: 0 }] = tenant.history.lockedPeriods();
    measured.add(name, (until - from) / 1_000, (until - backAt) / 1_000);
    expect(stillHeld).toEqual([true, true]);
    expect(until - backAt).toBeLessThan(LIMIT_MS);
    await expectQuiescent(environment.admin, tenant);
  });
});

describe('killed in the middle of a cycle: the functions continue without it', () => {
  test('while locked: no raise, and the namespace is unlocked before the guard returns', async () => {
    const tenant = await newTenant(environment, { name: 'no-guard-locked' });
    const go = environment.hold(tenant.name, 'mtq-raise');
    await tenant.migrate();
    await tenant.history.until('it is locked', (history) => history.isLocked());
    await environment.cluster.killGuard();
    go();
    await untilOver(tenant);
    await environment.cluster.startGuard();
    measured.add(tenant.name, expectInTime(tenant, LOCK_SECONDS), 0);
    await expectQuiescent(environment.admin, tenant);
  });

  test('while raised, with the migration cancelled: lowered and unlocked before the guard returns', async () => {
    const tenant = await newTenant(environment, { name: 'no-guard-raised' });
    await refuseTargets(environment, tenant);
    await tenant.history.until('it is raised', () => wasRaised(tenant.history));
    await environment.cluster.killGuard();
    await environment.admin.delete(MIGRATIONS, { namespace: tenant.name, name: 'mig0' });
    await untilOver(tenant);
    await environment.cluster.startGuard();
    measured.add(tenant.name, expectInTime(tenant, LOCK_SECONDS), 0);
    await expectQuiescent(environment.admin, tenant);
  });
});

describe('killed by its own repair, before or after each of its writes', () => {
  const putsQuota = by(SERVICE_ACCOUNT.guard, 'PUT', RESOURCE_QUOTAS.plural);
  const WRITES: Readonly<Record<string, Hits>> = {
    'the quota, lowered': putsQuota,
    'the namespace, unlocked': all(by(SERVICE_ACCOUNT.guard, 'PUT', NAMESPACES.plural), not(isLock)),
  };
  const cases = (['before', 'after'] as const).flatMap((when) =>
    Object.entries(WRITES).map(([write, hits], index) => ({
      when,
      write,
      hits,
      name: `repair-${when}-${String(index)}`,
    })),
  );
  const over = new Map<string, Promise<void>>();
  /** The start times of the guard, milliseconds since 1970. */
  const startedAt: number[] = [];
  const done = Promise.withResolvers<undefined>();
  let keeping: Promise<void>;

  /** Restarts the guard as the kubelet does. */
  async function keepRunning(): Promise<void> {
    while ((await Promise.race([environment.cluster.guard().ended, done.promise])) !== undefined) {
      startedAt.push(Date.now());
      // The guard repairs immediately, so a fault may kill it again before it is ready.
      await environment.cluster.startGuard().catch(() => undefined);
    }
  }

  async function run(name: string, tenant: Tenant, injected: Promise<number>): Promise<void> {
    await untilOver(tenant);
    // The history may see the write before the fault has killed the guard; the case ends only after the kill.
    const injectedAt = await injected;
    const [{ from, until = Infinity } = { from: 0 }] = tenant.history.lockedPeriods();
    measured.add(name, (until - from) / 1_000, (performance.now() - injectedAt) / 1_000);
    // While the guard keeps dying, none counts as running: the limit starts at its last return if the lock had expired by then.
    const isDue = from + LOCK_SECONDS * 1_000;
    expect(until - Math.max(isDue, ...startedAt.filter((at) => at < until))).toBeLessThan(LIMIT_MS);
    await expectQuiescent(environment.admin, tenant);
  }

  beforeAll(async () => {
    const tenants = await Promise.all(cases.map(({ name }) => raisedOnly(name)));
    for (const [index, { name, hits, when }] of cases.entries()) {
      const tenant = tenants[index];
      if (tenant === undefined) continue;
      const fault = { hits: all(isIn(name), hits), when, proxyFault: 'kill' } as const;
      over.set(name, run(name, tenant, proxy.inject(fault)));
      expect([name, tenant.history.isLocked()]).toEqual([name, true]);
    }
    for (const promise of over.values()) promise.catch(() => undefined);
    keeping = keepRunning();
  });

  test.each(cases)('$when: $write', async ({ name }) => {
    await over.get(name);
  });

  test('the guard runs afterwards', async () => {
    await Promise.allSettled(over.values());
    const tenant = await newTenant(environment, { name: 'afterwards' });
    await tenant.migrate();
    await tenant.untilThrough();
    await expectQuiescent(environment.admin, tenant);
  });

  afterAll(async () => {
    done.resolve(undefined);
    await keeping;
  });
});
