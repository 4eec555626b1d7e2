import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CYCLE } from '../../../functions/steps.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { newTenant } from '../../support/tenant/tenant.ts';

/** config/components/minimal: one function for all steps, with one service account. */
let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment({ components: ['minimal'] });
});

afterAll(async () => {
  await environment.stop();
});

test('one function runs every step of a whole cycle', async () => {
  const tenant = await newTenant(environment, { name: 'minimal' });
  await tenant.migrate();
  await tenant.untilThrough();
  expect(wasRaised(tenant.history)).toBe(true);
  await expectAsBefore(environment.admin, tenant);

  const ofTenant = environment.lines.items.filter(
    ({ namespace, step }) => namespace === tenant.name && step !== undefined,
  );
  expect(new Set(ofTenant.map(({ service }) => service))).toEqual(new Set(['steps']));
  expect(new Set(ofTenant.map(({ step }) => step))).toEqual(new Set(CYCLE.map(({ name }) => name)));
});
