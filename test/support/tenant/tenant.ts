import type { Namespace, ResourceList, ResourceQuota, Vmmrq } from '../../../functions/domain/objects.ts';
import type { Address, Cluster } from '../../../functions/kubernetes/cluster.ts';
import { NAMESPACES, RESOURCE_QUOTAS, VMMRQS } from '../../../functions/kubernetes/resources.ts';
import { ignoreNotFound } from '../../../functions/kubernetes/errors.ts';
import { FULL_MIGRATIONS, FULL_VMIS } from '../../cluster/kubevirt/objects/objects.ts';
import type { Vmim } from '../../cluster/kubevirt/objects/types.ts';
import { createNamespace, migrate, runVmi } from '../kubevirt/harness.ts';
import type { History } from './history.ts';
import type { TestEnvironment } from '../environment/test-environment.ts';

export interface TenantOptions {
  readonly name: string;
  /** Number of running VMs vm0, vm1, …: one core and 1Gi each; default 1. */
  readonly vms?: number;
  /** Names of volume claims that are hotplugged into each VM. */
  readonly hotplug?: readonly string[];
  /** ResourceQuotas by name; left out: one nearly full quota. */
  readonly quotas?: Readonly<Record<string, ResourceList>>;
  /** The allowance of the VMMRQ `more`; null: no VMMRQ; left out: enough for one migration. */
  readonly gives?: ResourceList | null;
  /** Other fields of the VMMRQ's spec. */
  readonly by?: Omit<Vmmrq['spec'], 'additionalMigrationResources'>;
}

/** A tenant's namespace with running VMs, full quotas, and its whole history. */
export interface Tenant {
  readonly name: string;
  readonly history: History;
  /** The namespace at the beginning. */
  readonly before: { readonly namespace: Namespace; readonly quotas: readonly ResourceQuota[] };
  /** Creates the migration `mig0` of `vm0`, `mig1` of `vm1`, …; resolves when it is created. */
  migrate(vm?: number): Promise<Vmim>;
  migration(vm?: number): Vmim | undefined;
  /** Whether the migration has succeeded. */
  isThrough(vm?: number): boolean;
  /** Resolves when KubeVirt reports that a quota refuses the target pod. */
  untilBlocked(vm?: number): Promise<void>;
  /** Resolves when the namespace was locked, and is no longer. */
  untilUnlocked(): Promise<void>;
  /** Resolves when these migrations (left out: the first) have succeeded, and the namespace is unlocked. */
  untilThrough(...vms: readonly number[]): Promise<void>;
}

/** The API server's charge for a launcher of such a VM (test/cluster/kubevirt/objects/compute-resources.ts). */
const LAUNCHER = { milliCpu: 1_005, bytes: 1_412_828_864 };

/** A quota for this number of VMs, without headroom for another launcher. */
export const fullFor = (vms: number): ResourceList => ({
  pods: '10',
  'requests.cpu': `${vms * LAUNCHER.milliCpu + 400}m`,
  'requests.memory': String(vms * LAUNCHER.bytes + 600 * 1_024 ** 2),
});

/** The amounts of this number of launchers: a VMMRQ's allowance for as many migrations at once. */
export const headroomFor = (launchers: number): ResourceList => ({
  'requests.cpu': `${launchers * LAUNCHER.milliCpu}m`,
  'requests.memory': String(launchers * LAUNCHER.bytes),
});

export async function newTenant(
  environment: Pick<TestEnvironment, 'admin' | 'watch'>,
  options: TenantOptions,
): Promise<Tenant> {
  const {
    name,
    vms = 1,
    hotplug = [],
    quotas = { quota: fullFor(vms) },
    gives = headroomFor(1),
    by,
  } = options;
  const { admin } = environment;
  await createNamespace(admin, name);
  const history = await environment.watch(name);
  for (const [quota, hard] of Object.entries(quotas)) {
    await admin.create(RESOURCE_QUOTAS, { metadata: { namespace: name, name: quota }, spec: { hard } });
  }
  const isCounted = (quota: string): boolean =>
    history.latest(RESOURCE_QUOTAS, quota)?.status?.used !== undefined;
  await history.until('the quotas are enforced', () => Object.keys(quotas).every(isCounted));
  if (gives !== null)
    await give(admin, { namespace: name, name: 'more', ...(by === undefined ? {} : { by }) }, gives);
  await Promise.all(
    Array.from({ length: vms }, (_, vm) => runVmi(admin, { namespace: name, name: `vm${vm}`, hotplug })),
  );
  const isRunning = (vm: number): boolean =>
    history.latest(FULL_VMIS, `vm${vm}`)?.status?.phase === 'Running';
  await history.until('the VMs run', () => Array.from({ length: vms }, (_, vm) => vm).every(isRunning));
  const { namespace, quotas: counted } = await readBack(admin, { name, history });
  if (namespace === undefined) throw new Error(`${name} is gone`);
  return { name, history, before: { namespace, quotas: counted }, ...acts(admin, name, history) };
}

/** Number of pods in a quota's count (left out: the only quota); source and target pod of one VM count as two. */
export const countedPods = ({ history }: Tenant, quota?: string): string | undefined =>
  history.latest(RESOURCE_QUOTAS, quota)?.status?.used?.['pods'];

/** Deletes everything that runs in the namespace and stops its watches; its quotas stay for later checks. */
export async function retire(admin: Cluster, { name, history }: Tenant): Promise<void> {
  await history.stop();
  const { items } = await admin.list(FULL_VMIS, { namespace: name });
  await Promise.all(
    items.map(({ metadata }) => admin.delete(FULL_VMIS, { namespace: name, name: metadata.name })),
  );
}

/** A VMMRQ; without amounts where the list is empty. */
export async function give(
  admin: Cluster,
  { namespace, name, by }: Required<Address> & Pick<TenantOptions, 'by'>,
  additionalMigrationResources: ResourceList,
): Promise<void> {
  await admin.create(VMMRQS, {
    metadata: { namespace, name },
    spec: {
      ...(Object.keys(additionalMigrationResources).length > 0 ? { additionalMigrationResources } : {}),
      ...by,
    },
  });
}

/** The current namespace (undefined: gone) and its quotas; resolves when the history has reached them. */
export async function readBack(
  admin: Cluster,
  { name, history }: Pick<Tenant, 'name' | 'history'>,
): Promise<{ readonly namespace: Namespace | undefined; readonly quotas: readonly ResourceQuota[] }> {
  const [read, { items: quotas }] = await Promise.all([
    ignoreNotFound(admin.get(NAMESPACES, { name })),
    admin.list(RESOURCE_QUOTAS, { namespace: name }),
  ]);
  const namespace = read?.object;
  await history.untilSeen(namespace === undefined ? quotas : [namespace, ...quotas]);
  return { namespace, quotas };
}

function acts(admin: Cluster, name: string, history: History): Omit<Tenant, 'name' | 'history' | 'before'> {
  const migration = (vm = 0): Vmim | undefined => history.latest(FULL_MIGRATIONS, `mig${vm}`);
  const isThrough = (vm = 0): boolean => migration(vm)?.status?.phase === 'Succeeded';
  return {
    migration,
    isThrough,
    migrate: (vm = 0) => migrate(admin, { namespace: name, name: `mig${vm}`, vmi: `vm${vm}` }),
    untilBlocked: (vm = 0) => history.until(`mig${vm} is refused by a quota`, () => isBlocked(migration(vm))),
    untilUnlocked: () =>
      history.until(`${name} is unlocked again`, () => history.locks().length > 0 && !history.isLocked()),
    untilThrough: (...vms) =>
      history.until(
        `the migrations of ${name} are through, and it is unlocked`,
        () => (vms.length === 0 ? [0] : vms).every(isThrough) && !history.isLocked(),
      ),
  };
}

const isBlocked = (migration: Vmim | undefined): boolean =>
  (migration?.status?.conditions ?? []).some(({ type }) => type === 'migrationRejectedByResourceQuota');
