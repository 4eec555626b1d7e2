import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { MIGRATIONS, NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { expectQuiescent } from '../../support/invariants/quiescent.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { newTenant, type Tenant } from '../../support/tenant/tenant.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment();
});

afterAll(async () => {
  await environment.stop();
});

const LABELS = Object.fromEntries(Array.from({ length: 15_000 }, (_, index) => [`k${String(index)}`, '']));
const LABELLED = { merge: { metadata: { labels: LABELS } } };

test.each<[string, (tenant: Tenant) => Promise<unknown>]>([
  [
    'quota',
    async (tenant) => {
      await environment.admin.patch(RESOURCE_QUOTAS, { namespace: tenant.name, name: 'quota' }, LABELLED);
      await tenant.migrate();
    },
  ],
  [
    'namespace',
    async (tenant) => {
      await environment.admin.patch(NAMESPACES, { name: tenant.name }, LABELLED);
      await tenant.migrate();
    },
  ],
  [
    'migration',
    async ({ name }) =>
      environment.admin.create(MIGRATIONS, {
        metadata: { namespace: name, name: 'mig0', labels: LABELS },
        spec: { vmiName: 'vm0' },
      }),
  ],
])(
  'a %s with 15,000 labels: raised and lowered in time, where a policy that looks at each label froze the namespace',
  async (labelled, begin) => {
    const tenant = await newTenant(environment, { name: `many-labels-${labelled}` });
    await begin(tenant);
    await tenant.untilThrough();
    await expectQuiescent(environment.admin, tenant);
    expect(wasRaised(tenant.history)).toBe(true);
  },
);
