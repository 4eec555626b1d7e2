import type { ApiServer } from '../../functions/kubernetes/cluster.ts';
import { snapshotRights } from '../cluster/namespace.ts';
import { PluginError } from '../cluster/plugin-error.ts';
import type { Right } from '../cluster/rights.ts';
import { readState, STATE_RIGHTS } from '../cluster/state.ts';
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
  const [state, { items: vmis, date }] = await Promise.all([readState(cluster), readVmis(cluster, task)]);
  if (state.kubevirt === undefined) throw new PluginError('KubeVirt is not installed');
  return {
    now: date.getTime(),
    state,
    rules: state.rules,
    namespaces: await readNamespaces(cluster, { vmis, state }),
  };
}
