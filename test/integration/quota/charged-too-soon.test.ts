import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { LOCK_OUTCOME, SERVICE_ACCOUNT, userOf } from '../../../functions/domain/names.ts';
import { grantOf, type Grant } from '../../../functions/domain/quota/grant.ts';
import { lastAttemptOf } from '../../../functions/domain/verdict/attempt.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { auditLog, whatOf } from '../../support/environment/audit.ts';
import { refuseTargets } from '../../support/tenant/refuse-targets.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { newTenant, type Tenant } from '../../support/tenant/tenant.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment();
});

afterAll(async () => {
  await environment.stop();
});

const held = ({ history }: Tenant): Grant | undefined => {
  const quota = history.latest(RESOURCE_QUOTAS);
  const state = quota === undefined ? undefined : grantOf(quota);
  return state?.kind === 'held' ? state.grant : undefined;
};

test('a quota that is charged for a pod that never comes: `unlock` looks for it, and the time counts against the budget', async () => {
  const { admin, cluster } = environment;
  const tenant = await newTenant(environment, { name: 'charged-too-soon' });
  await refuseTargets(environment, tenant);
  await tenant.history.until('it is raised', () => held(tenant) !== undefined);
  // It would count again.
  await cluster.controlPlane.pauseControllerManager();
  const quota = tenant.history.latest(RESOURCE_QUOTAS);
  const used = { ...quota?.status?.used, ...held(tenant)?.target };
  const at = { namespace: tenant.name, name: quota?.metadata.name ?? '' };
  await admin.patch(RESOURCE_QUOTAS, at, { merge: { status: { used } }, subresource: 'status' });
  const outcomes = (): (string | undefined)[] =>
    tenant.history.of(NAMESPACES).map((namespace) => lastAttemptOf(namespace, Infinity)?.outcome);
  await tenant.history.until('it is unlocked', () => outcomes().some((outcome) => outcome !== undefined));
  cluster.controlPlane.resumeControllerManager();
  expect(outcomes().find((outcome) => outcome !== undefined)).toBe(LOCK_OUTCOME.charged);
  const requests = await auditLog(cluster.controlPlane, admin);
  const byUnlock = requests.filter(({ user }) => user.username === userOf(SERVICE_ACCOUNT.unlock));
  expect(byUnlock.map(whatOf)).toContain('list pods');
});
