import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { KUBEVIRT, REASON, type Purpose } from '../../../functions/domain/names.ts';
import { parseQuantity } from '../../../functions/domain/quantity.ts';
import type { ClusterVmmrq } from '../../../functions/domain/objects.ts';
import {
  CLUSTER_VMMRQS,
  EVENTS,
  NAMESPACES,
  NODES,
  RESOURCE_QUOTAS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import {
  FULL_KUBEVIRTS,
  FULL_MIGRATIONS,
  FULL_VMIS,
  newKubeVirt,
  newMigration,
} from '../../cluster/kubevirt/objects/objects.ts';
import { askUntil } from '../../support/eventually.ts';
import { cordon, createNodes, FULL_NODES } from '../../cluster/kubevirt/objects/node-objects.ts';
import { NODE_NAMES } from '../../cluster/kubevirt/start.ts';
import { expectAsBefore } from '../../support/invariants/as-before.ts';
import { grantIn } from '../../support/invariants/replay-state.ts';
import { headroomFor, newTenant, type Tenant } from '../../support/tenant/tenant.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';
import { rawText } from '../../support/raw-text.ts';
import type { ForeignText } from '../../../functions/domain/foreign-text.ts';

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment();
});

const created = new Set<string>();

/** Cluster-wide VMMRQs and nodes are of all tests that share the cluster. */
afterEach(async () => {
  const { admin } = environment;
  await admin.delete(CLUSTER_VMMRQS, { name: 'drains' }).catch(() => undefined);
  await admin.delete(FULL_KUBEVIRTS, { namespace: 'kubevirt', name: 'kubevirt' }).catch(() => undefined);
  for (const name of created) await admin.delete(NODES, { name });
  created.clear();
});

afterAll(async () => {
  await environment.stop();
});

/** The node of vm0 is cordoned; the stand-in's other nodes take its target. */
async function drain({ history }: Tenant): Promise<void> {
  const { admin } = environment;
  await createNodes(admin, NODE_NAMES);
  for (const name of NODE_NAMES) created.add(name);
  await cordon(admin, history.latest(FULL_VMIS, 'vm0')?.status?.nodeName ?? '');
}

/** Creates `mig0` of a tenant's vm0, with an annotation of one of KubeVirt's controllers. */
const automated =
  (annotations: Record<string, string>) =>
  ({ name: namespace }: Tenant): Promise<unknown> =>
    environment.admin.create(
      FULL_MIGRATIONS,
      newMigration({ namespace, name: 'mig0', vmi: 'vm0', annotations }),
    );

/** What the evacuation controller creates. */
const evacuate = automated({ [KUBEVIRT.evacuation]: 'node' });
/** What the workload updater creates for a change of the VM. */
const update = automated({ [KUBEVIRT.workloadUpdate]: '' });

/** Cluster-wide VMMRQ `drains` for these namespaces. */
const giveClusterWide = async (
  { name }: Tenant,
  spec: Partial<ClusterVmmrq['spec']> = {},
): Promise<unknown> =>
  environment.admin.create(CLUSTER_VMMRQS, {
    metadata: { name: 'drains' },
    spec: {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': name } },
      additionalMigrationResources: headroomFor(1),
      ...spec,
    },
  });

const reasonOf = ({ history }: Tenant): ForeignText | undefined =>
  history.latest(VMMRQS)?.status?.conditions?.find(({ type }) => type === 'Blocking')?.reason;

describe('a cluster-wide VMMRQ for drains', () => {
  test('lets an evacuation through in a namespace without a VMMRQ', async () => {
    const tenant = await newTenant(environment, { name: 'purpose-evacuation', gives: null });
    await giveClusterWide(tenant);
    await drain(tenant);
    await evacuate(tenant);
    await tenant.untilThrough();
    const grants = tenant.history.of(RESOURCE_QUOTAS).flatMap((quota) => grantIn(quota) ?? []);
    const { name: namespace } = tenant;
    await askUntil(
      'an Event on the cluster-wide VMMRQ says who got what',
      () => environment.admin.list(EVENTS, { namespace: 'default' }),
      ({ items }) =>
        items.some(
          ({ involvedObject, message }) =>
            involvedObject.kind === CLUSTER_VMMRQS.kind &&
            involvedObject.name === 'drains' &&
            rawText(message).startsWith(`for mig0 in namespace ${namespace}: `) &&
            /ResourceQuota quota was raised for .*requests\.cpu 1405m → \d+m/.test(rawText(message)),
        ),
    );
    expect(new Set(grants.flatMap(({ vmmrqs }) => vmmrqs.map(({ name }) => name)))).toEqual(
      new Set(['cvmmrq/drains']),
    );
    await askUntil(
      'its status says so too',
      () => environment.admin.get(CLUSTER_VMMRQS, { name: 'drains' }),
      ({ object: { status } }) => {
        const [last] = status?.given ?? [];
        const isOf = last?.namespace === namespace && last.quota === 'quota' && last.migrations[0] === 'mig0';
        return isOf && parseQuantity(last.amounts['requests.cpu'] ?? '0') > 0n;
      },
    );
    await expectAsBefore(environment.admin, tenant);
  });

  test('lets an evacuation through from a node with KubeVirt’s own drain taint', async () => {
    const { admin } = environment;
    const key = 'example.com/drain';
    await admin.create(FULL_KUBEVIRTS, newKubeVirt({ nodeDrainTaintKey: key }));
    const tenant = await newTenant(environment, { name: 'purpose-taint', gives: null });
    await giveClusterWide(tenant);
    await createNodes(admin, NODE_NAMES);
    for (const name of NODE_NAMES) created.add(name);
    const name = tenant.history.latest(FULL_VMIS, 'vm0')?.status?.nodeName ?? '';
    const taints = [{ key, effect: 'NoSchedule' }];
    await admin.patch(FULL_NODES, { name }, { merge: { spec: { taints } } });
    // KubeVirt's evacuation controller creates the migration.
    const { history } = tenant;
    const isThrough = (): boolean =>
      history.of(FULL_MIGRATIONS).some(({ status }) => status?.phase === 'Succeeded');
    await history.until('it is through, and unlocked', () => isThrough() && !history.isLocked());
    await expectAsBefore(admin, tenant);
  });

  test('lets an evacuation through that waited before it was created', async () => {
    const tenant = await newTenant(environment, { name: 'purpose-late', gives: null });
    await drain(tenant);
    await evacuate(tenant);
    await tenant.untilBlocked();
    await giveClusterWide(tenant);
    await tenant.untilThrough();
    await expectAsBefore(environment.admin, tenant);
  });

  test('adds to what the namespace’s own VMMRQ gives', async () => {
    const half = { 'requests.cpu': '505m', 'requests.memory': String(1_412_828_864 / 2) };
    const tenant = await newTenant(environment, { name: 'purpose-sum', gives: half });
    await giveClusterWide(tenant, { additionalMigrationResources: half });
    await drain(tenant);
    await evacuate(tenant);
    await tenant.untilThrough();
    await expectAsBefore(environment.admin, tenant);
  });

  const USELESS = { 'requests.cpu': '1m' };

  const OTHERS: Record<
    string,
    readonly [name: string, purpose: Purpose, begin: (tenant: Tenant) => Promise<unknown>]
  > = {
    'a tenant’s migration': [
      'purpose-user',
      'LiveUpdate',
      async (tenant) => {
        await drain(tenant);
        await tenant.migrate();
      },
    ],
    'a change of a VM whose launcher is up to date': ['purpose-change', 'Rebalance', update],
    'a launcher that a tenant evicts from a node that is not drained': [
      'purpose-eviction',
      'LiveUpdate',
      evacuate,
    ],
  };

  test.each(Object.entries(OTHERS))(
    'gives nothing to %s, and the VMMRQ says so',
    async (_, [name, purpose, begin]) => {
      const tenant = await newTenant(environment, { name, gives: USELESS, by: { purposes: [purpose] } });
      await giveClusterWide(tenant);
      await begin(tenant);
      await tenant.history.until('it says why', () => reasonOf(tenant) === REASON.purposeNotServed);
      expect(tenant.history.locks()).toEqual([]);
    },
  );

  test('gives nothing that is taken back between the lock and the raise', async () => {
    const tenant = await newTenant(environment, { name: 'purpose-taken-back', gives: null });
    await giveClusterWide(tenant);
    await drain(tenant);
    const go = environment.hold(tenant.name, 'mtq-raise');
    await evacuate(tenant);
    await tenant.history.until('it is locked', () => tenant.history.isLocked());
    await environment.admin.patch(
      CLUSTER_VMMRQS,
      { name: 'drains' },
      { merge: { spec: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'other' } } } } },
    );
    go();
    await tenant.untilUnlocked();
    const { object } = await environment.admin.get(NAMESPACES, { name: tenant.name });
    expect(JSON.stringify(object.metadata.annotations)).toContain(REASON.purposeNotServed);
    await expectAsBefore(environment.admin, tenant, { failed: true });
  });
});
