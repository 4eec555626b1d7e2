import type { ForeignText } from '../foreign-text.ts';
import type { KubernetesObject } from '../objects.ts';
import type { MoveEvent } from './move-events.ts';

/**
 * Forklift's kinds with the fields that live migrations use (facts/cross-cluster.md §A). Types only: mtq's CRDs and Forklift's keep the
 * other fields.
 */

/** An object by name; Forklift's kinds write a namespace with it. */
export interface NamedReference {
  namespace?: string;
  name?: string;
}

/** A VM of the source: by its uid, or by name and namespace. */
export interface VmReference extends NamedReference {
  id?: string;
}

export interface ProviderPair {
  source: NamedReference;
  destination: NamedReference;
}

export interface HookReference {
  step: 'PreHook' | 'PostHook';
  hook: NamedReference;
}

export interface PlanVm extends VmReference {
  /** The VM's name on the destination; if left out or empty, the VM keeps its name. */
  targetName?: string;
  hooks?: HookReference[];
}

/** The VMs to move, and the clusters between which they move. */
export interface Plan extends KubernetesObject {
  spec: {
    /** The type of the migration; cold if left out. */
    type?: 'live' | 'cold' | 'warm' | 'conversion';
    provider: ProviderPair;
    targetNamespace: string;
    map: { network: NamedReference; storage: NamedReference };
    vms: PlanVm[];
    targetLabels?: Record<string, string>;
    targetNodeSelector?: Record<string, string>;
    /** core/v1 Affinity. */
    targetAffinity?: object;
    /** The service account of hooks that name none. */
    serviceAccount?: string;
    archived?: boolean;
    description?: string;
  };
  status?: PlanStatus;
}

export interface PlanStatus {
  observedGeneration?: number;
  conditions?: LiveCondition[];
  /** The status of the newest run. */
  migration?: RunTimes & RunProgress & { history?: RunSnapshot[]; vms?: VmStatus[] };
}

/** The Migration: one run of a plan. */
export interface PlanMigration extends KubernetesObject {
  spec: { plan: NamedReference; cancel?: VmReference[] };
  status?: MigrationStatus;
}

export interface MigrationStatus extends RunTimes, RunProgress {
  observedGeneration?: number;
  conditions?: LiveCondition[];
  vms?: VmStatus[];
  /** Leftovers of its VMs, for people (leftovers.ts). The finalizers of the run stay until there are none. */
  leftovers?: string[];
  /** Events that are not posted yet, oldest first. */
  outbox?: readonly MoveEvent[];
}

/** Progress of a run, in one line. Forklift's types have no such fields. */
export interface RunProgress {
  /** The part of all steps of all VMs that is done: "62%". */
  progress?: string;
  /** The VM that needs attention, or the next one. */
  message?: string;
}

/** Times in RFC 3339. */
export interface RunTimes {
  started?: string;
  completed?: string;
}

/**
 * A condition as Forklift writes it: a condition that is false is left out. Critical and Error keep an object from being Ready, Required is
 * needed for it, the others inform.
 */
export interface LiveCondition {
  type: string;
  status: 'True';
  category: 'Critical' | 'Error' | 'Required' | 'Warn' | 'Advisory';
  reason?: ForeignText;
  message?: ForeignText;
  /** The advice to the user. */
  suggestion?: ForeignText;
  /** Whether the condition stays when it is not found again. */
  durable?: boolean;
  items?: ForeignText[];
  lastTransitionTime: string;
}

/** The objects of a run as they were at its start, and the end of the run. */
export interface RunSnapshot {
  conditions?: LiveCondition[];
  plan: SnapshotReference;
  migration: SnapshotReference;
  provider: { source: SnapshotReference; destination: SnapshotReference };
  map: { network: SnapshotReference; storage: SnapshotReference };
}

export interface SnapshotReference extends NamedReference {
  uid?: string;
  generation?: number;
}

/** Progress of one VM. */
export interface VmStatus extends PlanVm, RunTimes {
  /** The VM's name on the destination. */
  newName?: string;
  /** The step that is due. */
  phase: string;
  pipeline: PipelineStage[];
  error?: StageError;
  /** The condition of the VM's end has the leftovers as items (leftovers.ts). */
  conditions?: LiveCondition[];
}

export interface StageError {
  phase: string;
  reasons: string[];
}

/** A part of the pipeline that Forklift's UI draws. */
export interface PipelineStage extends RunTimes {
  name: string;
  description?: string;
  phase?: 'Pending' | 'Running' | 'Completed';
  progress: { total: number; completed: number };
  reason?: string;
  error?: StageError;
}

/** A cluster with KubeVirt. */
export interface Provider extends KubernetesObject {
  spec: {
    type?: string;
    /** The URL of the API server; if left out or empty, the cluster of this object. */
    url?: string;
    secret?: NamedReference;
    settings?: Record<string, string>;
  };
  status?: {
    observedGeneration?: number;
    phase?: 'Staging' | 'Ready' | 'ValidationFailed' | 'ConnectionFailed';
    conditions?: LiveCondition[];
    /** The resourceVersion of the Secret as last read. */
    secretResourceVersion?: string;
  };
}

interface MapStatus {
  observedGeneration?: number;
  conditions?: LiveCondition[];
}

export interface StorageMap extends KubernetesObject {
  spec: { provider: ProviderPair; map: StorageEntry[] };
  status?: MapStatus;
}

export interface StorageEntry {
  /** The storage class by its name: an entry by id matches no volume, as in Forklift. */
  source: VmReference;
  destination: {
    storageClass: string;
    volumeMode?: 'Filesystem' | 'Block';
    accessMode?: 'ReadWriteOnce' | 'ReadWriteMany' | 'ReadOnlyMany';
  };
}

export interface NetworkMap extends KubernetesObject {
  spec: { provider: ProviderPair; map: NetworkEntry[] };
  status?: MapStatus;
}

export interface NetworkEntry {
  /** `pod`, or a NetworkAttachmentDefinition: by namespace and name, or by `namespace/name`. An entry by id matches none. */
  source: VmReference & { type?: string };
  destination: NamedReference & { type: 'pod' | 'multus' | 'ignored' };
}

/** An image or playbook that a Job runs before or after a VM moves. */
export interface Hook extends KubernetesObject {
  spec: {
    image?: string;
    /** Base64. */
    playbook?: string;
    /** Seconds; no limit if 0 or left out. */
    deadline?: number;
    serviceAccount?: string;
  };
  status?: MapStatus;
}
