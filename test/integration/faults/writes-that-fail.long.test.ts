import { afterAll, beforeAll, describe, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { SERVICE_ACCOUNT } from '../../../functions/domain/names.ts';
import { MIGRATIONS, RESOURCE_QUOTAS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { atOnce } from '../../support/at-once.ts';
import { expectQuiescent, expectInTime, untilOver } from '../../support/invariants/quiescent.ts';
import { casesOf, TWO_QUOTAS, type Case, type FaultCase } from '../../support/faults/fault-cases.ts';
import { startFaultyProxy, type FaultyProxy } from '../../support/faults/faulty-proxy.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { unlimitMigrations } from '../../support/environment/limits.ts';
import { Measured } from '../../support/measured.ts';
import { all, by, hasGrant, isLock, not } from '../../support/faults/our-writes.ts';
import { refuseTargets } from '../../support/tenant/refuse-targets.ts';
import { fullFor, newTenant, retire, type Tenant } from '../../support/tenant/tenant.ts';

/** Long enough for the nudge of a stalled raise, although a function that was killed takes seconds to start on a full machine. */
const LOCK_SECONDS = 10;
const ENV = {
  LOCK_SECONDS: String(LOCK_SECONDS),
  STALL_SECONDS: '1',
  SWEEP_SECONDS: '1',
  // On a slow machine a function that was killed takes a second to start; before the guard repairs, its write is to come.
  OVERDUE_SECONDS: '3',
};
/** More parallel cases would only wait for the two cores. */
const AT_ONCE = 4;
/** A kill may hit the write that another case waits for; that case then runs again. */
const TRIES = 4;
const TIMEOUT_MS = 8_000;

let environment: TestEnvironment;
let proxy: FaultyProxy;
const measured = new Measured('locked for', 'back after');

beforeAll(async () => {
  const kill = (account: string): void =>
    environment.cluster.eventing.activator.kill(account.replace('mtq-', ''), 'SIGKILL');
  proxy = await startFaultyProxy(kill);
  const reroute = (account: string, kubeconfig: string): string =>
    account === SERVICE_ACCOUNT.guard ? kubeconfig : proxy.reroute(account, kubeconfig);
  environment = await startTestEnvironment({ env: ENV, reroute });
  await unlimitMigrations(environment.admin);
});

afterAll(async () => {
  measured.print();
  await environment.stop();
  await proxy.stop();
});

const EVENTS = 'events';
const lowersQuota = by(SERVICE_ACCOUNT.lower, 'PUT', RESOURCE_QUOTAS.plural);

const cycle: FaultCase = {
  writes: {
    "lock's namespace": all(by(SERVICE_ACCOUNT.lock, 'PUT', 'namespaces'), isLock),
    "raise's quota": by(SERVICE_ACCOUNT.raise, 'PUT', RESOURCE_QUOTAS.plural),
    "lower's quota": lowersQuota,
    "unlock's namespace": by(SERVICE_ACCOUNT.unlock, 'PUT', 'namespaces'),
  },
  reports: {
    "lower's Events": by(SERVICE_ACCOUNT.lower, 'POST', EVENTS),
  },
  run: async (tenant) => {
    await tenant.migrate();
  },
};

const nothingToRaise: FaultCase = {
  writes: {
    "raise's namespace, the lock ended early": by(SERVICE_ACCOUNT.raise, 'PUT', 'namespaces'),
    "lower's quota, only fenced": all(lowersQuota, not(hasGrant)),
  },
  run: async (tenant) => {
    const go = environment.hold(tenant.name, 'mtq-raise');
    await tenant.migrate();
    await tenant.history.until('it is locked', (history) => history.isLocked());
    await environment.admin.delete(VMMRQS, { namespace: tenant.name, name: 'more' });
    go();
  },
};

const nothingComesOfIt: FaultCase = {
  writes: {
    "lower's nudge": by(SERVICE_ACCOUNT.lower, 'PATCH', MIGRATIONS.plural),
    "unlock's namespace, the attempt failed": by(SERVICE_ACCOUNT.unlock, 'PUT', 'namespaces'),
  },
  run: (tenant) => refuseTargets(environment, tenant),
};

/** Headroom appears while something else refuses the pod, so no raise is needed. */
const addHeadroom: FaultCase = {
  writes: { "feasibility's nudge": by(SERVICE_ACCOUNT.feasibility, 'PATCH', MIGRATIONS.plural) },
  run: async (tenant) => {
    const { name, history } = tenant;
    const go = environment.hold(name, 'mtq-lock');
    await refuseTargets(environment, tenant);
    for (const { metadata } of tenant.before.quotas) {
      const merge = { spec: { hard: fullFor(4) } };
      const edited = await environment.admin.patch(
        RESOURCE_QUOTAS,
        { namespace: name, name: metadata.name },
        { merge },
      );
      history.noteForeign(edited.object);
    }
    go();
  },
  locks: false,
};

const FAULT_CASES: Readonly<Record<string, FaultCase>> = {
  'a cycle': cycle,
  'a lock without a possible raise': nothingToRaise,
  'a raise without effect': nothingComesOfIt,
  'headroom that virt-controller does not see': addHeadroom,
};

let tenants = 0;
const nextTenant = (): Promise<Tenant> => {
  tenants += 1;
  return newTenant(environment, { name: `written-${tenants}`, quotas: TWO_QUOTAS });
};

/** Runs the case in its own namespace, and again in another one if a kill for another case came first. */
async function runCase(which: Case): Promise<Tenant> {
  for (let attempt = 1; attempt <= TRIES; attempt += 1) {
    const tenant = await nextTenant();
    const { faultCase, fault } = which;
    const injected = proxy.inject(fault(tenant.name));
    await faultCase.run(tenant);
    if (await isOver(which, tenant, injected)) return tenant;
  }
  throw new Error(`the fault struck in none of ${TRIES} namespaces`);
}

/** False: the case is over, and its fault was not injected. */
async function isOver(
  { name, faultCase }: Case,
  tenant: Tenant,
  injected: Promise<number>,
): Promise<boolean> {
  if (faultCase.locks !== false) await untilOver(tenant);
  const over = performance.now();
  // The injection may be reported a moment later.
  const at = await Promise.race([injected, sleep(TIMEOUT_MS, undefined, { ref: false })]);
  if (at === undefined) return false;
  if (faultCase.locks !== false) await untilOver(tenant);
  await expectQuiescent(environment.admin, tenant);
  measured.add(name, expectInTime(tenant, LOCK_SECONDS), Math.max(0, over - at) / 1_000);
  await retire(environment.admin, tenant);
  return true;
}

describe.each(Object.entries(FAULT_CASES))('%s', (_, faultCase) => {
  const cases = casesOf(faultCase);
  let runs: Map<string, Promise<Tenant>>;

  beforeAll(() => {
    runs = atOnce(AT_ONCE, new Map(cases.map((each) => [each.name, () => runCase(each)])));
  });

  test.each(cases)('$name', async ({ name }) => {
    await runs.get(name);
  });

  test('leaves every namespace quiescent', async () => {
    const tenants = await Promise.all(runs.values());
    await environment.cluster.eventing.broker.idle();
    for (const tenant of tenants) await expectQuiescent(environment.admin, tenant);
  });
});
