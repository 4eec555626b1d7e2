import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { REASON } from '../../../functions/domain/names.ts';
import { RESOURCE_QUOTAS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { expectQuiescent } from '../../support/invariants/quiescent.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { newTenant } from '../../support/tenant/tenant.ts';
import type { ForeignText } from '../../../functions/domain/foreign-text.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment({ env: { SWEEP_SECONDS: '2' } });
});

afterAll(async () => {
  await environment.stop();
});

test('a quota without a computed status: no lock but a reported reason, and a cycle once the status is computed', async () => {
  const tenant = await newTenant(environment, { name: 'uncounted' });
  const { name, history } = tenant;
  const go = environment.hold(name, 'mtq-feasibility', 'mtq-lock');
  await tenant.migrate();
  await tenant.untilBlocked();
  await environment.cluster.controlPlane.pauseControllerManager();
  const uncounted = { metadata: { namespace: name, name: 'uncounted' }, spec: { hard: { pods: '10' } } };
  await environment.admin.create(RESOURCE_QUOTAS, uncounted);
  go();

  const said = (): ForeignText | undefined =>
    history.latest(VMMRQS)?.status?.conditions?.find(({ type }) => type === 'Blocking')?.reason;
  await history.until('it says what it waits for', () => said() === REASON.statusUnknown);
  await environment.cluster.eventing.broker.idle();
  expect(history.locks()).toEqual([]);

  environment.cluster.controlPlane.resumeControllerManager();
  await tenant.untilThrough();
  await expectQuiescent(environment.admin, tenant);
});
