import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { lockOf } from '../../../functions/domain/lock.ts';
import { ANNOTATION, KUBEVIRT, LABEL, POLICY, REASON, WEBHOOK } from '../../../functions/domain/names.ts';
import { NAMESPACES, PODS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { POLICIES, POLICY_BINDINGS, policiesInForce } from '../../cluster/policies-in-force.ts';
import { ADMISSION_MODES, type AdmissionMode } from '../../cluster/admission-modes.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { breakGlassOf } from '../../support/tenant/by-hand.ts';
import { askUntil } from '../../support/eventually.ts';
import { invariantViolations, wasRaised } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { asTenantAdmin, attempts, untilAdmitted, type Send } from '../../support/tenant/tenant-admin.ts';
import { newTenant, type Tenant } from '../../support/tenant/tenant.ts';

/** I3: the limit of a repair. */
const REPAIR_SECONDS = 15;
/** The refusal of each admission mode while a quota is raised. */
const MUST_WAIT = /must wait: .*; try again then$/;

describe.each(ADMISSION_MODES)('installed with %s', (admissionMode: AdmissionMode) => {
  let environment: TestEnvironment;
  let asTenant: Send;

  beforeAll(async () => {
    environment = await startTestEnvironment({ admissionMode, env: { STALL_SECONDS: '30' } });
    asTenant = await asTenantAdmin(environment);
  });

  afterAll(async () => {
    await environment.stop();
  });

  /** A raised tenant whose target pod is admitted; no step lowers it before the test calls `resume`. */
  async function raised(name: string): Promise<{ tenant: Tenant; resume: () => void }> {
    const tenant = await newTenant(environment, { name });
    const resume = environment.hold(name, 'mtq-lower');
    await tenant.migrate();
    await tenant.history.until('it is through', () => tenant.isThrough());
    expect(wasRaised(tenant.history)).toBe(true);
    return { tenant, resume };
  }

  /** The answers to all attempts of the tenant. */
  async function refusals(tenant: Tenant): Promise<[string, number, string][]> {
    const { items: pods } = await environment.admin.list(PODS, {
      namespace: tenant.name,
      labelSelector: KUBEVIRT.migrationJobUID,
    });
    const all = Object.entries(attempts(tenant.name, pods[0]?.metadata.labels ?? {}));
    const answers = all.map(async ([what, request]): Promise<[string, number, string]> => {
      const { code, body } = await asTenant(request);
      return [what, code, String(body['message'])];
    });
    return Promise.all(answers);
  }

  const refused = (text: RegExp, code = 403): [string, number, unknown][] =>
    Object.keys(attempts('', {})).map((what) => [what, code, expect.stringMatching(text)]);

  test('a cycle admits no pod of the tenant, and leaves everything as before', async () => {
    const { tenant, resume } = await raised('released');
    expect(await refusals(tenant)).toEqual(refused(MUST_WAIT));
    resume();
    await tenant.untilUnlocked();
    await expectAsBefore(environment.admin, tenant);
    await untilAdmitted(asTenant, tenant.name);
  });

  test('a raise while the guard is down admits no pod either, and the functions restore the quota', async () => {
    const { tenant, resume } = await raised('guard-down');
    await environment.cluster.killGuard();
    try {
      // The policies refuse: the API server evaluates them before it calls webhooks.
      expect(await refusals(tenant)).toEqual(refused(MUST_WAIT));
      resume();
      await tenant.untilUnlocked();
    } finally {
      await environment.cluster.startGuard();
    }
    await expectAsBefore(environment.admin, tenant);
  });

  const removeLock = async ({ name, history }: Tenant): Promise<void> => {
    await breakGlassOf(environment.admin, name);
    await history.until('the lock is off', () => !history.isLocked());
  };

  async function deletePolicies(...names: string[]): Promise<void> {
    for (const name of names) {
      await environment.admin.delete(POLICY_BINDINGS, { name });
      await environment.admin.delete(POLICIES, { name });
    }
    await (
      await policiesInForce(environment.admin)
    )();
  }

  async function expectRefusedBy(tenant: Tenant, who: string, code?: number): Promise<void> {
    const answers = await refusals(tenant);
    expect(answers).toEqual(refused(MUST_WAIT, code));
    for (const [, , message] of answers) expect(message).toContain(who);
  }

  const isPutBack = ({ history, before }: Tenant): boolean => {
    const quota = history.latest(RESOURCE_QUOTAS);
    return [
      JSON.stringify(quota?.status?.hard) === JSON.stringify(before.quotas[0]?.spec.hard),
      quota?.metadata.labels?.[LABEL.raised] === undefined,
    ].every(Boolean);
  };

  test('the guard restores the quota within seconds after a manual unlock', async () => {
    const { tenant, resume } = await raised('taken-off');
    const since = performance.now();
    await removeLock(tenant);
    await tenant.history.until('the guard has put it back', () => isPutBack(tenant));
    const seconds = (performance.now() - since) / 1_000;
    process.stdout.write(`${admissionMode}: restored ${seconds.toFixed(1)} s after the lock was taken off\n`);
    expect(seconds).toBeLessThan(REPAIR_SECONDS);
    resume();
  });

  test('a manual unlock without a guard admits no pod either (F13)', async () => {
    const { tenant, resume } = await raised('label-stolen');
    const { name, history } = tenant;
    await environment.cluster.killGuard();
    try {
      await removeLock(tenant);
      const answers = await askUntil(
        'the API server has heard of it',
        () => refusals(tenant),
        (all) => all.every(([, , message]) => !message.includes(POLICY.locked)),
      );
      expect(answers).toEqual(refused(MUST_WAIT));
    } finally {
      await environment.cluster.startGuard();
    }
    await history.until('the guard has put it back', () => isPutBack(tenant));
    resume();
    await untilAdmitted(asTenant, name);
    expect(
      invariantViolations(history).filter((violation) => !violation.includes('is not locked for it')),
    ).toEqual([]);
  });

  test('a namespace that opts out while it is locked is not raised', async () => {
    const tenant = await newTenant(environment, { name: 'opted-out' });
    const { name, history } = tenant;
    const resume = environment.hold(name, 'mtq-raise');
    await tenant.migrate();
    await history.until('it is locked', () => history.isLocked());
    const annotations = { [ANNOTATION.skip]: 'true' };
    await environment.admin.patch(NAMESPACES, { name }, { merge: { metadata: { annotations } } });
    resume();
    await tenant.untilUnlocked();
    const endings = history.of(NAMESPACES).flatMap((namespace) => {
      const state = lockOf(namespace);
      return state.kind === 'held' ? (state.lock.ended?.reason ?? []) : [];
    });
    expect(new Set(endings)).toEqual(new Set([REASON.skipped]));
    expect(wasRaised(history)).toBe(false);
  });

  test('the policies of the lock still refuse after the policies of raised quotas are deleted', async () => {
    const { tenant, resume } = await raised('policy-deleted');
    await deletePolicies(POLICY.raisedPods, POLICY.raisedQuotas);
    await expectRefusedBy(tenant, `ValidatingAdmissionPolicy '${POLICY.locked}'`);
    if (admissionMode === 'both') {
      await deletePolicies(POLICY.locked);
      await expectRefusedBy(tenant, `admission webhook "${WEBHOOK.locked}"`, 429);
    }
    resume();
    await tenant.untilUnlocked();
    await expectAsBefore(environment.admin, tenant);
  });
});
