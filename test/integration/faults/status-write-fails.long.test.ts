import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SERVICE_ACCOUNT } from '../../../functions/domain/names.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { expectQuiescent, expectInTime, untilOver } from '../../support/invariants/quiescent.ts';
import { casesOf, TWO_QUOTAS } from '../../support/faults/fault-cases.ts';
import { startFaultyProxy, type FaultyProxy } from '../../support/faults/faulty-proxy.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { unlimitMigrations } from '../../support/environment/limits.ts';
import { Measured } from '../../support/measured.ts';
import { all, by, isStatus } from '../../support/faults/our-writes.ts';
import { countedPods, newTenant, type Tenant } from '../../support/tenant/tenant.ts';

/** Long enough to keep all namespaces raised at the same time, on a slow machine too. */
const LOCK_SECONDS = 30;

let environment: TestEnvironment;
let proxy: FaultyProxy;
const measured = new Measured('locked for', 'back after');
const tenants = new Map<string, { readonly tenant: Tenant; readonly injected: Promise<number> }>();

const cases = casesOf({
  writes: {
    "lower's status of the quota": all(by(SERVICE_ACCOUNT.lower, 'PUT', RESOURCE_QUOTAS.plural), isStatus),
  },
  run: async (tenant) => {
    await tenant.migrate();
    await tenant.history.until('the target pod is in', () => countedPods(tenant, 'cpu') === '2');
  },
});

/** The raise needs kube-controller-manager. Then it is paused, so that only `lower` can lower status.hard. */
beforeAll(async () => {
  const kill = (): void => environment.cluster.eventing.activator.kill('lower', 'SIGKILL');
  proxy = await startFaultyProxy(kill);
  const reroute = (account: string, kubeconfig: string): string =>
    account === SERVICE_ACCOUNT.lower ? proxy.reroute(account, kubeconfig) : kubeconfig;
  environment = await startTestEnvironment({
    env: { LOCK_SECONDS: String(LOCK_SECONDS), STALL_SECONDS: '30' },
    reroute,
  });
  await unlimitMigrations(environment.admin);
  const holds = await Promise.all(
    cases.map(async ({ name, fault }, index) => {
      const tenant = await newTenant(environment, { name: `lowered-${index}`, quotas: TWO_QUOTAS });
      tenants.set(name, { tenant, injected: proxy.inject(fault(tenant.name)) });
      return environment.hold(tenant.name, 'mtq-lower');
    }),
  );
  await Promise.all(
    cases.map(async ({ name, faultCase }) => {
      const { tenant } = tenants.get(name) ?? {};
      if (tenant !== undefined) await faultCase.run(tenant);
    }),
  );
  await environment.cluster.controlPlane.pauseControllerManager();
  for (const go of holds) go();
});

afterAll(async () => {
  measured.print();
  await environment.stop();
  await proxy.stop();
});

test.each(cases)('kube-controller-manager is paused; $name', async ({ name }) => {
  const { tenant, injected } = tenants.get(name) ?? {};
  if (tenant === undefined || injected === undefined) throw new Error(`no tenant for ${name}`);
  const at = await injected;
  await untilOver(tenant);
  measured.add(name, expectInTime(tenant, LOCK_SECONDS), (performance.now() - at) / 1_000);
  await expectQuiescent(environment.admin, tenant);
  expect(tenant.isThrough()).toBe(true);
});
