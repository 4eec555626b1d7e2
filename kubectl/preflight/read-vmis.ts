import { ignoreNotFound } from '../../functions/kubernetes/errors.ts';
import { KUBEVIRT } from '../../functions/domain/names.ts';
import type { VirtualMachineInstance } from '../../functions/domain/objects.ts';
import type { Reader, ReadList, ResourceType, Selection } from '../../functions/kubernetes/cluster.ts';
import { NAMESPACES, NODES } from '../../functions/kubernetes/resources.ts';
import { PluginError } from '../cluster/plugin-error.ts';
import { LISTED_VMIS_TO_PLAN } from './listed.ts';
import type { Task } from './task.ts';

export interface ReadVmis extends Pick<ReadList<VirtualMachineInstance>, 'items' | 'date'> {
  /** Whether only VMs that are outdated already count, because an upgrade has begun. */
  readonly onlyOutdated: boolean;
}

type List = Omit<ReadVmis, 'onlyOutdated'>;

/** Reads the running VMs that the task moves, by namespace and name. Rejects with a PluginError for an unknown node or namespace. */
export async function readVmis(cluster: Reader, task: Task): Promise<ReadVmis> {
  if (task.kind === 'upgrade') return readOutdated(cluster, task.all === true);
  return { ...(await readAny(cluster, task)), onlyOutdated: false };
}

const keyOf = ({ metadata }: VirtualMachineInstance): string =>
  `${metadata.namespace ?? ''}/${metadata.name}`;

const byNamespaceAndName = (one: VirtualMachineInstance, other: VirtualMachineInstance): number =>
  keyOf(one) < keyOf(other) ? -1 : 1;

async function readAny(cluster: Reader, task: Exclude<Task, { kind: 'upgrade' }>): Promise<List> {
  if (task.kind === 'node') return readOnNodes(cluster, task.nodes);
  await mustExist(cluster, NAMESPACES, task.namespace);
  return list(cluster, { namespace: task.namespace });
}

/** Maximum number of node names in a request: more make a URL too long. */
const MAX_NODES = 50;

async function readOnNodes(cluster: Reader, nodes: readonly string[]): Promise<List> {
  await Promise.all(nodes.map((node) => mustExist(cluster, NODES, node)));
  const labelSelector = `${KUBEVIRT.nodeName} in (${nodes.join(',')})`;
  const { items, date } = await list(cluster, nodes.length > MAX_NODES ? {} : { labelSelector });
  return { items: items.filter(({ status }) => nodes.includes(status?.nodeName ?? '')), date };
}

/** Reads the VMs that are left, during an upgrade and after one that got stuck; before the next one, all VMs. */
async function readOutdated(cluster: Reader, all: boolean): Promise<ReadVmis> {
  const outdated = all ? undefined : await list(cluster, { labelSelector: KUBEVIRT.outdatedLauncher });
  const onlyOutdated = outdated !== undefined && outdated.items.length > 0;
  return { ...(onlyOutdated ? outdated : await list(cluster, {})), onlyOutdated };
}

async function list(cluster: Reader, where: Selection): Promise<List> {
  const { items, date } = await cluster.list(LISTED_VMIS_TO_PLAN, where);
  // A VMI that is being deleted leaves without a migration.
  const running = items.filter(
    ({ metadata, status }) => status?.phase === 'Running' && metadata.deletionTimestamp === undefined,
  );
  return { items: running.toSorted(byNamespaceAndName), date };
}

async function mustExist(cluster: Reader, type: ResourceType, name: string): Promise<void> {
  const read = await ignoreNotFound(cluster.get(type, { name }));
  if (read === undefined) throw new PluginError(`there is no ${type.kind} ${name}`);
}
