import type { Purpose } from '../../functions/domain/names.ts';
import type { KubeVirt } from '../../functions/domain/objects.ts';
import { isEvictedOnly, methodsOf } from '../../functions/progress/vm-state.ts';
import type { Amount } from '../../functions/domain/quantity.ts';

/** The task that an admin is about to start. */
export type Task =
  | { readonly kind: 'node'; readonly nodes: readonly string[] }
  | {
      readonly kind: 'upgrade';
      /** Additional overhead of the new launcher, before KubeVirt's ratio; the estimate's own margin by default. */
      readonly overhead?: Amount;
      /** Whether all VMs count, although some are outdated already. */
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

/** The purpose of a task's migrations. An evacuation from a node that is not being drained is UserRequested (docs/maintenance.md). */
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

/** The arguments of `kubectl vmmrq preflight` for it. */
export function argumentsOf(task: Task): string {
  switch (task.kind) {
    case 'node':
      return `node ${task.nodes.join(' ')}`;
    case 'upgrade':
      return 'upgrade';
    case 'namespace':
      return `namespace ${task.namespace}`;
  }
}
