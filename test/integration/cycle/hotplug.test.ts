import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Vmmrq } from '../../../functions/domain/objects.ts';
import { VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { expectAsBefore } from '../../support/as-before.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/test-environment.ts';
import { countedPods, newTenant, type Tenant, type TenantOptions } from '../../support/tenant.ts';

let environment: TestEnvironment;

/** Nothing but the guard's sweep tells that an attachment pod is refused: no condition does, and no event of the source. */
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

/** The launcher and its attachment pod, and the target: no room for a fourth. */
const THREE_PODS = { quota: { pods: '3' } };

/** What each lock of the namespace was for. */
const lockedFor = ({ history }: Tenant): (string | undefined)[] =>
  history.locks().flatMap(({ migrations }) => migrations.map(({ lacks }) => lacks));

test('a VM with hotplugged volumes: a lock for its target, and one of its own for the attachment pod (F36)', async () => {
  const tenant = await started({ name: 'both' });
  await tenant.untilThrough();
  expect(lockedFor(tenant)).toEqual([undefined, 'attachment']);
  await expectAsBefore(environment.admin, tenant);
});

test('the attachment pod alone finds no room: a lock for that', async () => {
  const tenant = await started({ name: 'alone', quotas: THREE_PODS, gives: { pods: '1' } });
  await tenant.untilThrough();
  expect(lockedFor(tenant)).toEqual(['attachment']);
  await expectAsBefore(environment.admin, tenant);
});

const notEnough = ({ history }: Tenant): string | undefined =>
  history
    .latest(VMMRQS)
    ?.status?.conditions?.find(({ type, status }) => type === 'NotEnough' && status === 'True')?.message;

test('the VMMRQ gives too little for it: nothing is locked, the amount is told; through once more is given (F36)', async () => {
  const tenant = await started({ name: 'little', quotas: THREE_PODS, gives: { 'requests.cpu': '1' } });
  const { history } = tenant;
  await history.until('the amount is told', () => notEnough(tenant) !== undefined);
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

test('there is room: nothing is locked', async () => {
  const tenant = await started({ name: 'roomy', quotas: { quota: { pods: '4' } } });
  await tenant.untilThrough();
  expect(tenant.history.locks()).toEqual([]);
});
