import type { KubernetesObject } from '../objects.ts';
import type { MoveEvent } from './move-events.ts';

/**
 * Forklift's kinds with the fields that live migrations use (facts/cross-cluster.md §A). Types only: our CRDs and Forklift's
 * keep the other fields.
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
  /** Its name on the destination; left out or empty, it keeps its name. */
  targetName?: string;
  hooks?: HookReference[];
}

/** Which VMs move, and between which clusters. */
export interface Plan extends KubernetesObject {
  spec: {
    /** Left out: cold. */
    type?: 'live' | 'cold' | 'warm' | 'conversion';
    provider: ProviderPair;
    targetNamespace: string;
    map: { network: NamedReference; storage: NamedReference };
    vms: PlanVm[];
    targetLabels?: Record<string, string>;
    targetNodeSelector?: Record<string, string>;
    /** core/v1 Affinity. */
    targetAffinity?: object;
    /** Of hooks that name none. */
    serviceAccount?: string;
    archived?: boolean;
    description?: string;
  };
  status?: PlanStatus;
}

export interface PlanStatus {
  observedGeneration?: number;
  conditions?: LiveCondition[];
  /** Of the newest run. */
  migration?: RunTimes & RunProgress & { history?: RunSnapshot[]; vms?: VmStatus[] };
}

/** One run of a plan. */
export interface PlanMigration extends KubernetesObject {
  spec: { plan: NamedReference; cancel?: VmReference[] };
  status?: MigrationStatus;
}

export interface MigrationStatus extends RunTimes, RunProgress {
  observedGeneration?: number;
  conditions?: LiveCondition[];
  vms?: VmStatus[];
  /** What its VMs have left over, for people (leftovers.ts); the run holds its objects until there is none. */
  leftovers?: string[];
  /** Events that no Broker has taken yet, oldest first. */
  outbox?: readonly MoveEvent[];
}

/** How far a run is, in one line: Forklift's have no such fields. */
export interface RunProgress {
  /** Of all steps of all VMs: "62%". */
  progress?: string;
  /** The VM that needs attention, or the next one. */
  message?: string;
}

/** RFC 3339. */
export interface RunTimes {
  started?: string;
  completed?: string;
}

/**
 * A condition as Forklift writes it: one that does not hold is left out. Critical and Error keep an object from being Ready,
 * Required is needed for it, the others inform.
 */
export interface LiveCondition {
  type: string;
  status: 'True';
  category: 'Critical' | 'Error' | 'Required' | 'Warn' | 'Advisory';
  reason?: string;
  message?: string;
  /** What to do about it. */
  suggestion?: string;
  /** It stays when it is not found again. */
  durable?: boolean;
  items?: string[];
  lastTransitionTime: string;
}

/** The objects of a run as they were at its start, and how it ended. */
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

/** How far one VM is. */
export interface VmStatus extends PlanVm, RunTimes {
  /** Its name on the destination. */
  newName?: string;
  /** The step that is due. */
  phase: string;
  pipeline: PipelineStage[];
  error?: StageError;
  /** The one of its end has what is left over (leftovers.ts). */
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
    /** Of its API server; left out or empty: the cluster of this object. */
    url?: string;
    secret?: NamedReference;
    settings?: Record<string, string>;
  };
  status?: {
    observedGeneration?: number;
    phase?: 'Staging' | 'Ready' | 'ValidationFailed' | 'ConnectionFailed';
    conditions?: LiveCondition[];
    /** Of the Secret as last read. */
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
  /** By the name of the storage class: an entry by id matches no volume, as in Forklift. */
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

/** What runs before or after a VM moves. */
export interface Hook extends KubernetesObject {
  spec: {
    image?: string;
    /** Base64. */
    playbook?: string;
    /** Seconds; 0 or left out: as long as it takes. */
    deadline?: number;
    serviceAccount?: string;
  };
  status?: MapStatus;
}
