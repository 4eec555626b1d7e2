import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SERVICE_ACCOUNT, userOf } from '../../../functions/domain/names.ts';
import { auditLog, whatOf } from '../../support/environment/audit.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { newTenant } from '../../support/tenant/tenant.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment({ env: { LOCK_SECONDS: '15', OVERDUE_SECONDS: '1' } });
});

afterAll(async () => {
  await environment.stop();
});

test('without functions and quota controller the watchdog itself restores the status, and unlocks (F3)', async () => {
  const tenant = await newTenant(environment, { name: 'alone' });
  const { controlPlane } = environment.cluster;
  const again = environment.hold(tenant.name, 'mtq-lower', 'mtq-unlock');
  await tenant.migrate();
  await tenant.history.until('it is raised', () => wasRaised(tenant.history));
  await controlPlane.pauseControllerManager();
  await tenant.untilUnlocked();
  controlPlane.resumeControllerManager();
  again();

  const repairs = (await auditLog(controlPlane, environment.admin))
    .filter(({ user }) => user.username === userOf(SERVICE_ACCOUNT.guard))
    .filter(({ responseStatus, verb }) => verb === 'update' && responseStatus?.code === 200)
    .filter(({ objectRef }) => [objectRef?.namespace, objectRef?.name].includes(tenant.name))
    .map(whatOf);
  expect(repairs).toEqual(['update resourcequotas/status', 'update namespaces']);
  await expectAsBefore(environment.admin, tenant);
});
