import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EVENTS, MTQS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { expectQuiescent } from '../../support/invariants/quiescent.ts';
import { askUntil } from '../../support/eventually.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { installMtqs } from '../../support/incumbent/incumbent.ts';
import { newTenant, type Tenant } from '../../support/tenant/tenant.ts';
import { rawText } from '../../support/raw-text.ts';

let environment: TestEnvironment;
let tenant: Tenant;

beforeAll(async () => {
  environment = await startTestEnvironment({ env: { SWEEP_SECONDS: '1' } });
  await installMtqs(environment.admin);
});

afterAll(async () => {
  await environment.stop();
});

test('beside the incumbent no lock is set, and the tenant sees the reason', async () => {
  await environment.admin.create(MTQS, { metadata: { name: 'mtq' } });
  const view = environment.cluster.eventing.rewrite(
    'http://mtq-guard.mtq-system.svc.cluster.local:8080/view',
  );
  await askUntil(
    'the guard sees it',
    async () => (await fetch(`${view}?namespace=theirs`)).text(),
    (text) => text.includes('MTQ object mtq'),
  );
  tenant = await newTenant(environment, { name: 'theirs' });
  await tenant.migrate();
  await tenant.history.until('it is reported on the migration', (history) =>
    history
      .of(EVENTS)
      .some(({ involvedObject, message }) =>
        [involvedObject.name === 'mig0', rawText(message).includes('MTQ object mtq')].every(Boolean),
      ),
  );
  expect(tenant.history.locks()).toEqual([]);
});

test('without the incumbent the same migration succeeds, with the same VMMRQ', async () => {
  const before = tenant.history.latest(VMMRQS);
  await environment.admin.delete(MTQS, { name: 'mtq' });
  await tenant.untilThrough();
  const after = tenant.history.latest(VMMRQS);
  expect([after?.metadata.uid, after?.spec]).toEqual([before?.metadata.uid, before?.spec]);
  await expectQuiescent(environment.admin, tenant);
});
