import type { Purpose } from '../../functions/domain/names.ts';
import type { KubeVirt } from '../../functions/domain/objects.ts';
import { isEvictedOnly, methodsOf } from '../../functions/domain/progress/vm-state.ts';
import type { Amount } from '../../functions/domain/quantity.ts';

/** What an admin is about to do. */
export type Task =
  | { readonly kind: 'node'; readonly nodes: readonly string[] }
  | {
      readonly kind: 'upgrade';
      /** How much more overhead the new launcher has, before KubeVirt's ratio; left out: the estimate's own margin. */
      readonly overhead?: Amount;
      /** All VMs, although some are outdated already. */
      readonly all?: boolean;
    }
  | { readonly kind: 'namespace'; readonly namespace: string };

/** Whether KubeVirt evicts the VMs of an upgrade, and so evacuates them as in a drain (facts/kubevirt.md §3.3). */
export const isByEviction = ({ kind }: Task, kubevirt: KubeVirt | undefined): boolean =>
  kind === 'upgrade' && isEvictedOnly('Upgrade', methodsOf(kubevirt));

const PURPOSE_OF: Readonly<Record<Task['kind'], Purpose>> = {
  node: 'Evacuation',
  upgrade: 'WorkloadUpdate',
  namespace: 'UserRequested',
};

/** What the migrations of a task are for. An evacuation from a node that nobody drains is UserRequested (docs/maintenance.md). */
export const purposeOfTask = (task: Task, kubevirt: KubeVirt | undefined): Purpose =>
  isByEviction(task, kubevirt) ? 'UserRequested' : PURPOSE_OF[task.kind];

/** "drain of node1, node2" */
export function describeTask(task: Task): string {
  switch (task.kind) {
    case 'node':
      return `drain of ${task.nodes.join(', ')}`;
    case 'upgrade':
      return 'upgrade of KubeVirt';
    case 'namespace':
      return `migration of every VM of namespace ${task.namespace}`;
  }
}
