import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LABEL } from '../../../functions/domain/names.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { fullFor, headroomFor, newTenant, type Tenant } from '../../support/tenant/tenant.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment();
});

afterAll(async () => {
  await environment.stop();
});

const through = (tenant: Tenant): Promise<void> =>
  tenant.history.until('the migration is through', () => tenant.migration()?.status?.phase === 'Succeeded');

test('50 quotas of 200 keys, half of them unknown to the cluster: raises only the full one', async () => {
  const many = (index: number): Record<string, string> => {
    const devices = Array.from({ length: 100 }, (_, key) => `requests.example.com/device-${String(key)}`);
    const things = Array.from({ length: 100 }, (_, key) => `count/things-${String(key)}.example.com`);
    return Object.fromEntries([...devices, ...things].map((key) => [key, String(index)]));
  };
  const rest = Array.from({ length: 49 }, (_, index) => [`many-${String(index)}`, many(index)] as const);
  const quotas = { quota: fullFor(1), ...Object.fromEntries(rest) };
  const tenant = await newTenant(environment, { name: 'many-quotas', quotas });
  await tenant.migrate();
  await tenant.untilUnlocked();
  await through(tenant);
  const raised = tenant.history
    .of(RESOURCE_QUOTAS)
    .filter(({ metadata }) => metadata.labels?.[LABEL.raised] !== undefined)
    .map(({ metadata }) => metadata.name);
  expect(new Set(raised)).toEqual(new Set(['quota']));
  await expectAsBefore(environment.admin, tenant);
});

test('a quota without some given keys: raises only its existing keys', async () => {
  const quotas = { quota: { 'requests.cpu': fullFor(1)['requests.cpu'] ?? '' } };
  const gives = { ...headroomFor(1), pods: '5', 'limits.cpu': '4' };
  const tenant = await newTenant(environment, { name: 'quota-lacks-keys', quotas, gives });
  await tenant.migrate();
  await tenant.untilThrough();
  expect(wasRaised(tenant.history)).toBe(true);
  await expectAsBefore(environment.admin, tenant);
});

test('amounts at the limits of a quantity: raises, and restores the original text', async () => {
  const { 'requests.cpu': cpu = '' } = fullFor(1);
  const quotas = {
    quota: { 'requests.cpu': cpu, 'requests.memory': '9Ei', pods: '1e3', 'limits.ephemeral-storage': '9E' },
  };
  const gives = { 'requests.cpu': '1005000000n', 'requests.memory': '9Ei', pods: '1e3' };
  const tenant = await newTenant(environment, { name: 'edges', quotas, gives });
  await tenant.migrate();
  await tenant.untilUnlocked();
  await through(tenant);
  expect(wasRaised(tenant.history)).toBe(true);
  await expectAsBefore(environment.admin, tenant);
});

test('a quota that counts no pods blocks nothing', async () => {
  const quotas = { quota: { 'requests.storage': '1Gi', 'count/configmaps': '10' } };
  const tenant = await newTenant(environment, { name: 'other-quota', quotas });
  await tenant.migrate();
  await tenant.untilThrough();
  await environment.cluster.eventing.broker.idle();
  expect(tenant.history.locks()).toEqual([]);
  await expectAsBefore(environment.admin, tenant);
});
