import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SERVICE_ACCOUNT, userOf } from '../../../functions/domain/names.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { auditLog, whatOf, type Audited } from '../../support/environment/audit.ts';
import { isEnforced } from '../../support/invariants/enforced.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { grantIn } from '../../support/invariants/replay-state.ts';
import { createExtraPod, deleteExtraPod } from '../../support/tenant/extra-pod.ts';
import { allowLaunchers, refuseTargets } from '../../support/tenant/refuse-targets.ts';
import { countedPods, newTenant, type Tenant } from '../../support/tenant/tenant.ts';

let environment: TestEnvironment;
/** Already raised when the controller stopped. */
let raised: Tenant;
/** Only blocked when the controller stopped. */
let blocked: Tenant;
let audited: Audited[];

/** Both namespaces share the same pause of the controller. */
beforeAll(async () => {
  environment = await startTestEnvironment();
  [raised, blocked] = await Promise.all([
    newTenant(environment, { name: 'raised' }),
    newTenant(environment, { name: 'blocked' }),
  ]);
  await createExtraPod(environment.admin, blocked);
  const lower = environment.hold(raised.name, 'mtq-lower');
  const lock = environment.hold(blocked.name, 'mtq-lock');
  await Promise.all([raised.migrate(), blocked.migrate()]);
  await raised.history.until('the target pod is charged', () => countedPods(raised) === '2');
  await blocked.untilBlocked();

  await environment.cluster.controlPlane.pauseControllerManager();
  lower();
  lock();
  await Promise.all([raised.untilUnlocked(), blocked.untilUnlocked()]);
  for (const { history } of [raised, blocked]) {
    await history.until('it is unlocked and its quota as before, though the controller is stopped', () => {
      const quota = history.latest(RESOURCE_QUOTAS);
      return quota !== undefined && isEnforced(quota) && !history.isLocked();
    });
  }
  await deleteExtraPod(environment.admin, blocked);
  environment.cluster.controlPlane.resumeControllerManager();

  const counted = (tenant: Tenant): boolean => countedPods(tenant) === '1' && !tenant.history.isLocked();
  await raised.history.until('the controller counts the source pod out', () => counted(raised));
  await blocked.history.until('the controller counts the source pod out', () => counted(blocked));
  audited = await auditLog(environment.cluster.controlPlane, environment.admin);
});

afterAll(async () => {
  await environment.stop();
});

test.each([
  ['stopped while raised', (): Tenant => raised],
  ['stopped before the lock', (): Tenant => blocked],
])('kube-controller-manager %s: raised, back and free without it (F30)', async (_, tenant) => {
  expect(wasRaised(tenant().history)).toBe(true);
  await expectAsBefore(environment.admin, tenant());
});

test('unlock comes after status.hard is the original, in the order of the audit log (F30)', () => {
  const isLowers = (request: Audited): boolean =>
    request.user.username === userOf(SERVICE_ACCOUNT.lower) &&
    whatOf(request) === 'update resourcequotas/status';
  const isUnlocks = (request: Audited): boolean =>
    request.user.username === userOf(SERVICE_ACCOUNT.unlock) && whatOf(request) === 'update namespaces';
  const here = audited.filter(({ objectRef }) => objectRef?.namespace === raised.name);
  const lowered = here.findIndex(isLowers);
  expect(lowered).toBeGreaterThan(-1);
  expect(here.findIndex(isUnlocks)).toBeGreaterThan(lowered);
});

test('a recount that undoes the raise leads to another raise to the same amount', async () => {
  const tenant = await newTenant(environment, { name: 'recounted' });
  const { name: namespace, history } = tenant;
  const { admin } = environment;
  await createExtraPod(admin, tenant);
  await refuseTargets(environment, tenant);
  await history.until('the quota is raised', () => wasRaised(history));
  await deleteExtraPod(admin, tenant);
  const raises = (): number[] => history.of(RESOURCE_QUOTAS).flatMap((quota) => grantIn(quota)?.raises ?? []);
  await history.until('it is raised again', () => raises().includes(2));
  await allowLaunchers(admin, namespace);
  await tenant.untilThrough();
  const grants = history.of(RESOURCE_QUOTAS).flatMap((quota) => grantIn(quota) ?? []);
  expect(new Set(grants.map(({ token }) => token)).size).toBe(1);
  expect(new Set(grants.map(({ raised: to }) => JSON.stringify(to))).size).toBe(1);
  expect(new Set(grants.map(({ raisedAt }) => raisedAt)).size).toBe(1);
});
