import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { invariantViolations } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { grantIn } from '../../support/invariants/replay-state.ts';
import {
  fullFor,
  newTenant,
  headroomFor,
  type Tenant,
  type TenantOptions,
} from '../../support/tenant/tenant.ts';

/** Amounts that the API server accepts and changes, or unusual ones that it accepts and keeps. */
let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment({ admissionMode: 'both' });
});

afterAll(async () => {
  await environment.stop();
});

async function afterCycle(options: TenantOptions): Promise<Tenant> {
  const tenant = await newTenant(environment, options);
  await tenant.migrate();
  await tenant.untilThrough();
  return tenant;
}

test('amounts finer than a thousandth: raises by no more than the API server stores, and restores the original', async () => {
  const { 'requests.cpu': _, ...memory } = headroomFor(1);
  const gives = { ...memory, 'requests.cpu': '1500.5m' };
  const tenant = await afterCycle({ name: 'finer', gives, by: { raisePolicy: 'Fixed' } });
  const [grant] = tenant.history.of(RESOURCE_QUOTAS).flatMap((quota) => grantIn(quota) ?? []);
  expect([tenant.before.quotas[0]?.spec.hard?.['requests.cpu'], grant?.raised['requests.cpu']]).toEqual([
    '1405m',
    '2905m',
  ]);
  expect(invariantViolations(tenant.history)).toEqual([]);
  await expectAsBefore(environment.admin, tenant);
});

test.each(['1e0003', '1e1002'])(
  'a key that no pod takes says %s: the migration is through, and nothing is left locked',
  async (configmaps) => {
    const quotas = { quota: { ...fullFor(1), configmaps } };
    const tenant = await afterCycle({ name: `odd-${configmaps}`, quotas });
    expect(invariantViolations(tenant.history)).toEqual([]);
    await expectAsBefore(environment.admin, tenant);
  },
);
