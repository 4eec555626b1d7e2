import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { SERVICE_ACCOUNT, userOf } from '../../../functions/domain/names.ts';
import { isEnforced } from '../../../functions/domain/quota/enforced.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { expectAsBefore } from '../../support/as-before.ts';
import { auditLog, whatOf, type Audited } from '../../support/audit.ts';
import { wasRaised, wasSpecRaised } from '../../support/invariants.ts';
import { startLab, type Lab } from '../../support/lab.ts';
import { countedPods, newTenant, type Tenant } from '../../support/tenant.ts';

let lab: Lab;
/** Raised when the controller stopped. */
let raised: Tenant;
/** Blocked when it stopped. */
let blocked: Tenant;
let audited: Audited[];
/** What was seen in the moment before it went on. */
let stillStopped: { unlocked: boolean; enforced: boolean; waiting: boolean };

/** Both namespaces live through the same stop. */
beforeAll(async () => {
  lab = await startLab();
  [raised, blocked] = await Promise.all([
    newTenant(lab, { name: 'raised' }),
    newTenant(lab, { name: 'blocked' }),
  ]);
  const lower = lab.hold(raised.name, 'mtq-lower');
  const lock = lab.hold(blocked.name, 'mtq-lock');
  await Promise.all([raised.migrate(), blocked.migrate()]);
  await raised.history.until('the target pod is charged', () => countedPods(raised) === '2');
  await blocked.untilBlocked();

  await lab.cluster.controlPlane.pauseControllerManager();
  lower();
  lock();
  // It stands still until both have come as far as they can without it.
  await Promise.all([
    raised.untilUnlocked(),
    blocked.history.until('its spec is raised', () => wasSpecRaised(blocked.history)),
  ]);
  const quota = raised.history.latest(RESOURCE_QUOTAS);
  stillStopped = {
    unlocked: !raised.history.isLocked(),
    enforced: quota !== undefined && isEnforced(quota),
    waiting: [blocked.history.isLocked(), wasSpecRaised(blocked.history), !wasRaised(blocked.history)].every(
      Boolean,
    ),
  };
  lab.cluster.controlPlane.resumeControllerManager();

  const counted = (tenant: Tenant): boolean => countedPods(tenant) === '1' && !tenant.history.isLocked();
  await raised.history.until('the controller counts the source pod out', () => counted(raised));
  await blocked.untilUnlocked();
  await blocked.history.until('the controller counts the source pod out', () => counted(blocked));
  audited = await auditLog(lab.cluster.controlPlane, lab.admin);
});

afterAll(async () => {
  await lab.stop();
});

const by = (account: string, { name }: Tenant): string[] =>
  audited
    .filter(
      ({ user, objectRef }) =>
        user.username === userOf(account) && (objectRef?.namespace ?? objectRef?.name) === name,
    )
    .map((request) => `${whatOf(request)} ${request.responseStatus?.code}`);

test('stopped while raised: lower writes status.hard itself, and the namespace is free without the controller', async () => {
  expect(stillStopped).toMatchObject({ unlocked: true, enforced: true });
  expect(by(SERVICE_ACCOUNT.lower, raised)).toContain('update resourcequotas/status 200');
  await expectAsBefore(lab.admin, raised);
});

test('no unlock before status.hard is the original, in the order of the audit log', () => {
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

test('stopped before the raise: it stays locked until the controller works again, then the migration is through', async () => {
  expect(stillStopped).toMatchObject({ waiting: true });
  expect(by(SERVICE_ACCOUNT.lower, blocked)).not.toContain('update resourcequotas/status 200');
  expect(wasRaised(blocked.history)).toBe(true);
  await expectAsBefore(lab.admin, blocked);
});
