import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { CONDITION, REASON } from '../../../functions/domain/names.ts';
import type { Condition } from '../../../functions/domain/objects.ts';
import { VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { kubeconfigOfViewer, runWith } from '../../support/environment/plugin.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { expectQuiescent } from '../../support/invariants/quiescent.ts';
import { createExtraPod, deleteExtraPod } from '../../support/tenant/extra-pod.ts';
import { newTenant } from '../../support/tenant/tenant.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment({ env: { SWEEP_SECONDS: '2' } });
});

afterAll(async () => {
  await environment.stop();
});

test('the quota controller hangs, and each migration adds to what is used: that is named, not too small a VMMRQ', async () => {
  const plugin = runWith(await kubeconfigOfViewer(environment));
  const tenant = await newTenant(environment, { name: 'hanging', vms: 2 });
  const { name, history } = tenant;
  const { controlPlane } = environment.cluster;
  await createExtraPod(environment.admin, tenant);
  await controlPlane.pauseControllerManager();
  await tenant.migrate(0);
  await tenant.untilThrough(0);
  await tenant.migrate(1);
  await tenant.untilBlocked(1);
  const found = (type: string): Condition | undefined =>
    history.latest(VMMRQS)?.status?.conditions?.find((each) => each.type === type);
  await history.until('it is named', () => found(CONDITION.blocking)?.reason === REASON.notRecounted);
  expect(found(CONDITION.blocking)?.message).toMatch(
    /requests\.cpu .* is 1005m more than .*check kube-controller-manager/,
  );
  expect(found(CONDITION.notEnough)?.status).toBe('False');
  const explained = await plugin('explain', 'mig1', '-n', name, '-o', 'json');
  expect([explained.code, explained.stderr]).toEqual([1, '']);
  expect(JSON.parse(explained.stdout)).toMatchObject({ verdict: 'Waiting', reason: REASON.notRecounted });
  const suggested = await plugin('preflight', 'namespace', name, '--suggest');
  expect(suggested.stdout).not.toContain('additionalMigrationResources');

  await deleteExtraPod(environment.admin, tenant);
  controlPlane.resumeControllerManager();
  await tenant.untilThrough(1);
  await expectQuiescent(environment.admin, tenant);
});
