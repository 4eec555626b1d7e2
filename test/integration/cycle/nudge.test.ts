import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ANNOTATION, EVENT } from '../../../functions/domain/names.ts';
import { isEnforced } from '../../support/invariants/enforced.ts';
import { NAMESPACES, RESOURCE_QUOTAS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { limitLaunchers, refuseTargets } from '../../support/tenant/refuse-targets.ts';
import { fullFor, newTenant, type Tenant } from '../../support/tenant/tenant.ts';
import { rawText } from '../../support/raw-text.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  // A test holds the raise until a LimitRange is in force.
  environment = await startTestEnvironment({ env: { LOCK_SECONDS: '45' } });
});

afterAll(async () => {
  await environment.stop();
});

const nudged = (tenant: Tenant): string | undefined =>
  tenant.migration()?.metadata.annotations?.[ANNOTATION.nudged];

test('a raised migration whose pod something else refuses: one nudge, then lower, unlock and a reported reason (F34)', async () => {
  const tenant = await newTenant(environment, { name: 'refused-otherwise' });
  await refuseTargets(environment, tenant);
  await tenant.history.until('it is nudged for its lock', () => {
    const [lock] = tenant.history.locks();
    return lock !== undefined && nudged(tenant)?.startsWith(lock.token) === true;
  });
  await tenant.untilUnlocked();
  expect(wasRaised(tenant.history)).toBe(true);
  const attempt = tenant.history.latest(NAMESPACES)?.metadata.annotations?.[ANNOTATION.lastAttempt] ?? '{}';
  expect(JSON.parse(attempt)).toMatchObject({ reason: 'RaisedButNotAdmitted', failures: 1 });
});

test('a LimitRange created during the lock refuses the pod: lower, and the condition repeats the API server’s message', async () => {
  const tenant = await newTenant(environment, { name: 'refused-under-lock' });
  const { history, name } = tenant;
  const raise = environment.hold(name, 'mtq-raise');
  await tenant.migrate();
  await history.until('it is locked', () => history.isLocked());
  await limitLaunchers(environment.admin, name, { min: { cpu: '99' } });
  raise();
  await tenant.untilUnlocked();
  const message = (): string =>
    rawText(
      history
        .latest(VMMRQS)
        ?.status?.conditions?.find(({ type, status }) => type === 'RaisedButNotAdmitted' && status === 'True')
        ?.message,
    );
  await history.until('the reason is reported', () => message().includes('cpu'));
  expect(message()).toMatch(/\nmig0: .*minimum cpu usage per Container is 99/);
  // No event ends its back-off.
  await environment.forge({ type: EVENT.migrationFeasible, from: 'forger', namespace: name, cause: 'again' });
  expect(history.locks()).toHaveLength(1);
});

test('new headroom that virt-controller does not notice: one nudge, and no lock', async () => {
  const tenant = await newTenant(environment, { name: 'headroom-by-now' });
  const { history, name } = tenant;
  const look = environment.hold(name, 'mtq-feasibility');
  await tenant.migrate();
  await tenant.untilBlocked();
  await environment.cluster.stopKubeVirt();
  const headroom = fullFor(3);
  await environment.admin.patch(
    RESOURCE_QUOTAS,
    { namespace: name, name: 'quota' },
    { merge: { spec: { hard: headroom } } },
  );
  await history.until('the headroom is there', () => {
    const quota = history.latest(RESOURCE_QUOTAS);
    return (
      quota !== undefined &&
      isEnforced(quota) &&
      quota.status?.hard?.['requests.cpu'] === headroom['requests.cpu']
    );
  });
  look();
  await history.until('it is nudged', () => nudged(tenant) !== undefined);
  expect(history.locks()).toEqual([]);
});
