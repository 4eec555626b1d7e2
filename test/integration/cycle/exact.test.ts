import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ResourceList } from '../../../functions/domain/objects.ts';
import { parseQuantity } from '../../../functions/domain/quantity.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import type { History } from '../../support/tenant/history.ts';
import { grantIn } from '../../support/invariants/replay-state.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import {
  fullFor,
  give,
  newTenant,
  headroomFor,
  type Tenant,
  type TenantOptions,
} from '../../support/tenant/tenant.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment();
});

afterAll(async () => {
  await environment.stop();
});

const EXACT = { raisePolicy: 'Exact' } as const;
const FIXED = { raisePolicy: 'Fixed' } as const;

/** More than enough: `raise` must not grant allowance that the migration does not need. */
const PLENTY = { ...headroomFor(4), pods: '7', 'limits.cpu': '9' };

/** Migrates all of a tenant's VMs in one lock. */
async function afterCycle(
  options: TenantOptions,
  prepare?: (tenant: Tenant) => Promise<void>,
): Promise<Tenant> {
  const tenant = await newTenant(environment, options);
  const vms = Array.from({ length: options.vms ?? 1 }, (_, vm) => vm);
  const resume = environment.hold(tenant.name, 'mtq-lock');
  await prepare?.(tenant);
  await Promise.all(vms.map((vm) => tenant.migrate(vm)));
  await Promise.all(vms.map((vm) => tenant.untilBlocked(vm)));
  resume();
  await tenant.history.until('the migrations are through', (history) =>
    [
      vms.every((vm) => tenant.migration(vm)?.status?.phase === 'Succeeded'),
      history.locks().length > 0,
      !history.isLocked(),
    ].every(Boolean),
  );
  return tenant;
}

/** The amount of each raise of a quota, by key. */
const granted = (history: History, name = 'quota'): Record<string, bigint>[] => {
  const grants = history
    .of(RESOURCE_QUOTAS)
    .filter(({ metadata }) => metadata.name === name)
    .flatMap((quota) => grantIn(quota) ?? []);
  const first = new Map(grants.map((grant) => [grant.token, grant]));
  const hard = history.of(RESOURCE_QUOTAS, name).at(-1)?.spec.hard ?? {};
  return [...first.values()].map(({ raised }) =>
    Object.fromEntries(
      Object.entries(raised).map(([key, text]) => [
        key,
        parseQuantity(text) - parseQuantity(hard[key] ?? '0'),
      ]),
    ),
  );
};

const amounts = (list: ResourceList): Record<string, bigint> =>
  Object.fromEntries(Object.entries(list).map(([key, text]) => [key, parseQuantity(text)]));

/** fullFor leaves 400m and 600Mi: a launcher needs 1005m and 1412828864 bytes. */
const SHORT = { 'requests.cpu': '605m', 'requests.memory': String(1_412_828_864 - 600 * 1_024 ** 2) };

test('without a policy, `raise` adds only the shortfall of existing keys, and the original text returns', async () => {
  const tenant = await afterCycle({ name: 'exact', gives: PLENTY });
  expect(granted(tenant.history)).toEqual([amounts(SHORT)]);
  await expectAsBefore(environment.admin, tenant);
});

test('each of two quotas gets its own shortfall, also under another key and in another unit', async () => {
  const cpu = { cpu: '1.4', pods: '10' };
  const memory = { memory: '1948Mi', 'requests.cpu': '4' };
  const tenant = await afterCycle({ name: 'exact-two', quotas: { cpu, memory }, gives: PLENTY, by: EXACT });
  expect(granted(tenant.history, 'cpu')).toEqual([amounts({ cpu: '610m' })]);
  const bytes = 2 * 1_412_828_864 - 1_948 * 1_024 ** 2;
  expect(granted(tenant.history, 'memory')).toEqual([amounts({ memory: String(bytes) })]);
  await expectAsBefore(environment.admin, tenant);
});

test('two migrations in one lock get what both need', async () => {
  const tenant = await afterCycle({ name: 'exact-both', vms: 2, gives: PLENTY, by: EXACT });
  expect(tenant.history.locks().map(({ migrations }) => migrations.length)).toEqual([2]);
  const both = { 'requests.cpu': '1610m', 'requests.memory': String(2 * 1_412_828_864 - 600 * 1_024 ** 2) };
  expect(granted(tenant.history)).toEqual([amounts(both)]);
  await expectAsBefore(environment.admin, tenant);
});

test('a percentage of the quota, by policy Exact: raises only by the shortfall', async () => {
  const by = { ...EXACT, additionalMigrationPercentage: '100%' };
  const tenant = await afterCycle({ name: 'exact-percent', gives: {}, by });
  expect(granted(tenant.history)).toEqual([amounts(SHORT)]);
  await expectAsBefore(environment.admin, tenant);
});

test('a percentage of the quota, by policy Fixed: raises by the whole percentage', async () => {
  const by = { ...FIXED, additionalMigrationPercentage: '80%' };
  const tenant = await afterCycle({ name: 'fixed-percent', gives: {}, by });
  expect(granted(tenant.history)).toEqual([
    amounts({
      pods: '8',
      'requests.cpu': '1124m',
      'requests.memory': String(Math.floor((Number(fullFor(1)['requests.memory']) * 80) / 100)),
    }),
  ]);
  await expectAsBefore(environment.admin, tenant);
});

test('one VMMRQ of each policy: raises by all of the Fixed one, and by the remaining shortfall of the Exact one', async () => {
  const tenant = await afterCycle({ name: 'exact-and-fixed', gives: PLENTY, by: EXACT }, ({ name }) =>
    give(
      environment.admin,
      { namespace: name, name: 'fixed', by: FIXED },
      { 'requests.cpu': '100m', 'requests.memory': '1Gi' },
    ),
  );
  expect(granted(tenant.history)).toEqual([amounts({ 'requests.cpu': '605m', 'requests.memory': '1Gi' })]);
  await expectAsBefore(environment.admin, tenant);
});

test('four VMMRQs that give a quarter each: raises by the shortfall, out of all four', async () => {
  const quarter = { 'requests.cpu': '200m', 'requests.memory': '256Mi' };
  const tenant = await afterCycle({ name: 'exact-of-four', gives: quarter, by: EXACT }, async ({ name }) => {
    const names = ['second', 'third', 'fourth'];
    await Promise.all(
      names.map((each) => give(environment.admin, { namespace: name, name: each, by: EXACT }, quarter)),
    );
  });
  expect(granted(tenant.history)).toEqual([amounts(SHORT)]);
  await expectAsBefore(environment.admin, tenant);
});
