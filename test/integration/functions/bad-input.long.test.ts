import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LABEL } from '../../../functions/domain/names.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { expectAsBefore } from '../../support/as-before.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/test-environment.ts';
import { fullFor, newTenant } from '../../support/tenant.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment();
});

afterAll(async () => {
  await environment.stop();
});

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
  await tenant.history.until(
    'the migration is through',
    () => tenant.migration()?.status?.phase === 'Succeeded',
  );
  const raised = tenant.history
    .of(RESOURCE_QUOTAS)
    .filter(({ metadata }) => metadata.labels?.[LABEL.raised] !== undefined)
    .map(({ metadata }) => metadata.name);
  expect(new Set(raised)).toEqual(new Set(['quota']));
  await expectAsBefore(environment.admin, tenant);
});
