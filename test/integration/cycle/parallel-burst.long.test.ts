import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { lastAttemptOf } from '../../../functions/domain/verdict/attempt.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { FULL_KUBEVIRTS, newKubeVirt } from '../../cluster/kubevirt/objects/objects.ts';
import { expectSameObjects } from '../../support/invariants/as-before.ts';
import type { History } from '../../support/tenant/history.ts';
import { invariantViolations } from '../../support/invariants/invariants.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { newTenant } from '../../support/tenant/tenant.ts';

const AT_ONCE = 2;
const TENANTS = 6;

let environment: TestEnvironment;

/** A migration takes a moment, no resync runs during the test, and no attempt fails because the machine is slow. */
beforeAll(async () => {
  environment = await startTestEnvironment({
    timings: { migrationMs: 200 },
    env: { SWEEP_SECONDS: '3600', STALL_SECONDS: '30', LOCK_SECONDS: '45' },
  });
  await environment.admin.create(FULL_KUBEVIRTS, newKubeVirt({ parallelMigrationsPerCluster: AT_ONCE }));
});

afterAll(async () => {
  await environment.stop();
});

/** Reasons of the failed attempts. */
const failuresOf = (history: History): string[] =>
  history.of(NAMESPACES).flatMap((namespace) => {
    const attempt = lastAttemptOf(namespace, Date.now());
    return attempt === undefined || attempt.failures === 0 ? [] : [attempt.reason];
  });

test(`${TENANTS} namespaces are blocked at once, KubeVirt runs ${AT_ONCE}: no raise fails, and each gets a slot`, async () => {
  const tenants = await Promise.all(
    Array.from({ length: TENANTS }, (_, index) => newTenant(environment, { name: `burst-${index}` })),
  );
  const resumes = tenants.map(({ name }) => environment.hold(name, 'mtq-lock'));
  await Promise.all(tenants.map((tenant) => tenant.migrate()));
  await Promise.all(tenants.map((tenant) => tenant.untilBlocked()));
  for (const resume of resumes) resume();

  await Promise.all(tenants.map((tenant) => tenant.untilThrough()));
  // Timing decides whether two locks are set at the same moment and one yields. In both cases no attempt fails.
  expect(tenants.flatMap(({ history }) => failuresOf(history))).toEqual([]);
  for (const tenant of tenants) {
    await expectSameObjects(environment.admin, tenant);
    expect(invariantViolations(tenant.history)).toEqual([]);
  }
});
