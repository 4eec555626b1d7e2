import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { LOCK_BUDGET_MS } from '../../../functions/domain/verdict/attempt.ts';
import { REASON, SERVICE_ACCOUNT, userOf } from '../../../functions/domain/names.ts';
import { VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { attemptOf, expectQuiescent } from '../../support/invariants/quiescent.ts';
import { auditLog, isDryRun, whatOf } from '../../support/environment/audit.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { refuseTargets } from '../../support/tenant/refuse-targets.ts';
import { newTenant, headroomFor } from '../../support/tenant/tenant.ts';

jest.setTimeout(300_000);

let environment: TestEnvironment;

/** A lock budget for a few attempts, each with the longest timeout. */
beforeAll(async () => {
  environment = await startTestEnvironment({
    env: { LOCK_SECONDS: '15', STALL_SECONDS: '4', SWEEP_SECONDS: '1' },
  });
});

afterAll(async () => {
  await environment.stop();
});

test("the lock budget holds by the API server's times, although the VMMRQ changes after each failure (I7)", async () => {
  const tenant = await newTenant(environment, { name: 'freeze-loop' });
  const { name, history } = tenant;
  const isSpent = (): boolean =>
    environment.lines.items.some((line) => line.namespace === name && line.reason === REASON.lockBudgetSpent);
  await refuseTargets(environment, tenant);
  for (let attempt = 1; !isSpent(); attempt += 1) {
    const before = attemptOf(tenant);
    await history.until(
      'the attempt has failed, or there is none any more',
      () => attemptOf(tenant) !== before || isSpent(),
      60_000,
    );
    // A changed VMMRQ ends the back-off.
    const merge = { spec: { additionalMigrationResources: { ...headroomFor(2), pods: String(attempt) } } };
    await environment.admin.patch(VMMRQS, { namespace: name, name: 'more' }, { merge });
    await environment.lines.until('feasibility looked again', () =>
      [isSpent(), history.isLocked()].some(Boolean),
    );
  }
  await history.until('it is free', () => !history.isLocked());

  const locked = lockedMs(await auditLog(environment.cluster.controlPlane, environment.admin), name);
  const sum = locked.reduce((total, each) => total + each, 0);
  const summary = locked.map((each) => (each / 1_000).toFixed(1)).join(' + ');
  process.stdout.write(`locked for ${summary} = ${(sum / 1_000).toFixed(1)} s, then left alone\n`);
  expect(locked.length).toBeGreaterThan(1);
  expect(sum).toBeLessThanOrEqual(LOCK_BUDGET_MS);
  await expectQuiescent(environment.admin, tenant);
});

/** The duration of each lock, by the times at which the API server answered the writes. */
function lockedMs(audited: Awaited<ReturnType<typeof auditLog>>, namespace: string): number[] {
  const writes = audited.filter(
    (request) =>
      whatOf(request) === 'update namespaces' &&
      request.objectRef?.name === namespace &&
      request.responseStatus?.code === 200 &&
      !isDryRun(request),
  );
  const isBy = (account: string, { user }: (typeof writes)[number]): boolean =>
    user.username === userOf(account);
  return writes.flatMap((acquired, index) => {
    if (!isBy(SERVICE_ACCOUNT.lock, acquired)) return [];
    const freed = writes
      .slice(index)
      .find((write) => isBy(SERVICE_ACCOUNT.unlock, write) || isBy(SERVICE_ACCOUNT.guard, write));
    return freed === undefined
      ? [Infinity]
      : [Date.parse(freed.stageTimestamp) - Date.parse(acquired.stageTimestamp)];
  });
}
