import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { STEPS } from '../../../functions/steps.ts';
import { wasRaised } from '../../support/invariants.ts';
import { expectAsBefore } from '../../support/as-before.ts';
import { startLab, type Lab } from '../../support/lab.ts';
import { newTenant } from '../../support/tenant.ts';

/** config/components/minimal: one function for all steps, by one service account. */
let lab: Lab;

beforeAll(async () => {
  lab = await startLab({ components: ['minimal'] });
});

afterAll(async () => {
  await lab.stop();
});

test('one function takes a migration all the way, and does every step of it', async () => {
  const tenant = await newTenant(lab, { name: 'minimal' });
  await tenant.migrate();
  await tenant.untilThrough();
  expect(wasRaised(tenant.history)).toBe(true);
  await expectAsBefore(lab.admin, tenant);

  const ofTenant = lab.lines.items.filter(
    ({ namespace, step }) => namespace === tenant.name && step !== undefined,
  );
  expect(new Set(ofTenant.map(({ service }) => service))).toEqual(new Set(['steps']));
  expect(new Set(ofTenant.map(({ step }) => step))).toEqual(new Set(STEPS.map(({ name }) => name)));
});
