import { LISTED_MIGRATIONS_TO_COME, named } from '../../functions/cluster/listed.ts';
import { ignoreNotFound } from '../../functions/kubernetes/errors.ts';
import { isRunning } from '../../functions/domain/migration.ts';
import { LABEL } from '../../functions/domain/names.ts';
import type { KubernetesObject, KubeVirt, Migration, Namespace } from '../../functions/domain/objects.ts';
import type { Rules } from '../../functions/domain/snapshot.ts';
import { heldBy, type ViewInput } from '../../functions/domain/view/view-of.ts';
import type { ListedType, Reader, ResourceType } from '../../functions/kubernetes/cluster.ts';
import {
  CLUSTER_VMMRQS,
  KUBEVIRTS,
  MIGRATIONS,
  MTQS,
  NAMESPACES,
  VMIS,
  VMMRQS,
  WEBHOOK_CONFIGURATIONS,
} from '../../functions/kubernetes/resources.ts';
import { DEFAULT_LOCK_SECONDS } from '../../functions/runtime/limits.ts';
import { PluginError } from './plugin-error.ts';
import type { Right } from './rights.ts';

/** The cluster as the guard watches it, read once. */
export interface State extends ViewInput {
  /** Locked namespaces. */
  readonly locked: readonly Namespace[];
  readonly rules: Rules;
  /** The API server's clock, milliseconds. */
  readonly now: number;
}

/** Rights that readState needs. */
export const STATE_RIGHTS: readonly Right[] = [
  ...[NAMESPACES, MIGRATIONS, VMMRQS, CLUSTER_VMMRQS, KUBEVIRTS, MTQS, WEBHOOK_CONFIGURATIONS].map(
    (type): Right => ({ verb: 'list', type }),
  ),
  { verb: 'get', type: VMIS },
];

/** Reads the state. Rejects as the verbs of Cluster do, and with a PluginError where this project is not installed. */
export async function readState(cluster: Reader): Promise<State> {
  const list = async <T extends KubernetesObject>(
    type: ResourceType<T> | ListedType<T>,
  ): Promise<T[] | undefined> => (await ignoreNotFound(cluster.list(type, {})))?.items;
  const [vmmrqs, clusterVmmrqs, migrations, kubevirts, incumbents, configurations, locked] =
    await Promise.all([
      list(VMMRQS),
      list(CLUSTER_VMMRQS),
      list(LISTED_MIGRATIONS_TO_COME),
      list(KUBEVIRTS),
      list(named(MTQS)),
      list(named(WEBHOOK_CONFIGURATIONS)),
      cluster.list(NAMESPACES, { labelSelector: LABEL.locked }),
    ]);
  if (vmmrqs === undefined) throw new PluginError(`not installed here: the cluster has no ${VMMRQS.plural}`);
  const kubevirt = kubevirts?.[0];
  const held = locked.items.flatMap((namespace) => heldBy(namespace) ?? []);
  return {
    vmmrqs,
    clusterVmmrqs: clusterVmmrqs ?? [],
    migrations: migrations ?? [],
    kubevirt,
    incumbents: byName(incumbents),
    configurations: byName(configurations),
    locked: locked.items,
    held,
    nodes: await readNodes(cluster, { migrations: migrations ?? [], held }),
    rules: rulesFor(kubevirt),
    now: locked.date.getTime(),
  };
}

const byName = (objects: readonly KubernetesObject[] = []): Map<string, KubernetesObject> =>
  new Map(objects.map((object) => [object.metadata.name, object]));

/**
 * The rules with the default lock time, because the cluster does not show LOCK_SECONDS of the functions; it only matters for the lock
 * budget.
 */
const rulesFor = (kubevirt: KubeVirt | undefined): Rules => ({
  kubevirtNamespace: kubevirt?.metadata.namespace ?? 'kubevirt',
  lockSeconds: DEFAULT_LOCK_SECONDS,
});

/** Reads the nodes that migrations with a slot or a lock leave: KubeVirt's limits bound their number. */
async function readNodes(
  cluster: Reader,
  { migrations, held }: Pick<State, 'migrations' | 'held'>,
): Promise<Map<string, string>> {
  const awaited = new Set(held.flatMap(({ launchers }) => launchers));
  const taking = migrations.filter((each) => isRunning(each) || awaited.has(each.metadata.uid));
  const nodes = taking.map(async (migration) => {
    const node = migration.status?.migrationState?.sourceNode ?? (await readNode(cluster, migration));
    return [migration.metadata.uid, node] as const;
  });
  return new Map(await Promise.all(nodes));
}

async function readNode(
  cluster: Reader,
  { metadata: { namespace = '' }, spec: { vmiName = '' } }: Migration,
): Promise<string> {
  if (vmiName === '') return '';
  const read = await ignoreNotFound(cluster.get(VMIS, { namespace, name: vmiName }));
  return read?.object.status?.nodeName ?? '';
}
