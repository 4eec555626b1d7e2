import { readNodeState } from '../../functions/cluster/snapshot.ts';
import { KUBEVIRT } from '../../functions/domain/names.ts';
import { drainTaintOf } from '../../functions/domain/policy/purpose.ts';
import { readUncharged } from '../../functions/cluster/uncharged.ts';
import type { Reader } from '../../functions/kubernetes/cluster.ts';
import { mapAtMost } from '../cluster/map-at-most.ts';
import { snapshotRights } from '../cluster/namespace.ts';
import { PluginError } from '../cluster/plugin-error.ts';
import type { Right } from '../cluster/rights.ts';
import type { Sight } from '../cluster/sight.ts';
import { readState, STATE_RIGHTS } from '../cluster/state.ts';
import type { ClusterFacts, NamespaceFacts } from './facts.ts';
import { isGiveable } from './outcome.ts';
import type { Report } from './preflight.ts';
import { readNamespaces } from './read-namespaces.ts';
import { readVmis } from './read-vmis.ts';
import type { Task } from './task.ts';

/** Rights that readFacts needs. */
export const rightsFor = (task: Task): readonly Right[] => [
  ...STATE_RIGHTS,
  ...snapshotRights(task.kind === 'namespace' ? task.namespace : undefined),
];

/** Reads all facts that the verdicts depend on. Rejects with a PluginError if the node, the namespace or KubeVirt does not exist. */
export async function readFacts({ reader: cluster, unseen }: Sight, task: Task): Promise<ClusterFacts> {
  const listing = readVmis(cluster, task);
  // Without KubeVirt there are no VMIs to list, and that error comes first.
  listing.catch(() => undefined);
  const state = await readState(cluster);
  if (state.kubevirt === undefined && unseen.length === 0) throw new PluginError('KubeVirt is not installed');
  const { items: vmis, date, onlyOutdated } = await listing;
  const namespaces = await readNamespaces(cluster, { vmis, state });
  const taint = drainTaintOf(state.kubevirt);
  const states = await mapAtMost(AT_ONCE, nodesLeft(namespaces), (name) =>
    readNodeState(cluster, name, taint),
  );
  return { now: date.getTime(), state, rules: state.rules, onlyOutdated, nodes: new Map(states), namespaces };
}

/** The facts, with what quotas count beyond the pods in the namespaces where a VM would need more than is given. */
export async function withUncharged(
  cluster: Reader,
  facts: ClusterFacts,
  { vms }: Report,
): Promise<ClusterFacts> {
  const short = new Set(vms.filter(isGiveable).map(({ namespace }) => namespace));
  if (short.size === 0) return facts;
  const namespaces = await mapAtMost(AT_ONCE, facts.namespaces, async (each) => {
    const { name } = each.namespace.metadata;
    return short.has(name) ? { ...each, uncharged: await readUncharged(cluster, name, each.quotas) } : each;
  });
  return { ...facts, namespaces };
}

const AT_ONCE = 8;

/** The nodes that evacuations of these VMs leave: Evacuation is the purpose only where an admin drains them. */
function nodesLeft(namespaces: readonly NamespaceFacts[]): string[] {
  const nodes = namespaces.flatMap(({ vmis, migrations }) => {
    const evacuations = migrations.filter(
      ({ metadata }) => metadata.annotations?.[KUBEVIRT.evacuation] !== undefined,
    );
    const names = new Set(evacuations.map(({ spec }) => spec.vmiName));
    return vmis.flatMap(({ metadata, status }) => (names.has(metadata.name) ? (status?.nodeName ?? []) : []));
  });
  return [...new Set(nodes)];
}
