import type { Purpose } from '../../functions/domain/names.ts';
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

/** What the migrations of a task are for. */
export const PURPOSE_OF: Readonly<Record<Task['kind'], Purpose>> = {
  node: 'Evacuation',
  upgrade: 'WorkloadUpdate',
  namespace: 'UserRequested',
};

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
