import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { REASON, SERVICE_ACCOUNT } from '../../../functions/domain/names.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { startFaultyProxy, type FaultyProxy } from '../../support/faults/faulty-proxy.ts';
import { all, by, isIn, isLock } from '../../support/faults/our-writes.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { sharedTotal, type SharedTotal } from '../../support/tenant/total.ts';

let environment: TestEnvironment;
let proxy: FaultyProxy;
let total: SharedTotal;

beforeAll(async () => {
  proxy = await startFaultyProxy((account) =>
    environment.cluster.eventing.activator.kill(account.replace('mtq-', ''), 'SIGKILL'),
  );
  environment = await startTestEnvironment({
    env: { LOCK_SECONDS: '15', OVERDUE_SECONDS: '1', SWEEP_SECONDS: '1' },
    reroute: (account, kubeconfig) =>
      account === SERVICE_ACCOUNT.lock ? proxy.reroute(account, kubeconfig) : kubeconfig,
  });
  total = sharedTotal(environment);
});

/** It belongs to all tests that share the cluster. */
afterEach(() => total.remove());

afterAll(async () => {
  await environment.stop();
  await proxy.stop();
});

describe('a reservation', () => {
  test('of a lock that was never set, because the function died, ends with that lock’s time', async () => {
    const tenant = await total.poorTenant('total-crash');
    await total.share({ 'requests.cpu': '1' }, tenant);
    const isLockOf = all(by(SERVICE_ACCOUNT.lock, 'PUT', 'namespaces'), isLock, isIn(tenant.name));
    const died = proxy.inject({ hits: isLockOf, when: 'before', proxyFault: 'kill' });
    await tenant.migrate();
    await died;
    expect(tenant.history.locks()).toEqual([]);
    expect(await total.reserved()).toEqual([
      expect.objectContaining({
        namespace: tenant.name,
        quota: 'quota',
        amounts: { 'requests.cpu': '604m' },
      }),
    ]);
    await tenant.untilThrough();
    await total.untilFree();
    await expectAsBefore(environment.admin, tenant);
  });

  test('that is gone prevents the raise', async () => {
    const tenant = await total.poorTenant('total-wiped');
    await total.share({ 'requests.cpu': '1' }, tenant);
    const go = environment.hold(tenant.name, 'mtq-raise');
    await tenant.migrate();
    await tenant.history.until('it is locked', () => tenant.history.isLocked());
    await total.patchReserved(null);
    go();
    await tenant.untilUnlocked();
    const { object } = await environment.admin.get(NAMESPACES, { name: tenant.name });
    expect(JSON.stringify(object.metadata.annotations)).toContain(REASON.totalReached);
    await tenant.untilThrough();
    await expectAsBefore(environment.admin, tenant, { failed: true });
  });
});
