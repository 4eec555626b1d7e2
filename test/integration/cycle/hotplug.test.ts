import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Vmmrq } from '../../../functions/domain/objects.ts';
import { VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { countedPods, newTenant, type Tenant, type TenantOptions } from '../../support/tenant/tenant.ts';
import type { ForeignText } from '../../../functions/domain/foreign-text.ts';

let environment: TestEnvironment;

/** Only the guard's resync finds a refused attachment pod: KubeVirt sets no condition, and the source sends no event. */
beforeAll(async () => {
  environment = await startTestEnvironment({ env: { SWEEP_SECONDS: '2' } });
});

afterAll(async () => {
  await environment.stop();
});

const started = async (options: Omit<TenantOptions, 'hotplug'>): Promise<Tenant> => {
  const tenant = await newTenant(environment, { ...options, hotplug: ['data'] });
  await tenant.migrate();
  return tenant;
};

/** Admits the launcher, its attachment pod and the target, but no fourth pod. */
const THREE_PODS = { quota: { pods: '3' } };

/** What the migrations of each lock lacked. */
const lockedFor = ({ history }: Tenant): (string | undefined)[] =>
  history.locks().flatMap(({ migrations }) => migrations.map(({ lacks }) => lacks));

test('a VM with hotplugged volumes gets one lock for its target, and another for the attachment pod (F36)', async () => {
  const tenant = await started({ name: 'both' });
  await tenant.untilThrough();
  expect(lockedFor(tenant)).toEqual([undefined, 'attachment']);
  await expectAsBefore(environment.admin, tenant);
});

test('an attachment pod without headroom gets its own lock', async () => {
  const tenant = await started({ name: 'alone', quotas: THREE_PODS, gives: { pods: '1' } });
  await tenant.untilThrough();
  expect(lockedFor(tenant)).toEqual(['attachment']);
  await expectAsBefore(environment.admin, tenant);
});

const notEnough = ({ history }: Tenant): ForeignText | undefined =>
  history
    .latest(VMMRQS)
    ?.status?.conditions?.find(({ type, status }) => type === 'NotEnough' && status === 'True')?.message;

test('a VMMRQ that gives too little for it: no lock, a reported shortfall, and success once it gives more (F36)', async () => {
  const tenant = await started({ name: 'little', quotas: THREE_PODS, gives: { 'requests.cpu': '1' } });
  const { history } = tenant;
  await history.until('the amount is reported', () => notEnough(tenant) !== undefined);
  expect(notEnough(tenant)).toContain('hotplugged volumes');
  expect(notEnough(tenant)).toContain('pods=1');
  expect(countedPods(tenant)).toBe('3');
  expect(history.locks()).toEqual([]);

  const merge = { spec: { additionalMigrationResources: { pods: '1' } } };
  await environment.admin.patch<Vmmrq>(VMMRQS, { namespace: tenant.name, name: 'more' }, { merge });
  await tenant.untilThrough();
  expect(lockedFor(tenant)).toEqual(['attachment']);
  await history.until('the status says that it is enough', () => notEnough(tenant) === undefined);
  await expectAsBefore(environment.admin, tenant);
});

test('with enough headroom no lock is set', async () => {
  const tenant = await started({ name: 'roomy', quotas: { quota: { pods: '4' } } });
  await tenant.untilThrough();
  expect(tenant.history.locks()).toEqual([]);
});
