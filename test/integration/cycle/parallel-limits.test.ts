import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ANNOTATION, REASON } from '../../../functions/domain/names.ts';
import { NAMESPACES, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { FULL_KUBEVIRTS, FULL_MIGRATIONS, newKubeVirt } from '../../cluster/kubevirt/objects/objects.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { wasRaised } from '../../support/invariants/invariants.ts';
import type { History } from '../../support/tenant/history.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { give, newTenant, headroomFor } from '../../support/tenant/tenant.ts';
import type { ForeignText } from '../../../functions/domain/foreign-text.ts';

let environment: TestEnvironment;

/** A migration runs until it is cancelled, and no resync runs during the test. */
beforeAll(async () => {
  environment = await startTestEnvironment({
    timings: { migrationMs: 3_600_000 },
    env: { SWEEP_SECONDS: '3600', STALL_SECONDS: '4' },
  });
  await environment.admin.create(FULL_KUBEVIRTS, newKubeVirt({ parallelMigrationsPerCluster: 1 }));
});

afterAll(async () => {
  await environment.stop();
});

const reasonOf = (history: History): ForeignText | undefined =>
  history.latest(VMMRQS)?.status?.conditions?.find(({ type }) => type === 'Blocking')?.reason;

test("at KubeVirt's limit no lock is set, and the end of another namespace's migration starts the blocked one at once", async () => {
  const blocked = await newTenant(environment, { name: 'limit-blocked', gives: null });
  await blocked.migrate();
  await blocked.untilBlocked();
  const running = await newTenant(environment, { name: 'limit-running', quotas: {}, gives: null });
  await running.migrate();
  await running.history.until('it runs', () => running.migration()?.status?.phase === 'Running');

  await give(environment.admin, { namespace: blocked.name, name: 'more' }, headroomFor(1));
  const { history } = blocked;
  await history.until('it is reported as waiting', () => reasonOf(history) === REASON.parallelLimit);
  await environment.cluster.eventing.broker.idle();
  expect(history.locks()).toEqual([]);

  await environment.admin.delete(FULL_MIGRATIONS, { namespace: running.name, name: 'mig0' });
  await blocked.untilUnlocked();
  await history.until('it runs', () => blocked.migration()?.status?.phase === 'Running');
  expect(history.locks()).toHaveLength(1);
  await expectAsBefore(environment.admin, blocked);
  await environment.admin.delete(FULL_MIGRATIONS, { namespace: blocked.name, name: 'mig0' });
});

test('a lock whose migration slot was taken before the raise ends at once, and costs nothing', async () => {
  const late = await newTenant(environment, { name: 'limit-late' });
  const { history } = late;
  const raise = environment.hold(late.name, 'mtq-raise');
  await late.migrate();
  await history.until('it is locked', () => history.isLocked());
  const first = await newTenant(environment, { name: 'limit-first', quotas: {}, gives: null });
  await first.migrate();
  await first.history.until('it runs', () => first.migration()?.status?.phase === 'Running');
  raise();
  await late.untilUnlocked();
  expect(wasRaised(history)).toBe(false);
  const attempt = history.latest(NAMESPACES)?.metadata.annotations?.[ANNOTATION.lastAttempt] ?? '{}';
  expect(JSON.parse(attempt)).toMatchObject({
    failures: 0,
    reason: REASON.parallelLimit,
    locked: [{ ms: 0 }],
  });

  await environment.admin.delete(FULL_MIGRATIONS, { namespace: first.name, name: 'mig0' });
  await history.until('it runs', () => late.migration()?.status?.phase === 'Running');
  expect(history.locks()).toHaveLength(2);
});
