import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { targetPodOf } from '../../../functions/domain/migration.ts';
import { REASON } from '../../../functions/domain/names.ts';
import { parseQuantity } from '../../../functions/domain/quantity.ts';
import { PODS, RESOURCE_QUOTAS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { FULL_VMIS, newReceiver } from '../../cluster/kubevirt/objects/objects.ts';
import { migrate } from '../../support/kubevirt/harness.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import type { History } from '../../support/tenant/history.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { fullFor, newTenant, headroomFor, type Tenant } from '../../support/tenant/tenant.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment();
});

afterAll(async () => {
  await environment.stop();
});

/** vm0 still runs in another cluster, and mig0 brings it to this one, where the quota refuses its pod. */
async function receiving(name: string): Promise<Tenant> {
  const tenant = await newTenant(environment, {
    name,
    vms: 0,
    quotas: { quota: fullFor(0) },
    gives: headroomFor(1),
  });
  const vm = { namespace: name, name: 'vm0' };
  await environment.admin.create(FULL_VMIS, newReceiver(vm));
  await migrate(environment.admin, { namespace: name, name: 'mig0', vmi: 'vm0', receives: 'from-elsewhere' });
  await tenant.untilBlocked();
  return tenant;
}

const hasReason = (history: History): boolean =>
  (history.latest(VMMRQS)?.status?.conditions ?? []).some(
    ({ type, status, reason }) =>
      type === 'Blocking' && status === 'True' && reason === REASON.receiveNotAllowed,
  );

test('a VM from another cluster gets a raise only once the VMMRQ allows it to stay', async () => {
  const tenant = await receiving('receiving');
  const { history, name } = tenant;
  await history.until('the VMMRQ says why it waits', hasReason);
  expect(history.locks()).toEqual([]);

  const merge = { spec: { allowReceive: true, raisePolicy: 'Exact' } };
  await environment.admin.patch(VMMRQS, { namespace: name, name: 'more' }, { merge });
  await tenant.untilUnlocked();
  const migration = tenant.migration();
  const uid = migration?.metadata.uid ?? '';
  await history.until(
    'its pod is there',
    () => targetPodOf({ name: '', uid }, history.of(PODS)) !== undefined,
  );
  expect(history.locks()).toHaveLength(1);
  await expectAsBefore(environment.admin, tenant);

  // The pod stays and is charged, so the quota ends up full and further pods wait.
  const { object } = await environment.admin.get(RESOURCE_QUOTAS, { namespace: name, name: 'quota' });
  const { hard = {}, used = {} } = object.status ?? {};
  expect(parseQuantity(used['requests.cpu'] ?? '0')).toBe(parseQuantity('1005m'));
  expect(parseQuantity(hard['requests.cpu'] ?? '0')).toBe(parseQuantity('400m'));
});
