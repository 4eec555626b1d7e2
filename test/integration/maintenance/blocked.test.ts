import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { KIND, REASON, SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import type { KubernetesEvent } from '../../../functions/domain/objects.ts';
import { owesEvents, type MaintenanceProgress } from '../../../functions/domain/progress/progress-object.ts';
import { EVENTS_WITH_VERDICTS } from '../../../functions/cluster/listed-events.ts';
import { ignoreNotFound, isAlreadyExists } from '../../../functions/kubernetes/errors.ts';
import type { Address } from '../../../functions/kubernetes/cluster.ts';
import {
  CLUSTER_VMMRQS,
  EVENTS,
  PROGRESSES,
  RESOURCE_QUOTAS,
  VMMRQS,
} from '../../../functions/kubernetes/resources.ts';
import { cordon } from '../../cluster/kubevirt/objects/node-objects.ts';
import { evict } from '../../cluster/kubevirt/virt-api/evict.ts';
import { FULL_VMIS, LAUNCHER_PODS } from '../../cluster/kubevirt/objects/objects.ts';
import { askUntil } from '../../support/eventually.ts';
import { give, headroomFor, newTenant, type Tenant } from '../../support/tenant/tenant.ts';
import { startTestEnvironment, type TestEnvironment } from '../../support/environment/test-environment.ts';

/** Drains of VMs whose quotas are full: what `progress` reports of the verdicts. */

let environment: TestEnvironment;

beforeAll(async () => {
  environment = await startTestEnvironment({ kubevirt: { drains: true } });
});

afterAll(async () => {
  await environment.stop();
});

const nodeOf = ({ history }: Tenant): string => history.latest(FULL_VMIS, 'vm0')?.status?.nodeName ?? '';

/** Cordons the node of the tenant's VM and asks for the eviction of its launcher, as `kubectl drain` does. */
async function drain(tenant: Tenant): Promise<string> {
  const { admin } = environment;
  const node = nodeOf(tenant);
  await cordon(admin, node);
  const { items } = await admin.list(LAUNCHER_PODS, { namespace: tenant.name });
  for (const launcher of items) await expect(evict(admin, launcher)).rejects.toThrow('evacuation of VMI');
  return node;
}

const untilDrain = async (
  node: string,
  holds: (found: MaintenanceProgress | undefined) => boolean,
): Promise<MaintenanceProgress> => {
  const found = await askUntil(
    `the drain of ${node}`,
    async () =>
      (await environment.admin.list(PROGRESSES, {})).items.findLast(({ spec }) => spec.node?.name === node),
    holds,
  );
  if (found === undefined) throw new Error('there is none');
  return found;
};

/** The VM's entry in the drain's report. */
const entryOf = ({ name }: Tenant, found: MaintenanceProgress | undefined): object | undefined =>
  found?.status?.buckets
    .find((bucket) => bucket.name === 'blocked')
    ?.vms.find(({ namespace }) => namespace === name);

const METRICS = `http://${SERVICE_ACCOUNT.guard}.${SYSTEM_NAMESPACE}.svc:8080/metrics`;

/** The guard's metric: how many VMs block drains. */
async function blockedDrains(): Promise<number> {
  const scrape = await fetch(environment.cluster.eventing.rewrite(METRICS));
  return Number(/^mtq_maintenance_blocked\{kind="Drain"\} (\d+)$/m.exec(await scrape.text())?.[1]);
}

const giveClusterWide = async (namespace: string, cpu: string): Promise<void> => {
  await environment.admin.create(CLUSTER_VMMRQS, {
    metadata: { name: namespace },
    spec: {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
      additionalMigrationResources: { ...headroomFor(1), 'requests.cpu': cpu },
    },
  });
};

/** With the reason of its verdict. */
const CASES: Record<string, readonly [string, (namespace: string) => Promise<void>]> = {
  'without any VMMRQ': ['NoVirtualMachineMigrationResourceQuota', () => Promise.resolve()],
  'with a cluster-wide VMMRQ only, which gives too little': [
    'NotEnough',
    (namespace) => giveClusterWide(namespace, '1m'),
  ],
  'with a VMMRQ of its own, which gives too little': [
    'NotEnough',
    (namespace) => give(environment.admin, { namespace, name: 'more', by: {} }, { 'requests.cpu': '1m' }),
  ],
};

test.each(Object.entries(CASES))(
  'a VM %s is blocked: its entry has verdict, quota, keys and amounts; given more, it leaves',
  async (_, [reason, prepare]) => {
    const { admin } = environment;
    const name = `blocked-${String(Object.values(CASES).findIndex(([, each]) => each === prepare))}`;
    const tenant = await newTenant(environment, { name, gives: null });
    await prepare(name);
    const node = await drain(tenant);
    const blocked = await untilDrain(
      node,
      (found) => found?.status?.state === 'Blocked' && entryOf(tenant, found) !== undefined,
    );
    const entry = { namespace: name, name: 'vm0', since: expect.any(String) };
    const examined = await untilDrain(
      node,
      (found) => JSON.stringify(entryOf(tenant, found)).includes(reason) && !owesEvents(found ?? blocked),
    );
    expect(entryOf(tenant, examined)).toEqual({
      ...entry,
      reason,
      quotas: [
        {
          name: 'quota',
          missing: { 'requests.cpu': '605m', 'requests.memory': expect.stringMatching(/^\d+(Mi|Ki)?$/) },
        },
      ],
    });
    const { items: events } = await admin.list(EVENTS, { namespace: 'default' });
    expect(
      events.filter(
        ({ reason: of, involvedObject }) => of === 'DrainBlocked' && involvedObject.name === node,
      ),
    ).not.toEqual([]);
    await askUntil('the metric counts the VM', blockedDrains, (count) => count === 1);

    await admin.delete(CLUSTER_VMMRQS, { name }).catch(() => undefined);
    await admin.delete(VMMRQS, { namespace: name, name: 'more' }).catch(() => undefined);
    await give(admin, { namespace: name, name: 'enough', by: {} }, headroomFor(1));
    await untilDrain(node, (found) => found?.status?.state === 'Completed');
    await askUntil('the metric counts none', blockedDrains, (count) => count === 0);
    await cordon(admin, node, false);
  },
);

test('a quota on the number of migrations refuses a VM its migration: the drain names that quota', async () => {
  const { admin } = environment;
  const tenant = await newTenant(environment, { name: 'counted', gives: null });
  await give(admin, { namespace: tenant.name, name: 'enough', by: {} }, headroomFor(1));
  const at = { namespace: tenant.name, name: 'objects' };
  await admin.create(RESOURCE_QUOTAS, {
    metadata: at,
    spec: { hard: { 'count/virtualmachineinstancemigrations.kubevirt.io': '0' } },
  });
  await askUntil(
    'the quota is enforced',
    async () => (await admin.get(RESOURCE_QUOTAS, at)).object.status?.hard,
    (hard) => hard !== undefined,
  );
  const node = await drain(tenant);
  const blocked = await untilDrain(
    node,
    (found) => found?.status?.state === 'Blocked' && entryOf(tenant, found) !== undefined,
  );
  expect(entryOf(tenant, blocked)).toMatchObject({
    reason: REASON.migrationQuota,
    message: expect.stringMatching(/quota: objects\b/),
    since: expect.any(String),
  });

  await admin.delete(RESOURCE_QUOTAS, at);
  // KubeVirt's next attempt may be minutes away.
  const touch = { metadata: { annotations: { touched: 'true' } } };
  await admin.patch(FULL_VMIS, { namespace: tenant.name, name: 'vm0' }, { merge: touch });
  await untilDrain(node, (found) => found?.status?.state === 'Completed');
  await cordon(admin, node, false);
});

const verdictsIn = async (namespace: string): Promise<KubernetesEvent[]> =>
  (await environment.admin.list(EVENTS, { namespace, ...EVENTS_WITH_VERDICTS })).items;

/** False: our own Event was there again first. */
async function replaceEvent(
  at: Required<Address>,
  other: Omit<KubernetesEvent, 'metadata'>,
): Promise<boolean> {
  const { admin } = environment;
  await ignoreNotFound(admin.delete(EVENTS, at));
  try {
    await admin.create(EVENTS, { metadata: at, ...other });
    return true;
  } catch (error) {
    if (isAlreadyExists(error)) return false;
    throw error;
  }
}

/** Puts another Event under the name of each verdict, as any editor of the namespace may. Resolves with the names. */
async function replaceVerdicts(
  namespace: string,
  others: Readonly<Record<string, unknown>>,
): Promise<string[]> {
  const verdicts = await verdictsIn(namespace);
  for (const { metadata, involvedObject } of verdicts) {
    const other = {
      involvedObject: { ...involvedObject, kind: 'Pod', uid: 'uid-of-another' },
      ...{ reason: 'Any', type: 'Normal' as const, source: { component: 'kubelet' }, ...others },
    };
    const at = { namespace, name: metadata.name };
    await askUntil('another Event has its name', () => replaceEvent(at, other), Boolean);
  }
  return verdicts.map(({ metadata }) => metadata.name);
}

const OTHERS: Record<string, Readonly<Record<string, unknown>>> = {
  'of another component': {},
  'of the newer API, about another namespace': {
    involvedObject: { ...KIND.migration, namespace: 'default', name: 'mig0', uid: 'uid-of-another' },
    ...{ eventTime: '2026-11-27T00:00:00.000000Z', action: 'Any', source: {} },
    ...{ reportingComponent: 'example.com/any', reportingInstance: 'any' },
  },
};

test.each(Object.entries(OTHERS))(
  'a tenant replaces the Event of a verdict by one %s: the next verdict is known all the same',
  async (_, others) => {
    const { admin } = environment;
    const tenant = await newTenant(environment, {
      name: `forger-${String(Object.values(OTHERS).indexOf(others))}`,
      gives: null,
    });
    await give(admin, { namespace: tenant.name, name: 'more', by: {} }, { 'requests.cpu': '1m' });
    const node = await drain(tenant);
    const isKnown = (found: MaintenanceProgress | undefined): boolean =>
      JSON.stringify(entryOf(tenant, found) ?? {}).includes('NotEnough');
    await untilDrain(node, isKnown);
    const replaced = await replaceVerdicts(tenant.name, others);
    expect(replaced).not.toEqual([]);
    const merge = { spec: { additionalMigrationResources: { 'requests.cpu': '2m' } } };
    await admin.patch(VMMRQS, { namespace: tenant.name, name: 'more' }, { merge });
    await askUntil(
      `a verdict in the place of ${replaced.join(', ')}`,
      () => verdictsIn(tenant.name),
      (verdicts) => verdicts.some(({ metadata }) => replaced.includes(metadata.name)),
    );
    await untilDrain(node, isKnown);
    await cordon(admin, node, false);
  },
);
