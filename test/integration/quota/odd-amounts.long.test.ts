import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { EVENTS, RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import { expectAsBefore } from '../../support/as-before.ts';
import { breaches, wasSpecRaised } from '../../support/invariants.ts';
import { startLab, type Lab } from '../../support/lab.ts';
import { startLiar } from '../../support/liar.ts';
import { grantIn } from '../../support/moment.ts';
import { fullFor, newTenant, roomFor, type Tenant, type TenantWish } from '../../support/tenant.ts';

/** Amounts that the API server takes and changes, or takes and keeps though nobody would write them. */
let lab: Lab;

beforeAll(async () => {
  // The policies would refuse a raise that is not stored as it is recorded: here nothing else does.
  lab = await startLab({ wall: 'webhook' });
});

afterAll(async () => {
  await lab.stop();
});

const MUTATING_WEBHOOK_CONFIGURATIONS: ResourceType<KubernetesObject & { webhooks: object[] }> = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'MutatingWebhookConfiguration',
  plural: 'mutatingwebhookconfigurations',
  namespaced: false,
};

async function released(wish: TenantWish): Promise<Tenant> {
  const tenant = await newTenant(lab, wish);
  await tenant.migrate();
  await tenant.untilThrough();
  return tenant;
}

test('finer than a thousandth: no more is given than will be stored, and the original comes back', async () => {
  const { 'requests.cpu': _, ...memory } = roomFor(1);
  const gives = { ...memory, 'requests.cpu': '1500.5m' };
  const tenant = await released({ name: 'finer', gives, by: { raisePolicy: 'Fixed' } });
  const [grant] = tenant.history.of(RESOURCE_QUOTAS).flatMap((quota) => grantIn(quota) ?? []);
  expect([grant?.original['requests.cpu'], grant?.raised['requests.cpu']]).toEqual(['1405m', '2905m']);
  expect(breaches(tenant.history)).toEqual([]);
  await expectAsBefore(lab.admin, tenant);
});

test.each(['1e0003', '1e1002'])(
  'a key that no pod takes says %s: the migration is through, and nothing is left locked',
  async (configmaps) => {
    const quotas = { quota: { ...fullFor(1), configmaps } };
    const tenant = await released({ name: `odd-${configmaps}`, quotas });
    expect(breaches(tenant.history)).toEqual([]);
    await expectAsBefore(lab.admin, tenant);
  },
);

test("somebody's webhook changes what we write to the quotas: told, and not locked", async () => {
  const liar = await startLiar();
  lab.atEnd(() => liar.stop());
  const name = 'altered';
  const edit = [{ op: 'replace', path: '/spec/hard/requests.cpu', value: '1406m' }];
  const patch = Buffer.from(JSON.stringify(edit)).toString('base64');
  liar.says({ allowed: true, patchType: 'JSONPatch', patch });
  const webhook = {
    name: 'rounding.example.com',
    clientConfig: liar.clientConfig,
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
    rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['resourcequotas'], operations: ['UPDATE'] }],
  };
  await lab.admin.create(MUTATING_WEBHOOK_CONFIGURATIONS, {
    metadata: { name: 'rounding' },
    webhooks: [webhook],
  });
  const tenant = await newTenant(lab, { name });
  await tenant.migrate();
  await tenant.history.until('an Event on the VMMRQ says what', (history) =>
    history.of(EVENTS).some(({ message }) => message?.includes('would be stored with 1406m') === true),
  );
  expect(tenant.history.locks()).toEqual([]);
  expect(wasSpecRaised(tenant.history)).toBe(false);
});
