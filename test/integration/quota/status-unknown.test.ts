import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { REASON } from '../../../functions/domain/names.ts';
import { RESOURCE_QUOTAS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { expectAtRest } from '../../support/at-rest.ts';
import { startLab, type Lab } from '../../support/lab.ts';
import { newTenant } from '../../support/tenant.ts';

let lab: Lab;

beforeAll(async () => {
  lab = await startLab({ env: { SWEEP_SECONDS: '2' } });
});

afterAll(async () => {
  await lab.stop();
});

test('a quota whose status nobody has computed yet: nothing is locked, it says so, and goes on once it is computed', async () => {
  const tenant = await newTenant(lab, { name: 'uncounted' });
  const { name, history } = tenant;
  const go = lab.hold(name, 'mtq-feasibility', 'mtq-lock');
  await tenant.migrate();
  await tenant.untilBlocked();
  await lab.cluster.controlPlane.pauseControllerManager();
  const uncounted = { metadata: { namespace: name, name: 'uncounted' }, spec: { hard: { pods: '10' } } };
  await lab.admin.create(RESOURCE_QUOTAS, uncounted);
  go();

  const said = (): string | undefined =>
    history.latest(VMMRQS)?.status?.conditions?.find(({ type }) => type === 'Blocking')?.reason;
  await history.until('it says what it waits for', () => said() === REASON.statusUnknown);
  await lab.cluster.eventing.broker.idle();
  expect(history.locks()).toEqual([]);

  lab.cluster.controlPlane.resumeControllerManager();
  await tenant.untilThrough();
  await expectAtRest(lab.admin, tenant);
});
