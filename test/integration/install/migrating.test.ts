import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { EVENT } from '../../../functions/domain/names.ts';
import type { KubernetesObject, Vmmrq } from '../../../functions/domain/objects.ts';
import type { New, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { EVENTS, RESOURCE_QUOTAS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { CRDS, untilServed } from '../../cluster/served.ts';
import { expectQuiescent } from '../../support/invariants/quiescent.ts';
import { askUntil } from '../../support/eventually.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { newTenant, type Tenant } from '../../support/tenant/tenant.ts';
import { rawText } from '../../support/raw-text.ts';

/** The incumbent's own object, with the fields by which other programs detect it. */
const MTQS: ResourceType = {
  apiVersion: 'mtq.kubevirt.io/v1alpha1',
  kind: 'MTQ',
  plural: 'mtqs',
  namespaced: false,
};
const CRD = {
  metadata: { name: 'mtqs.mtq.kubevirt.io' },
  spec: {
    group: 'mtq.kubevirt.io',
    scope: 'Cluster',
    names: { kind: 'MTQ', listKind: 'MTQList', plural: 'mtqs', singular: 'mtq' },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
} as New<KubernetesObject>;

let environment: TestEnvironment;
let tenant: Tenant;

beforeAll(async () => {
  environment = await startTestEnvironment({ env: { SWEEP_SECONDS: '1' } });
  await environment.admin.create(CRDS, CRD);
  await untilServed(environment.admin, MTQS);
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
  for (const kind of ['VirtualMachineInstanceMigration', 'VirtualMachineMigrationResourceQuota']) {
    await tenant.history.until(`it is reported on the ${kind}`, (history) =>
      history
        .of(EVENTS)
        .some(({ involvedObject, message }) =>
          [involvedObject.kind === kind, rawText(message).includes('MTQ object mtq')].every(Boolean),
        ),
    );
  }
  expect(tenant.history.locks()).toEqual([]);
});

test('the incumbent’s record of the quotas that it has raised stays as it is', async () => {
  const { admin } = environment;
  const at = { namespace: tenant.name, name: 'more' };
  const { object: quota } = await admin.get(RESOURCE_QUOTAS, { ...at, name: 'quota' });
  const { object: vmmrq } = await admin.get(VMMRQS, at);
  // In the order seen: it records, which is an event for us; later it restores from the record.
  const status = {
    ...vmmrq.status,
    migrationsToBlockingResourceQuotas: { mig0: ['quota'] },
    originalBlockingResourceQuotas: [{ name: 'quota', spec: quota.spec }],
  };
  const recorded = await admin.replace(VMMRQS, { ...vmmrq, status }, { subresource: 'status' });
  await environment.forge({
    type: EVENT.resyncRequested,
    from: 'incumbent',
    namespace: tenant.name,
    cause: 'a',
  });
  const { object: after } = await admin.get(VMMRQS, at);
  expect(after).toEqual(recorded.object);
  await admin.replace(VMMRQS, vmmrqWithout(after), { subresource: 'status' });
});

/** As the incumbent leaves it once it has restored the quotas. */
const vmmrqWithout = (vmmrq: Vmmrq): Vmmrq => ({
  ...vmmrq,
  status: { ...vmmrq.status, migrationsToBlockingResourceQuotas: {}, originalBlockingResourceQuotas: [] },
});

test('without the incumbent the same migration succeeds, with the same VMMRQ', async () => {
  const before = tenant.history.latest(VMMRQS);
  await environment.admin.delete(MTQS, { name: 'mtq' });
  await tenant.untilThrough();
  const after = tenant.history.latest(VMMRQS);
  expect([after?.metadata.uid, after?.spec]).toEqual([before?.metadata.uid, before?.spec]);
  await expectQuiescent(environment.admin, tenant);
});
