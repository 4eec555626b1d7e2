import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EVENT, REASON } from '../../../functions/domain/names.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { newTenant } from '../../support/tenant/tenant.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment({ env: { STALL_SECONDS: '5' } });
});

afterAll(async () => {
  await environment.stop();
});

/** virt-controller may defer a migration silently (docs/adr/0021). Here it does not look before the nudge, nor soon after it. */
test('one lock is enough although virt-controller looks at a raised migration long after the nudge', async () => {
  const tenant = await newTenant(environment, { name: 'put-off' });
  const { name, history } = tenant;
  const raise = environment.hold(name, 'mtq-raise');
  await tenant.migrate();
  await history.until('it is locked', () => history.isLocked());
  await environment.cluster.stopKubeVirt();
  raise();
  await environment.lines.until('it is nudged, and waited for', () => {
    const said = environment.lines.items
      .filter(({ namespace, event }) => namespace === name && event === EVENT.lockStalled)
      .map(({ reason }) => reason);
    const nudge = said.indexOf(REASON.raisedButNotAdmitted);
    return nudge >= 0 && said.indexOf(REASON.stillWaiting, nudge) > nudge;
  });
  await environment.cluster.startKubeVirt();
  await tenant.untilThrough();
  expect(history.locks()).toHaveLength(1);
  await expectAsBefore(environment.admin, tenant);
});
