/** KubeVirt's objects and launcher pods, as far as the stand-in writes them (facts/kubevirt.md §4). Types only. */
import type {
  Condition,
  KubernetesEvent,
  Migration,
  OwnerReference,
  Pod,
  ResourceList,
  VirtualMachineInstance,
} from '../../../functions/domain/objects.ts';

export type VmimPhase =
  | ''
  | 'WaitingForSync'
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

export interface MigrationState {
  migrationUid?: string;
  sourceNode?: string;
  sourcePod?: string;
  targetNode?: string;
  targetPod?: string;
  targetNodeAddress?: string;
  startTimestamp?: string;
  endTimestamp?: string;
  completed?: boolean;
  failed?: boolean;
  abortRequested?: boolean;
  abortStatus?: 'Succeeded' | 'Failed' | 'Aborting';
  targetNodeDomainReadyTimestamp?: string;
  [field: string]: unknown;
}

export interface Vmim extends Migration {
  status?: {
    phase?: string;
    conditions?: Condition[];
    phaseTransitionTimestamps?: PhaseTransition[];
    migrationState?: MigrationState;
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
  hotplugVolume?: { attachPodName?: string };
}

export interface VmiSpec {
  architecture: string;
  evictionStrategy?: string;
  terminationGracePeriodSeconds?: number;
  domain: {
    cpu: { cores: number; sockets: number; threads: number; model: string };
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
