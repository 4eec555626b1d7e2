import { isFinal, isRejectedByQuota, isRunning } from '../domain/migration.ts';
import { KUBEVIRT } from '../domain/names.ts';
import type { Migration, Pod, VirtualMachineInstance } from '../domain/objects.ts';
import type { NamespaceSnapshot, ParallelUse, Rules } from '../domain/snapshot.ts';
import type { Cluster } from './cluster.ts';
import { isNotFound } from './errors.ts';
import { KUBEVIRTS, MIGRATIONS, NAMESPACES, PODS, RESOURCE_QUOTAS, VMIS, VMMRQS } from './resources.ts';

/** KubeVirt's defaults (MigrationConfiguration). */
const PER_CLUSTER = 5;
const PER_NODE = 2;

/** The migrations of a namespace; the one read of a wake that finds nothing to do. */
export async function readMigrations(cluster: Cluster, namespace: string): Promise<Migration[]> {
  return (await cluster.list(MIGRATIONS, { namespace })).items;
}

/**
 * All that a verdict about the namespace is made of, read at once. undefined when the namespace is gone.
 */
export async function readSnapshot(
  cluster: Cluster,
  name: string,
  rules: Rules,
): Promise<NamespaceSnapshot | undefined> {
  const migrations = await readMigrations(cluster, name);
  const rejected = migrations.filter(isRejectedByQuota);
  const [namespace, quotas, vmmrqs, launchers, vmis, parallel] = await Promise.all([
    orGone(cluster.get(NAMESPACES, { name })),
    cluster.list(RESOURCE_QUOTAS, { namespace: name }),
    cluster.list(VMMRQS, { namespace: name }),
    cluster.list(PODS, { namespace: name, labelSelector: `${KUBEVIRT.launcherLabel}=${KUBEVIRT.launcher}` }),
    readVmis(cluster, rejected),
    readParallelUse(cluster, rules.kubevirtNamespace),
  ]);
  if (namespace === undefined) return undefined;
  return {
    now: namespace.date.getTime(),
    namespace: namespace.object,
    migrations,
    quotas: quotas.items,
    vmmrqs: vmmrqs.items,
    launchers: launchers.items,
    vmis,
    parallel,
  };
}

/** undefined for an object that is not there. */
export async function orGone<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function readVmis(
  cluster: Cluster,
  migrations: readonly Migration[],
): Promise<Map<string, VirtualMachineInstance>> {
  const reads = migrations.map(async ({ metadata: { namespace = '' }, spec: { vmiName = '' } }) => {
    const read = vmiName === '' ? undefined : await orGone(cluster.get(VMIS, { namespace, name: vmiName }));
    return read === undefined ? [] : [[vmiName, read.object] as const];
  });
  return new Map((await Promise.all(reads)).flat());
}

/** How KubeVirt itself counts (facts/kubevirt.md §1.5): unfinished, and past Pending or with a target pod. */
async function readParallelUse(cluster: Cluster, kubevirtNamespace: string): Promise<ParallelUse> {
  const targets = { labelSelector: KUBEVIRT.migrationJobUID };
  const [all, kubevirts, pods] = await Promise.all([
    cluster.list(MIGRATIONS, {}),
    cluster.list(KUBEVIRTS, { namespace: kubevirtNamespace }),
    cluster.list(PODS, targets),
  ]);
  const withTarget = new Set(pods.items.map((pod) => pod.metadata.labels?.[KUBEVIRT.migrationJobUID]));
  const running = all.items.filter(
    (migration) => !isFinal(migration) && (isRunning(migration) || withTarget.has(migration.metadata.uid)),
  );
  const limits = kubevirts.items[0]?.spec?.configuration?.migrations;
  return {
    running: running.length,
    perCluster: limits?.parallelMigrationsPerCluster ?? PER_CLUSTER,
    outbound: outboundByNode([...(await readVmis(cluster, running)).values()]),
    perNode: limits?.parallelOutboundMigrationsPerNode ?? PER_NODE,
  };
}

function outboundByNode(vmis: readonly VirtualMachineInstance[]): Map<string, number> {
  const outbound = new Map<string, number>();
  for (const { status } of vmis) {
    if (status?.nodeName !== undefined) {
      outbound.set(status.nodeName, (outbound.get(status.nodeName) ?? 0) + 1);
    }
  }
  return outbound;
}

/** The target launchers of these migrations. */
export async function readTargets(
  cluster: Cluster,
  namespace: string,
  uids: readonly string[],
): Promise<Pod[]> {
  if (uids.length === 0) return [];
  const labelSelector = `${KUBEVIRT.migrationJobUID} in (${uids.join(',')})`;
  return (await cluster.list(PODS, { namespace, labelSelector })).items;
}
