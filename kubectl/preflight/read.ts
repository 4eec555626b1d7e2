import { ignoreNotFound } from '../../functions/cluster/snapshot.ts';
import { KUBEVIRT } from '../../functions/domain/names.ts';
import type { VirtualMachineInstance } from '../../functions/domain/objects.ts';
import { drainTaintOf, isDraining } from '../../functions/domain/policy/purpose.ts';
import type { ApiServer, Reader } from '../../functions/kubernetes/cluster.ts';
import { NODES } from '../../functions/kubernetes/resources.ts';
import { mapAtMost } from '../cluster/map-at-most.ts';
import { snapshotRights } from '../cluster/namespace.ts';
import { PluginError } from '../cluster/plugin-error.ts';
import type { Right } from '../cluster/rights.ts';
import { readState, STATE_RIGHTS, type State } from '../cluster/state.ts';
import type { ClusterFacts } from './facts.ts';
import { readNamespaces } from './read-namespaces.ts';
import { readVmis } from './read-vmis.ts';
import type { Task } from './task.ts';

/** What readFacts needs. */
export const rightsFor = (task: Task): readonly Right[] => [
  ...STATE_RIGHTS,
  ...snapshotRights(task.kind === 'namespace' ? task.namespace : undefined),
];

/** Reads all that the verdicts depend on. Rejects with a PluginError where the node, the namespace or KubeVirt is not there. */
export async function readFacts(cluster: ApiServer, task: Task): Promise<ClusterFacts> {
  const [state, { items: vmis, date, areLeft }] = await Promise.all([
    readState(cluster),
    readVmis(cluster, task),
  ]);
  if (state.kubevirt === undefined) throw new PluginError('KubeVirt is not installed');
  const [namespaces, draining] = await Promise.all([
    readNamespaces(cluster, { vmis, state }),
    readDraining(cluster, vmis, state),
  ]);
  return { now: date.getTime(), state, rules: state.rules, areLeft, draining, namespaces };
}

const NODES_AT_ONCE = 8;

/** Which nodes are drained, of those that evacuations of these VMs leave: only then is Evacuation their purpose. */
async function readDraining(
  cluster: Reader,
  vmis: readonly VirtualMachineInstance[],
  { migrations, kubevirt }: State,
): Promise<ReadonlySet<string>> {
  const keyOf = (namespace = '', name = ''): string => `${namespace}/${name}`;
  const evacuated = new Set(
    migrations
      .filter(({ metadata }) => metadata.annotations?.[KUBEVIRT.evacuation] !== undefined)
      .map(({ metadata, spec }) => keyOf(metadata.namespace, spec.vmiName)),
  );
  const leaving = vmis.filter(({ metadata }) => evacuated.has(keyOf(metadata.namespace, metadata.name)));
  const names = [...new Set(leaving.flatMap(({ status }) => status?.nodeName ?? []))];
  const nodes = await mapAtMost(NODES_AT_ONCE, names, (name) => ignoreNotFound(cluster.get(NODES, { name })));
  const taint = drainTaintOf(kubevirt);
  return new Set(
    nodes.flatMap((node) =>
      node !== undefined && isDraining(node.object, taint) ? [node.object.metadata.name] : [],
    ),
  );
}
