import type { ForeignText } from '../foreign-text.ts';
import type {
  Condition,
  KubernetesObject,
  Migration,
  PersistentVolumeClaim,
  ResourceList,
} from '../objects.ts';

/** KubeVirt's kinds with the fields that a migration between clusters uses (facts/cross-cluster.md §C1). Types only. */
export type RunStrategy =
  'Always' | 'RerunOnFailure' | 'Manual' | 'Halted' | 'Once' | typeof WAIT_AS_RECEIVER;

/** The run strategy of a VM that waits for its guest; it makes KubeVirt create a VMI that waits too. */
export const WAIT_AS_RECEIVER = 'WaitAsReceiver';

/** VirtualMachine. Only one of `running` and `runStrategy` is set. */
export interface VirtualMachine extends KubernetesObject {
  spec: {
    running?: boolean;
    runStrategy?: RunStrategy;
    instancetype?: Matcher;
    preference?: Matcher;
    /** DataVolumes that the VM creates itself. */
    dataVolumeTemplates?: object[];
    template: VmTemplate;
  };
  status?: {
    printableStatus?: ForeignText;
    /** Starts and stops that a user has requested, and that are not done yet. */
    stateChangeRequests?: { action: string; uid?: string }[];
    /** Name of the VirtualMachineSnapshot. */
    snapshotInProgress?: string;
    instancetypeRef?: MatchedRef;
    preferenceRef?: MatchedRef;
    conditions?: Condition[];
  };
}

/** The instance type or preference of a VM. */
export interface Matcher {
  name?: string;
  kind?: string;
  /** The ControllerRevision with its content; only this cluster has it. */
  revisionName?: string;
  [field: string]: unknown;
}

/** KubeVirt's result for a matcher; older releases write revisionName into the spec instead. */
export interface MatchedRef {
  name?: string;
  controllerRevisionRef?: { name?: string };
}

/** apps/v1 ControllerRevision; KubeVirt keeps a whole instance type or preference in it. */
export interface ControllerRevision extends KubernetesObject {
  data?: { apiVersion?: string; spec?: unknown };
}

export interface VmTemplate {
  metadata?: {
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    creationTimestamp?: string | null;
  };
  spec: VmiSpec;
}

/** The spec of a VMI; the fields that are not here are copied as they are. */
export interface VmiSpec {
  domain: {
    cpu?: {
      sockets?: number;
      cores?: number;
      threads?: number;
      model?: string;
      dedicatedCpuPlacement?: boolean;
      [field: string]: unknown;
    };
    memory?: { guest?: string; hugepages?: { pageSize?: string }; [field: string]: unknown };
    devices?: {
      disks?: Disk[];
      /** File systems that virtiofs shares with the guest. */
      filesystems?: Named[];
      interfaces?: Interface[];
      tpm?: { persistent?: boolean };
      [field: string]: unknown;
    };
    firmware?: {
      uuid?: string;
      serial?: string;
      bootloader?: { efi?: { persistent?: boolean } };
      [field: string]: unknown;
    };
    [field: string]: unknown;
  };
  volumes?: Volume[];
  networks?: Network[];
  nodeSelector?: Record<string, string>;
  affinity?: object;
  accessCredentials?: object[];
  [field: string]: unknown;
}

export interface Named {
  name: string;
  [field: string]: unknown;
}

export interface Disk extends Named {
  shareable?: boolean;
  lun?: object;
}

export interface Interface extends Named {
  macAddress?: string;
}

/** A volume with one source. */
export interface Volume extends Named {
  dataVolume?: { name: string; hotpluggable?: boolean };
  persistentVolumeClaim?: { claimName: string; hotpluggable?: boolean };
  ephemeral?: { persistentVolumeClaim?: { claimName: string } };
  memoryDump?: { claimName: string };
  serviceAccount?: { serviceAccountName?: string };
}

export interface Network extends Named {
  pod?: object;
  multus?: { networkName: string; default?: boolean };
}

/** VirtualMachineInstance. */
export interface Vmi extends KubernetesObject {
  spec: VmiSpec;
  status?: {
    phase?: string;
    nodeName?: string;
    /** The node that a drain moves the VMI away from. */
    evacuationNodeName?: string;
    /** The VMI's launchers by uid, with their nodes. */
    activePods?: Record<string, string>;
    conditions?: Condition[];
    interfaces?: { name?: string; mac?: string }[];
    migrationState?: MigrationState;
  };
}

/** The state of a VMI's last migration, as this cluster knows it. */
export interface MigrationState {
  sourceState?: SideState;
  targetState?: SideState & { domainReadyTimestamp?: string };
  /** The VMIM of this cluster. */
  migrationUid?: string;
  targetPod?: string;
  /** The address of the target's node. The source's node begins to send once it has the address. */
  targetNodeAddress?: string;
  /** Whether the target's node has seen the guest come. */
  targetNodeDomainDetected?: boolean;
  /** The time at which the guest became active on the target. */
  targetNodeDomainReadyTimestamp?: string;
  mode?: string;
  startTimestamp?: string | null;
  endTimestamp?: string | null;
  completed?: boolean;
  failed?: boolean;
  failureReason?: ForeignText;
}

export interface SideState {
  /** The VMIM of that side. */
  migrationUID?: string;
  /** The address at which the synchronization controller of that side listens. */
  syncAddress?: string;
  pod?: string;
}

/** VirtualMachineInstanceMigration: one side of a migration between clusters. */
export interface Vmim extends Migration {
  spec: {
    vmiName?: string;
    sendTo?: { migrationID: string; connectURL: string };
    receive?: { migrationID: string };
  };
  status?: NonNullable<Migration['status']> & {
    /** The VMI's state of this migration, at its end. */
    migrationState?: MigrationState;
    /** The addresses (host:port) at which the synchronization controller of the VMIM's own cluster listens. */
    synchronizationAddresses?: string[];
  };
}

/** core/v1 PersistentVolumeClaim, with its mode and size. */
export interface Claim extends PersistentVolumeClaim {
  spec: PersistentVolumeClaim['spec'] & { volumeMode?: 'Filesystem' | 'Block' };
  status?: { phase?: string; capacity?: ResourceList };
}

/** Modes that a storage class offers together, of its StorageProfile's claimPropertySets. */
export interface ClaimProperties {
  accessModes?: string[];
  volumeMode?: 'Filesystem' | 'Block';
}

/** CDI's DataVolume (facts/cross-cluster.md §D1). */
export interface DataVolume extends KubernetesObject {
  spec: {
    source: { blank: object };
    storage: {
      storageClassName: string;
      accessModes?: string[];
      volumeMode?: 'Filesystem' | 'Block';
      resources: { requests: ResourceList };
    };
  };
  status?: { phase?: string; progress?: ForeignText; conditions?: Condition[] };
}

/**
 * Returns the size of the disk. A block volume counts by its capacity. A file system counts by its request, because CDI adds its overhead
 * again.
 */
export const sizeOf = ({ spec, status }: Claim): string | undefined =>
  (spec.volumeMode === 'Block' ? status?.capacity?.['storage'] : undefined) ??
  spec.resources?.requests?.['storage'];

/** core/v1 ConfigMap. */
export interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>;
  /** Base64. */
  binaryData?: Record<string, string>;
  immutable?: boolean;
}

/** batch/v1 Job, as far as its beginning and its end go. */
export interface Job extends KubernetesObject {
  spec?: { suspend?: boolean };
  status?: { succeeded?: number; conditions?: { type: string; status: string; message?: ForeignText }[] };
}
