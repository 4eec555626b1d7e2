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
} from './objects.ts';
import type { Amount } from './quantity.ts';

/** KubeVirt's parallel limits, and how much of them is used now (facts/kubevirt.md §1.5). */
export interface ParallelUse {
  /** Under way, or locked for in another namespace and next. */
  readonly running: number;
  readonly perCluster: number;
  /** Of these, by source node. */
  readonly outbound: ReadonlyMap<string, number>;
  readonly perNode: number;
  /** Tokens of the other namespaces' locks that are counted above. */
  readonly locks: readonly string[];
  /** Others wait for their quota too, and may be locked for in the same moment. */
  readonly isContended: boolean;
}

/** One namespace as it was read: all that a verdict is made of. */
export interface NamespaceSnapshot {
  /** The API server's clock, milliseconds since 1970. */
  readonly now: number;
  readonly namespace: Namespace;
  readonly migrations: readonly Migration[];
  readonly quotas: readonly ResourceQuota[];
  readonly vmmrqs: readonly Vmmrq[];
  /** Every virt-launcher pod, and every attachment pod (of hotplugged volumes). */
  readonly pods: readonly Pod[];
  /** What follows is read only where a migration is blocked: what its target pod is sized by, and what else refuses it. */
  /** The VMIs of the blocked migrations, by name; one that is missing is gone. */
  readonly vmis: ReadonlyMap<string, VirtualMachineInstance>;
  readonly parallel: ParallelUse;
  /** Empty too where they can make no difference (closer-look.ts). */
  readonly limitRanges: readonly LimitRange[];
  /** Why pods of VMIs were refused: virt-controller's own Events. */
  readonly events: readonly KubernetesEvent[];
  /** Where a VM keeps state on a volume: every volume claim. */
  readonly claims: readonly PersistentVolumeClaim[];
  /** KubeVirt's additionalGuestMemoryOverheadRatio; 1 when unset. */
  readonly overheadRatio: Amount;
  /** Whether this KubeVirt gives launchers limits by itself where a quota has limits. */
  readonly autoLimits: boolean;
}

/** What does not change from one event to the next. */
export interface Rules {
  readonly kubevirtNamespace: string;
  readonly lockSeconds: number;
}
