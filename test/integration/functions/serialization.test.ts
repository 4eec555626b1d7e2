import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { migrate } from '../../support/kubevirt/rig.ts';
import { expectAsBefore } from '../../support/as-before.ts';
import { startLab, type Lab } from '../../support/lab.ts';
import { unlimitMigrations } from '../../support/limits.ts';
import { newTenant, headroomFor, type Tenant } from '../../support/tenant.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await startLab();
  await unlimitMigrations(lab.admin);
});

afterAll(async () => {
  await lab.stop();
});

/** Migrates vm0, vm1, … of these priorities, in this order, all of them refused before anything is locked. */
async function allBlocked(tenant: Tenant, priorities: readonly string[]): Promise<void> {
  const lock = lab.hold(tenant.name, 'mtq-lock');
  for (const [vm, priority] of priorities.entries()) {
    const wish = { namespace: tenant.name, name: `mig${vm}`, vmi: `vm${vm}` };
    await migrate(lab.admin, { ...wish, ...(priority === '' ? {} : { priority }) });
    await tenant.untilBlocked(vm);
  }
  lock();
}

/** The names of the migrations of each lock, in its order. */
const windows = ({ history }: Tenant): string[][] =>
  history.locks().map(({ migrations }) => migrations.map(({ name }) => name));

const areThrough = (tenant: Tenant, vms: number): boolean =>
  Array.from({ length: vms }, (_, vm) => tenant.migration(vm)?.status?.phase === 'Succeeded').every(Boolean);

test('the more important go first, as many in one window as fit together; the others in the next', async () => {
  const tenant = await newTenant(lab, { name: 'turns', vms: 4, gives: headroomFor(2) });
  await allBlocked(tenant, ['', 'system-maintenance', 'user-triggered', 'system-critical']);
  await tenant.history.until('all are through, and nothing is locked', (history) =>
    [areThrough(tenant, 4), !history.isLocked()].every(Boolean),
  );
  const [first, ...others] = windows(tenant);
  expect(first).toEqual(['mig3', 'mig2']);
  // Together or one by one, as their room comes back; never out of turn.
  expect(others.flat()).toEqual(['mig1', 'mig0']);
  await expectAsBefore(lab.admin, tenant);
});
