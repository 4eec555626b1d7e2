import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { expectQuiescent } from '../../support/invariants/quiescent.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { newTenant } from '../../support/tenant/tenant.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment();
});

afterAll(async () => {
  await environment.stop();
});

test('a quota with 15,000 labels is raised and lowered in time: a policy that looks at each label froze the namespace', async () => {
  const tenant = await newTenant(environment, { name: 'many-labels' });
  const labels = Object.fromEntries(Array.from({ length: 15_000 }, (_, index) => [`k${String(index)}`, '']));
  const at = { namespace: tenant.name, name: 'quota' };
  await environment.admin.patch(RESOURCE_QUOTAS, at, { merge: { metadata: { labels } } });
  await tenant.migrate();
  await tenant.untilThrough();
  await expectQuiescent(environment.admin, tenant);
  expect(wasRaised(tenant.history)).toBe(true);
});
