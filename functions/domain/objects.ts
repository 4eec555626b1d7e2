/**
 * The objects that we read and write, with the fields that we use. Types only; unknown fields stay untouched, because every
 * write is a PUT of an object as read.
 */

import type { ForeignText } from './foreign-text.ts';

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
}

export interface ObjectMeta {
  name: string;
  generateName?: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  generation?: number;
  creationTimestamp: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: ManagedFieldsEntry[];
}

/** The manager that last set these fields, for server-side apply. A field is a tree of `f:<name>`, {} at its end. */
export interface ManagedFieldsEntry {
  manager?: string | undefined;
  operation?: string | undefined;
  apiVersion?: string | undefined;
  time?: string | undefined;
  subresource?: string | undefined;
  fieldsType?: string | undefined;
  fieldsV1?: FieldsV1 | undefined;
}

export interface FieldsV1 {
  [part: string]: FieldsV1;
}

export interface KubernetesObject {
  apiVersion?: string;
  kind?: string;
  metadata: ObjectMeta;
}

/** Amounts by resource name, as Kubernetes writes them: {"requests.cpu": "1405m"}. */
export type ResourceList = Record<string, string>;

/** Amounts as a custom resource keeps them: `pods: 1` stays a number there. */
export type AmountList = Readonly<Record<string, string | number>>;

export interface Namespace extends KubernetesObject {
  status?: { phase?: string };
}

export interface ScopeSelectorTerm {
  scopeName: string;
  operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  values?: string[];
}

export interface ResourceQuota extends KubernetesObject {
  spec: {
    hard?: ResourceList;
    scopes?: string[];
    scopeSelector?: { matchExpressions?: ScopeSelectorTerm[] };
  };
  status?: { hard?: ResourceList; used?: ResourceList };
}

export interface Container {
  name: string;
  restartPolicy?: string;
  resources?: { requests?: ResourceList; limits?: ResourceList };
}

export interface Pod extends KubernetesObject {
  spec: {
    nodeName?: string;
    containers: Container[];
    initContainers?: Container[];
    overhead?: ResourceList;
    resources?: { requests?: ResourceList; limits?: ResourceList };
    activeDeadlineSeconds?: number;
    priorityClassName?: string;
    affinity?: { nodeAffinity?: unknown; podAffinity?: PodAffinity; podAntiAffinity?: PodAffinity };
    runtimeClassName?: string;
  };
  status?: {
    phase?: string;
    qosClass?: string;
    containerStatuses?: ContainerStatus[];
    initContainerStatuses?: ContainerStatus[];
  };
}

export interface ContainerStatus {
  name: string;
  ready: boolean;
  state?: { running?: object };
  /** The resources that the kubelet runs the container with, and those that the node reserves: a resize of the spec comes first. */
  resources?: { requests?: ResourceList; limits?: ResourceList };
  allocatedResources?: ResourceList;
}

/** The shape of podAffinity and of podAntiAffinity. */
export interface PodAffinity {
  requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[];
  preferredDuringSchedulingIgnoredDuringExecution?: { podAffinityTerm: PodAffinityTerm }[];
}

export interface PodAffinityTerm {
  namespaces?: string[];
  namespaceSelector?: unknown;
}

/** A condition as KubeVirt writes it (times may be null) and as Kubernetes does. */
export interface Condition {
  type: string;
  status: 'True' | 'False' | 'Unknown';
  reason?: ForeignText;
  message?: ForeignText;
  observedGeneration?: number;
  lastProbeTime?: string | null;
  lastTransitionTime?: string | null;
}

/** VirtualMachineInstanceMigration (facts/kubevirt.md §1, §4). */
export interface Migration extends KubernetesObject {
  spec: {
    vmiName?: string;
    priority?: string;
    sendTo?: { migrationID?: string };
    receive?: { migrationID?: string };
  };
  status?: {
    phase?: string;
    conditions?: Condition[];
    phaseTransitionTimestamps?: { phase: string; phaseTransitionTimestamp: string }[];
    migrationState?: { sourceNode?: string };
  };
}

/** VirtualMachineInstance (facts/kubevirt.md §4). What it asks for, and what it runs with until the next migration. */
export interface VirtualMachineInstance extends KubernetesObject {
  spec?: {
    /** The VMI's strategy; if left out, KubeVirt's own (configuration.evictionStrategy). */
    evictionStrategy?: string;
    /** How long its guest may take to shut down. */
    terminationGracePeriodSeconds?: number;
    priorityClassName?: string;
    domain?: {
      cpu?: CpuTopology & { dedicatedCpuPlacement?: boolean; isolateEmulatorThread?: boolean };
      ioThreadsPolicy?: string;
      ioThreads?: { supplementalPoolThreadCount?: number };
      memory?: { guest?: string | number; hugepages?: { pageSize?: string } };
      resources?: {
        requests?: AmountList;
        limits?: AmountList;
        /** Whether the launcher requests nothing for what runs beside the guest. */
        overcommitGuestOverhead?: boolean;
      };
      devices?: { tpm?: { persistent?: boolean } };
      firmware?: { bootloader?: { efi?: { persistent?: boolean } } };
    };
  };
  status?: {
    phase?: string;
    nodeName?: string;
    activePods?: Record<string, string>;
    currentCPUTopology?: CpuTopology;
    memory?: { guestRequested?: string | number; memoryOverhead?: string | number };
    changedBlockTracking?: { state?: string };
    /** The node that a drain moves it away from. */
    evacuationNodeName?: string;
    conditions?: Condition[];
    /** State of the VMI's last migration. */
    migrationState?: { failed?: boolean; endTimestamp?: string | null };
  };
}

export interface CpuTopology {
  cores?: number;
  sockets?: number;
  threads?: number;
}

/** core/v1 PersistentVolumeClaim. */
export interface PersistentVolumeClaim extends KubernetesObject {
  spec: { accessModes?: string[]; storageClassName?: string; resources?: { requests?: ResourceList } };
}

/** core/v1 LimitRange. */
export interface LimitRange extends KubernetesObject {
  spec: { limits: LimitRangeItem[] };
}

export interface LimitRangeItem {
  type: string;
  default?: ResourceList;
  defaultRequest?: ResourceList;
  min?: ResourceList;
  max?: ResourceList;
  maxLimitRequestRatio?: ResourceList;
}

/** VirtualMachineMigrationResourceQuota: "this much more, for migrations only". */
export interface Vmmrq extends KubernetesObject {
  spec: {
    /** The amounts; left out in objects that the incumbent may have stored, and where only a percentage is given. */
    additionalMigrationResources?: AmountList;
    /** Percentage of each quota's own amount of each key that pods are charged for: "30%". */
    additionalMigrationPercentage?: string;
    raisePolicy?: RaisePolicy;
    /** Whether migrations that receive a VM from another cluster count too, whose pods stay for good. */
    allowReceive?: boolean;
    /** The purposes of the migrations that it gives to (policy/purpose.ts); unknown ones match none. */
    purposes?: string[];
  };
  status?: VmmrqStatus;
}

/** ClusterVirtualMachineMigrationResourceQuota: a VMMRQ for every namespace that it selects. */
export interface ClusterVmmrq extends Vmmrq {
  spec: Vmmrq['spec'] & {
    namespaceSelector: LabelSelector;
  };
  status?: VmmrqStatus & {
    /** What was raised by it lately, newest first (quota/given.ts). */
    given?: Given[];
  };
}

/** What one cluster-wide VMMRQ gave to one ResourceQuota for one lock. */
export interface Given {
  /** When it was raised, RFC 3339. */
  at: string;
  namespace: string;
  /** Name of the ResourceQuota. */
  quota: string;
  /** Amounts by key, as the quota spells it. */
  amounts: ResourceList;
  /** Names of the lock's migrations, not all where they are many. */
  migrations: string[];
}

/** metav1.LabelSelector; an empty one selects all. */
export interface LabelSelector {
  matchLabels?: Record<string, string>;
  matchExpressions?: { key: string; operator: ScopeSelectorTerm['operator']; values?: string[] }[];
}

/** Fixed: raise by the full allowance. Exact: raise by the shortfall, only where there is one. */
export type RaisePolicy = 'Fixed' | 'Exact';

/** A report, never a source of truth; the first four fields are the incumbent's. */
export interface VmmrqStatus {
  creationTime?: string | null;
  additionalMigrationResources?: AmountList;
  migrationsToBlockingResourceQuotas?: Record<string, string[]>;
  originalBlockingResourceQuotas?: { name: string; spec: ResourceQuota['spec'] }[];
  conditions?: Condition[];
}

/** The KubeVirt custom resource, as far as its migration limits and its version go. */
export interface KubeVirt extends KubernetesObject {
  spec?: {
    /** The interval as Go writes it: "1m0s". */
    workloadUpdateStrategy?: { workloadUpdateMethods?: readonly string[]; batchEvictionInterval?: string };
    configuration?: {
      migrations?: {
        parallelMigrationsPerCluster?: number;
        parallelOutboundMigrationsPerNode?: number;
        nodeDrainTaintKey?: string;
      };
      evictionStrategy?: string;
      additionalGuestMemoryOverheadRatio?: string;
      /** Namespaces in which launchers get a limit of CPU, whatever the quotas have. */
      autoCPULimitNamespaceLabelSelector?: LabelSelector;
      developerConfiguration?: {
        featureGates?: string[];
        disabledFeatureGates?: string[];
        cpuAllocationRatio?: number;
      };
      /** The class of the volumes that keep the state of VMs; left out: the default class. */
      vmStateStorageClass?: string;
      /** The model of VMIs that name none; host-model by default. */
      cpuModel?: string;
    };
  };
  status?: {
    /** Addresses of KubeVirt's synchronization controller, while there is one: host:port (facts/cross-cluster.md §C1). */
    synchronizationAddresses?: readonly string[];
    /** "v1.6.0", once it is deployed. */
    observedKubeVirtVersion?: string;
    phase?: string;
    /** The deployment in place, and the one that the operator brings about; they differ during an upgrade. */
    observedDeploymentID?: string;
    targetDeploymentID?: string;
  };
}

/** core/v1 Node, as far as drains go. */
export interface Node extends KubernetesObject {
  spec?: { unschedulable?: boolean; taints?: { key: string; effect: string; timeAdded?: string }[] };
}

/** discovery.k8s.io/v1 EndpointSlice, as far as addresses go. */
export interface EndpointSlice extends KubernetesObject {
  endpoints?: { addresses: string[] }[] | null;
  ports?: { name?: string; port?: number }[] | null;
}

/** coordination.k8s.io/v1 Lease, the fields that show until when its holder is alive. */
export interface Lease extends KubernetesObject {
  spec?: { acquireTime?: string; renewTime?: string; leaseDurationSeconds?: number };
}

/** core/v1 Event. */
export interface KubernetesEvent extends KubernetesObject {
  involvedObject: {
    apiVersion?: string;
    kind?: string;
    namespace?: string;
    name?: string;
    uid?: string;
    resourceVersion?: string;
  };
  reason?: ForeignText;
  message?: ForeignText;
  type?: 'Normal' | 'Warning';
  count?: number;
  firstTimestamp?: string | null;
  lastTimestamp?: string | null;
  source?: { component?: string };
}
