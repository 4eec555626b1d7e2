import type {
  KubernetesEvent,
  LabelSelector,
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
import type { View } from './view.ts';

/** KubeVirt's configuration, as far as it decides on a launcher's resources (facts/kubevirt.md §2.1). */
export interface LauncherRules {
  /** additionalGuestMemoryOverheadRatio; 1 when unset. */
  readonly overheadRatio: Amount;
  /** Whether this KubeVirt gives launchers limits by itself where a quota has limits. */
  readonly autoLimits: boolean;
  /** The namespaces in which KubeVirt gives launchers a limit of CPU, whatever the quotas have; left out: none. */
  readonly autoCpuNamespaces?: LabelSelector | undefined;
  /** The virtual CPUs for each CPU that a launcher requests, where KubeVirt's CR says it. */
  readonly cpuAllocationRatio?: number | undefined;
  /** The class of the claims that KubeVirt makes to keep the state of VMs, where its CR says it; left out: the default class. */
  readonly stateStorageClass?: string | undefined;
}

/** What a quota counts as used of a key, and what the living pods of its namespace are charged: less. */
export interface Uncharged {
  readonly used: Amount;
  readonly charged: Amount;
}

/** What is uncharged, by quota uid and key as the quota spells it. */
export type UnchargedOf = ReadonlyMap<string, ReadonlyMap<string, Uncharged>>;

/** Whether an admin drains a node. `gone`: there is no node of this name. */
export type NodeState = 'draining' | 'uncordoned' | 'gone';

/** A namespace as read: everything that a verdict depends on. */
export interface NamespaceSnapshot extends LauncherRules {
  /** The API server's clock, milliseconds since 1970. */
  readonly now: number;
  readonly namespace: Namespace;
  readonly migrations: readonly Migration[];
  readonly quotas: readonly ResourceQuota[];
  /** The VMMRQs of the namespace, and the cluster-wide ones that select it. */
  readonly vmmrqs: readonly Vmmrq[];
  /** Every virt-launcher pod, and every attachment pod (of hotplugged volumes). */
  readonly pods: readonly Pod[];
  /** What follows is read only where a migration is blocked: what its target pod is sized by, and what else refuses it. */
  /** The VMIs of the blocked migrations, by name; one that is missing is gone. */
  readonly vmis: ReadonlyMap<string, VirtualMachineInstance>;
  /** The guard's view of the cluster; undefined: it did not answer. */
  readonly view: View | undefined;
  /** What shows the incumbent, read only where the guard did not answer; the VMMRQs may show it too (incumbentIn). */
  readonly incumbent?: string | undefined;
  /** The nodes that evacuations leave; read where a VMMRQ depends on the purpose of a migration. One that is missing is not known. */
  readonly nodes: ReadonlyMap<string, NodeState>;
  /** The LimitRanges; empty too where they can make no difference (optional-reads.ts). */
  readonly limitRanges: readonly LimitRange[];
  /** Why pods of VMIs were refused: virt-controller's own Events. */
  readonly events: readonly KubernetesEvent[];
  /** What quotas count beyond the pods of the namespace, by quota uid and key; left out: it was not read. */
  readonly uncharged?: UnchargedOf | undefined;
  /** When virt-controller renewed its Lease, milliseconds; read after a lock that may have lacked KubeVirt. Left out: not known. */
  readonly renewed?: number | undefined;
  /** Every volume claim, if a VM keeps state on a volume. */
  readonly claims: readonly PersistentVolumeClaim[];
  /** How much more overhead a newer launcher has, where a user says so; left out: the default (growth.ts). */
  readonly upgradeOverhead?: Amount;
}

/** Settings that do not change from one event to the next. */
export interface Rules {
  readonly kubevirtNamespace: string;
  readonly lockSeconds: number;
}
