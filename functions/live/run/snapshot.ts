import type { KubernetesObject, Namespace, Pod, ResourceQuota } from '../../domain/objects.ts';
import type {
  Hook,
  NetworkMap,
  Plan,
  PlanMigration,
  PlanVm,
  StorageMap,
  VmStatus,
} from '../../domain/live/forklift.ts';
import type {
  Claim,
  ClaimProperties,
  ConfigMap,
  Job,
  VirtualMachine,
  Vmi,
  Vmim,
} from '../../domain/live/kubevirt.ts';
import type { LiveReason } from '../../domain/live/names.ts';
import type { RunId } from './names.ts';
import type { RunRecord } from './record.ts';

/**
 * A VM of a run, as read from all API servers. Every read was answered: `undefined` is an object that does not exist. If an API server did
 * not answer, or refused, there is no snapshot, and nothing is written.
 */
export interface RunSnapshot {
  readonly run: RunId;
  readonly hub: HubSide;
  readonly source: SourceSide;
  readonly target: TargetSide;
}

interface OneSide {
  /** The API server's clock, milliseconds. */
  readonly now: number;
  /** The id of the cluster: the uid of its namespace kube-system. */
  readonly cluster: string;
}

export interface HubSide extends OneSide {
  readonly plan: Plan;
  readonly migration: PlanMigration;
  /** The VM's entry in the plan. */
  readonly entry: PlanVm;
  readonly storage: StorageMap;
  readonly networks: NetworkMap;
  readonly hooks: readonly HookView[];
  readonly settings: RunSettings;
  /** The user's stop of the VM; undefined if there is none. */
  readonly stop: Stop | undefined;
  /** The Migration's status of the VM. */
  readonly status: VmStatus | undefined;
  /** The API server's refusal of a write that has been refused for long, so that none is tried any more. */
  readonly refused?: string | undefined;
  /** Conditions that keep the plan from being Ready: no new VM starts. */
  readonly blockers: readonly string[];
  /** Why the maps are not read: an edit of the plan. */
  readonly unread?: string | undefined;
}

/** The settings of a run, from those of the providers (docs/reference.md). */
export interface RunSettings {
  /** Milliseconds; undefined for a limit by the size of the VM. */
  readonly transferMs: number | undefined;
  /** Milliseconds after its guest's arrival within which the source VM must be proved off. */
  readonly sourceMs: number;
  /** Whether a VM moves although it fits in its quota only while a VMMRQ lets it in. */
  readonly allowOverQuota: boolean;
  /** Whether a VM that has moved migrates once more within the target, where its next crash would halt it. */
  readonly localMigration: boolean;
}

export interface Stop {
  readonly reason: LiveReason;
  readonly message: string;
}

export interface HookView {
  readonly step: 'PreHook' | 'PostHook';
  readonly hook: Hook | undefined;
  readonly job: Job | undefined;
  /** The ConfigMap that the Job mounts, read until the Job is started. */
  readonly files?: ConfigMap | undefined;
  /** Why the Hook is not read: an edit of the plan. */
  readonly unread?: string | undefined;
}

/** The VMIMs of one side. */
export interface OwnVmims {
  /** VMIMs of this run, of every attempt. */
  readonly vmims: readonly Vmim[];
  /** A VMIM with the name of the attempt's that is not of this run. */
  readonly taken?: Vmim | undefined;
  /** The VMIM that migrates the VM within the target. */
  readonly local?: Vmim | undefined;
}

export interface SourceSide extends OneSide, OwnVmims {
  readonly vm: VirtualMachine | undefined;
  /** A different VM that has the VM's name by now. */
  readonly successor?: VirtualMachine | undefined;
  readonly vmi: Vmi | undefined;
  /** Unfinished VMIMs of others for the same VMI, read until the guest has arrived. */
  readonly others: readonly Vmim[];
  /** The VMI's launchers; empty until the first VMIM. */
  readonly pods: readonly Pod[];
  /** The pods of the namespace that attach hotplugged volumes; empty where this VMI has none. */
  readonly attachments: readonly Pod[];
  /** The setup, read until the standby VM is there. */
  readonly setup: SourceSetup | undefined;
}

/** The objects that the VM uses on the source. */
export interface SourceSetup {
  /** The claims of its volumes by name; one that does not exist is left out. */
  readonly claims: ReadonlyMap<string, Claim>;
  /** Secrets, ConfigMaps, instance types and preferences that the VM names (resources.ts), as it runs with them. */
  readonly resources: readonly KubernetesObject[];
  /** The groups of them that the account may not read: those whose right each namespace gives, or the cluster. */
  readonly forbidden?: readonly ('of namespace' | 'of cluster')[];
}

export interface TargetSide extends OneSide, OwnVmims {
  /** The namespace, read until the cut-over. */
  readonly namespace: Namespace | undefined;
  /** The VM of the target's name, of this run or not. */
  readonly vm: VirtualMachine | undefined;
  readonly vmi: Vmi | undefined;
  /** The VMI's launchers. */
  readonly pods: readonly Pod[];
  /** The setup, read until the standby VM is there. */
  readonly setup: TargetSetup | undefined;
  /** Whether the VM's pods fit in the quotas of its namespace; read until the source's VMIM is made, and where a quota has refused one. */
  readonly fit: Fit;
  /** Names of the VMIs whose launcher in the namespace is on a node; undefined if it has no quota that counts them. */
  readonly launched: ReadonlySet<string> | undefined;
  /** Whether a volume is filled only once the launcher is on a node; read until both VMIMs of an attempt are made. */
  readonly isFilledLate?: boolean;
  /** Whether KubeVirt is at its limit of migrations at once, so that no launcher comes; read if the launcher is late. */
  readonly isQueued?: boolean;
  /** Why the API server refused the launcher last, in its words, read until there is one. */
  readonly refusal?: string | undefined;
  /** The excess of the namespace over its quotas, in words, read at the end of a VM that stays there; empty if there is none. */
  readonly over: string | undefined;
  /** The objects that the run has made, read when it goes back, or when the source VM or its record is not there. */
  readonly made: MadeObjects | undefined;
}

export interface TargetSetup {
  /** DataVolumes and PersistentVolumeClaims of the names that are needed. */
  readonly volumes: readonly KubernetesObject[];
  /** Secrets, ConfigMaps, instance types and preferences of the names that are needed. */
  readonly resources: readonly KubernetesObject[];
  /** Whether the account may not read Secrets or ConfigMaps of the namespace, and the VM names some. */
  readonly isForbidden?: true;
  /** Quotas of the namespace, while a volume is still to be made. */
  readonly quotas: readonly ResourceQuota[];
  /** Modes that each storage class offers, by its StorageProfile. */
  readonly claimProperties: ReadonlyMap<string, readonly ClaimProperties[]>;
}

export interface Fit {
  /** The missing amounts in words; undefined if the launcher fits. */
  readonly missing: string | undefined;
  /** Whether VMMRQs that allow it would let the launcher in. */
  readonly isLetIn: boolean;
}

export interface MadeObjects {
  /** Volumes of this VM alone. */
  readonly volumes: readonly KubernetesObject[];
  /** Secrets and the like that this run made, and that no VM of the namespace refers to but its own. */
  readonly unused: readonly KubernetesObject[];
  /** Secrets and the like that other VMs refer to by now; left out if there are none. */
  readonly used?: readonly KubernetesObject[];
}

/** A snapshot of a VM that has this run's record: what every step after Started reads. */
export interface RecordedRun extends RunSnapshot {
  readonly record: RunRecord;
  readonly source: SourceSide & { readonly vm: VirtualMachine };
}
