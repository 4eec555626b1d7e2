import { launchersOf } from '../migration.ts';
import { KUBEVIRT, type Purpose } from '../names.ts';
import type { KubeVirt, Migration, Node, Pod, VirtualMachineInstance } from '../objects.ts';
import type { NodeState } from '../snapshot.ts';

/** What only KubeVirt and admins write (POLICY.purposes): annotations of a migration, and a label of a VMI. */
export const MARKS = {
  migration: [KUBEVIRT.evacuation, KUBEVIRT.workloadUpdate],
  vmi: KUBEVIRT.outdatedLauncher,
} as const;

/** What the purpose of a migration is derived from. */
export interface PurposeInput {
  readonly migration: Migration;
  readonly vmi: VirtualMachineInstance;
  readonly pods: readonly Pod[];
  /** Nodes that evacuations leave, by name; one that is missing counts as not drained. */
  readonly nodes: ReadonlyMap<string, NodeState>;
}

/**
 * The purpose of a migration. Only KubeVirt can write the two annotations and the VMI's label (POLICY.purposes), and only an
 * admin can drain a node. So a tenant's own migration is UserRequested, also after an eviction of its own launcher
 * (docs/adr/0029).
 */
export function purposeOf(input: PurposeInput): Purpose {
  const { annotations } = input.migration.metadata;
  if (annotations?.[KUBEVIRT.evacuation] !== undefined) return purposeOfEvacuation(input);
  if (annotations?.[KUBEVIRT.workloadUpdate] === undefined) return 'UserRequested';
  const isOutdated = input.vmi.metadata.labels?.[KUBEVIRT.outdatedLauncher] !== undefined;
  return isOutdated && !hasPendingChange(input.vmi) ? 'WorkloadUpdate' : 'LiveUpdate';
}

/** The evacuation controller marks the descheduler's evictions by their priority (facts/kubevirt.md §3.2). */
function purposeOfEvacuation({ migration, pods, nodes }: PurposeInput): Purpose {
  if (migration.spec.priority === 'system-maintenance') return 'Rebalance';
  const launchers = launchersOf(migration, pods);
  // Each of them: a tenant may create a pod that looks like a launcher, on any node.
  const isLeaving = launchers.every(({ spec }) => nodes.get(spec.nodeName ?? '') === 'draining');
  return launchers.length > 0 && isLeaving ? 'Evacuation' : 'UserRequested';
}

/** A change of the VM that its next migration applies (facts/kubevirt.md §3.1). */
const CHANGES: readonly string[] = ['HotVCPUChange', 'HotMemoryChange', 'VolumesChange', 'MigrationRequired'];

export const hasPendingChange = ({ status }: VirtualMachineInstance): boolean =>
  (status?.conditions ?? []).some(
    (condition) => condition.status === 'True' && CHANGES.includes(condition.type),
  );

/**
 * Whether an admin drains the node: it is cordoned, or has KubeVirt's drain taint. `taint`: its key, drainTaintOf; left out:
 * KubeVirt's default, where the guard did not answer.
 */
export const isDraining = (node: Node, taint?: string): boolean =>
  node.spec?.unschedulable === true || hasDrainTaint(node, taint);

/** `taint` as for isDraining. */
export const nodeStateOf = (node: Node | undefined, taint?: string): NodeState =>
  node === undefined ? 'gone' : isDraining(node, taint) ? 'draining' : 'uncordoned';

/** KubeVirt evacuates every VM of such a node that it can migrate, with this effect only (facts/kubevirt.md §3.2). */
export const hasDrainTaint = ({ spec }: Node, taint: string = KUBEVIRT.drainTaint): boolean =>
  (spec?.taints ?? []).some(({ key, effect }) => key === taint && effect === 'NoSchedule');

/** kube-controller-manager gives a cordoned node this taint, with its time (k8s.io/kubernetes, pkg/controller/util/node). */
const CORDONED = 'node.kubernetes.io/unschedulable';

/** Returns since when the node is drained, by the times of these taints (milliseconds); -Infinity: none shows it. */
export function drainingSince({ spec }: Node, taint: string): number {
  const times = (spec?.taints ?? [])
    .filter(({ key, effect }) => [CORDONED, taint].includes(key) && effect === 'NoSchedule')
    .flatMap(({ timeAdded }) => (timeAdded === undefined ? [] : Date.parse(timeAdded)));
  return times.length === 0 ? -Infinity : Math.min(...times);
}

/** The key of the taint that drains a node. */
export const drainTaintOf = (kubevirt: KubeVirt | undefined): string =>
  kubevirt?.spec?.configuration?.migrations?.nodeDrainTaintKey ?? KUBEVIRT.drainTaint;
