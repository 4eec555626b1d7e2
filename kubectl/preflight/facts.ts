import type {
  KubernetesEvent,
  LimitRange,
  Migration,
  Namespace,
  PersistentVolumeClaim,
  Pod,
  ResourceQuota,
  VirtualMachineInstance,
  Vmmrq,
} from '../../functions/domain/objects.ts';

import type { Rules } from '../../functions/domain/snapshot.ts';
import type { ViewInput } from '../../functions/domain/view/view-of.ts';

/** A namespace with VMs to move, as read. */
export interface NamespaceFacts {
  readonly namespace: Namespace;
  readonly quotas: readonly ResourceQuota[];
  /** In force there: its own, and the cluster-wide ones that select it. */
  readonly vmmrqs: readonly Vmmrq[];
  /** Every launcher and attachment pod. */
  readonly pods: readonly Pod[];
  /** The running VMs to move. */
  readonly vmis: readonly VirtualMachineInstance[];
  /** Those that have not ended. */
  readonly migrations: readonly Migration[];
  readonly limitRanges: readonly LimitRange[];
  readonly claims: readonly PersistentVolumeClaim[];
  /** Why pods of VMs with such a migration were refused. */
  readonly events: readonly KubernetesEvent[];
}

/** Everything that preflight's verdicts depend on, as plain values. */
export interface ClusterFacts {
  /** The API server's clock, milliseconds. */
  readonly now: number;
  /** The cluster as the guard sees it: KubeVirt, the migrations that use slots, the incumbent. */
  readonly state: ViewInput;
  readonly rules: Rules;
  /** By name. */
  readonly namespaces: readonly NamespaceFacts[];
}
