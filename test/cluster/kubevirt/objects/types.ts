/** KubeVirt's objects and launcher pods, as far as the stand-in writes them (facts/kubevirt.md §4). Types only. */
import type {
  Condition,
  KubernetesEvent,
  KubernetesObject,
  Migration,
  OwnerReference,
  Pod,
  ResourceList,
  VirtualMachineInstance,
} from '../../../../functions/domain/objects.ts';

export type VmimPhase =
  | ''
  | 'WaitingForSync'
  | 'Synchronizing'
  | 'Pending'
  | 'Scheduling'
  | 'Scheduled'
  | 'PreparingTarget'
  | 'TargetReady'
  | 'Running'
  | 'Succeeded'
  | 'Failed';

export interface PhaseTransition {
  phase: string;
  /** RFC 3339, whole seconds, as all times KubeVirt writes. */
  phaseTransitionTimestamp: string;
}

/** What both sides of a migration between clusters tell about themselves (facts/cross-cluster.md C1). */
interface MigrationSide {
  /** Of this side's VMIM. */
  migrationUID?: string;
  virtualMachineInstanceUID?: string;
  domainNamespace?: string;
  domainName?: string;
  pod?: string;
  node?: string;
  /** Where the other side reaches its synchronization controller: only in the other side's copy. */
  syncAddress?: string;
}

export interface SourceState extends MigrationSide {
  nodeSelectors?: Record<string, string>;
  persistentStatePVCName?: string;
  selinuxContext?: string;
}

export interface TargetState extends MigrationSide {
  nodeAddress?: string;
  directMigrationNodePorts?: Record<string, number>;
  domainDetected?: boolean;
  domainReadyTimestamp?: string;
}

export interface MigrationState {
  migrationUid?: string;
  sourceNode?: string;
  sourcePod?: string;
  targetNode?: string;
  targetPod?: string;
  targetNodeAddress?: string;
  targetDirectMigrationNodePorts?: Record<string, number>;
  startTimestamp?: string;
  endTimestamp?: string;
  completed?: boolean;
  failed?: boolean;
  failureReason?: string;
  abortRequested?: boolean;
  mode?: 'PreCopy' | 'PostCopy';
  migrationConfiguration?: { allowPostCopy?: boolean };
  abortStatus?: 'Succeeded' | 'Failed' | 'Aborting';
  targetNodeDomainDetected?: boolean;
  targetNodeDomainReadyTimestamp?: string;
  /** Both are set in a migration between clusters, and then the fields above are copies of theirs. */
  sourceState?: SourceState;
  targetState?: TargetState;
  [field: string]: unknown;
}

export interface Vmim extends Migration {
  spec: Migration['spec'] & { sendTo?: { migrationID: string; connectURL: string } };
  status?: {
    phase?: string;
    conditions?: Condition[];
    phaseTransitionTimestamps?: PhaseTransition[];
    migrationState?: MigrationState;
    /** Of its own cluster's synchronization controller. */
    synchronizationAddresses?: readonly string[];
  };
}

export interface Volume {
  name: string;
  emptyDisk?: { capacity: string };
  persistentVolumeClaim?: { claimName: string; hotpluggable?: boolean };
  dataVolume?: { name: string; hotpluggable?: boolean };
}

export interface Interface {
  name: string;
  podInterfaceName?: string;
  ipAddress?: string;
  mac?: string;
}

export interface VolumeStatus {
  name: string;
  target: string;
  persistentVolumeClaimInfo?: ClaimInfo;
  hotplugVolume?: { attachPodName?: string };
}

/** What KubeVirt copies of a claim. */
export interface ClaimInfo {
  claimName: string;
  accessModes?: string[];
  capacity?: ResourceList;
  requests?: ResourceList;
  volumeMode?: string;
  filesystemOverhead?: string;
}

export interface MigratedVolume {
  volumeName: string;
  sourcePVCInfo?: ClaimInfo;
  destinationPVCInfo?: ClaimInfo;
}

export interface VmiSpec {
  architecture: string;
  evictionStrategy?: string;
  terminationGracePeriodSeconds?: number;
  domain: {
    cpu: {
      cores: number;
      sockets: number;
      threads: number;
      model: string;
      dedicatedCpuPlacement?: boolean;
      isolateEmulatorThread?: boolean;
    };
    ioThreadsPolicy?: string;
    ioThreads?: { supplementalPoolThreadCount?: number };
    memory: { guest: string };
    machine: { type: string };
    resources: { requests?: ResourceList; limits?: ResourceList };
    devices: {
      autoattachGraphicsDevice?: boolean;
      tpm?: { persistent?: boolean };
      [field: string]: unknown;
    };
    [field: string]: unknown;
  };
  networks: { name: string; [field: string]: unknown }[];
  volumes: Volume[];
}

export interface VmiStatus {
  phase?: string;
  nodeName?: string;
  /** The node that the guest is to leave; its own node until it has left. */
  evacuationNodeName?: string;
  /** Image of the launcher that the guest runs in. */
  launcherContainerImageVersion?: string;
  activePods?: Record<string, string>;
  conditions?: Condition[];
  interfaces?: Interface[];
  volumeStatus?: VolumeStatus[];
  migrationState?: MigrationState;
  migratedVolumes?: MigratedVolume[];
  migrationMethod?: string;
  migrationTransport?: string;
  selinuxContext?: string;
  phaseTransitionTimestamps?: PhaseTransition[];
  qosClass?: string;
  runtimeUser?: number;
  memory?: { guestRequested?: string; memoryOverhead?: string };
  currentCPUTopology?: { cores: number; sockets: number; threads: number };
}

export interface Vmi extends VirtualMachineInstance {
  spec: VmiSpec;
  status?: VmiStatus;
}

export type RunStrategy = 'Always' | 'Halted' | 'RerunOnFailure' | 'Manual' | 'Once' | 'WaitAsReceiver';

/** A request of virt-api's start, stop and restart. */
export interface StateChangeRequest {
  action: 'Start' | 'Stop';
  /** The VMI that is to stop. */
  uid?: string;
}

export interface VmStatus {
  printableStatus?: string;
  created?: boolean;
  ready?: boolean;
  conditions?: Condition[];
  desiredGeneration?: number;
  observedGeneration?: number;
  runStrategy?: string;
  stateChangeRequests?: StateChangeRequest[];
}

export interface Vm extends KubernetesObject {
  spec: {
    runStrategy?: RunStrategy;
    /** The older form: true for Always, false for Halted. */
    running?: boolean;
    template: {
      metadata?: { labels?: Record<string, string>; annotations?: Record<string, string> };
      spec: VmiSpec;
    };
    [field: string]: unknown;
  };
  status?: VmStatus;
}

/** A virt-launcher pod or an attachment pod (hp-volume-*). */
export interface LauncherPod extends Omit<Pod, 'status'> {
  spec: Pod['spec'] & { volumes?: unknown[]; terminationGracePeriodSeconds?: number };
  status?: {
    phase?: string;
    conditions?: Condition[];
    qosClass?: string;
    containerStatuses?: { ready: boolean }[];
  };
}

/** The owner that controls a pod; blockOwnerDeletion needs `update` on the owner's finalizers. */
export interface Controller extends OwnerReference {
  controller: true;
  blockOwnerDeletion: true;
}

/** core/v1 Event, as client-go's recorder writes it. */
export interface RecordedEvent extends KubernetesEvent {
  reason: string;
  message: string;
  type: 'Normal' | 'Warning';
  count: number;
  firstTimestamp: string;
  lastTimestamp: string;
  reportingComponent?: string;
}
