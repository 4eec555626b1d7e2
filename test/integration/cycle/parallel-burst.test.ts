import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { lastAttemptOf } from '../../../functions/domain/verdict/attempt.ts';
import { REASON } from '../../../functions/domain/names.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import { FULL_KUBEVIRTS, newKubeVirt } from '../../cluster/kubevirt/objects.ts';
import { expectSameObjects } from '../../support/as-before.ts';
import type { History } from '../../support/history.ts';
import { breaches } from '../../support/invariants.ts';
import { startLab, type Lab } from '../../support/lab.ts';
import { newTenant } from '../../support/tenant.ts';

const AT_ONCE = 2;
const TENANTS = 6;

let lab: Lab;

/** A migration takes a moment, and nobody looks at a namespace by the clock. */
beforeAll(async () => {
  lab = await startLab({ timings: { migrationMs: 200 }, env: { SWEEP_SECONDS: '3600' } });
  await lab.admin.create(FULL_KUBEVIRTS, newKubeVirt({ parallelMigrationsPerCluster: AT_ONCE }));
});

afterAll(async () => {
  await lab.stop();
});

const attemptsOf = (history: History): { reason: string; failures: number }[] =>
  history.of(NAMESPACES).flatMap((namespace) => {
    const attempt = lastAttemptOf(namespace);
    return attempt === undefined ? [] : [{ reason: attempt.reason, failures: attempt.failures }];
  });

test(`${TENANTS} namespaces are blocked at once, KubeVirt runs ${AT_ONCE}: nobody is raised in vain, each gets its turn`, async () => {
  const tenants = await Promise.all(
    Array.from({ length: TENANTS }, (_, index) => newTenant(lab, { name: `burst-${index}` })),
  );
  const releases = tenants.map(({ name }) => lab.hold(name, 'mtq-lock'));
  await Promise.all(tenants.map((tenant) => tenant.migrate()));
  await Promise.all(tenants.map((tenant) => tenant.untilBlocked()));
  for (const release of releases) release();

  await Promise.all(tenants.map((tenant) => tenant.untilThrough()));
  const attempts = tenants.flatMap(({ history }) => attemptsOf(history));
  // More were locked for in the same moment than could run, and gave way.
  expect(attempts.map(({ reason }) => reason)).toContain(REASON.parallelLimit);
  expect(attempts.filter(({ failures }) => failures > 0)).toEqual([]);
  for (const tenant of tenants) {
    await expectSameObjects(lab.admin, tenant);
    expect(breaches(tenant.history)).toEqual([]);
  }
});
