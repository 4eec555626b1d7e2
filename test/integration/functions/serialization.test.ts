import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { migrate } from '../../support/kubevirt/harness.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { unlimitMigrations } from '../../support/environment/limits.ts';
import { newTenant, headroomFor, type Tenant } from '../../support/tenant/tenant.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment();
  await unlimitMigrations(environment.admin);
});

afterAll(async () => {
  await environment.stop();
});

/** Migrates vm0, vm1, … with these priorities, in this order; all are refused before the first lock. */
async function allBlocked(tenant: Tenant, priorities: readonly string[]): Promise<void> {
  const lock = environment.hold(tenant.name, 'mtq-lock');
  for (const [vm, priority] of priorities.entries()) {
    const options = { namespace: tenant.name, name: `mig${vm}`, vmi: `vm${vm}` };
    await migrate(environment.admin, { ...options, ...(priority === '' ? {} : { priority }) });
    await tenant.untilBlocked(vm);
  }
  lock();
}

/** The migrations' names in each lock, in order. */
const windows = ({ history }: Tenant): string[][] =>
  history.locks().map(({ migrations }) => migrations.map(({ name }) => name));

const areThrough = (tenant: Tenant, vms: number): boolean =>
  Array.from({ length: vms }, (_, vm) => tenant.migration(vm)?.status?.phase === 'Succeeded').every(Boolean);

test('higher priorities go first, as many in one lock as fit together; the others follow in the next', async () => {
  // More VMs than `lock` reads one by one.
  const tenant = await newTenant(environment, { name: 'turns', vms: 5, gives: headroomFor(2) });
  await allBlocked(tenant, ['', 'system-maintenance', 'user-triggered', 'system-critical', '']);
  await tenant.history.until('all are through, and nothing is locked', (history) =>
    [areThrough(tenant, 5), !history.isLocked()].every(Boolean),
  );
  const [first, ...others] = windows(tenant);
  expect(first).toEqual(['mig3', 'mig2']);
  // They go together or one by one, as headroom returns, but always in order of priority.
  expect(others.flat()).toEqual(['mig1', 'mig0', 'mig4']);
  await expectAsBefore(environment.admin, tenant);
});
