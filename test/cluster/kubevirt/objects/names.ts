/** KubeVirt's labels, annotations, finalizers and conditions (facts/kubevirt.md §1). */

export const LABELS = {
  /** virt-launcher | hotplug-disk */
  app: 'kubevirt.io',
  /** The VMI's UID. */
  createdBy: 'kubevirt.io/created-by',
  /** The VMIM's UID; a former target keeps it for life. */
  migrationJobUid: 'kubevirt.io/migrationJobUID',
  nodeName: 'kubevirt.io/nodeName',
  /** VMI and launcher: the launcher's image is not that of the running virt-controller. */
  outdated: 'kubevirt.io/outdatedLauncherImage',
  /** Node: virt-handler there is alive. */
  schedulable: 'kubevirt.io/schedulable',
  targetNodeName: 'kubevirt.io/migrationTargetNodeName',
  vmiName: 'kubevirt.io/vmi-name',
  /** VMIM of a changed volume: the VMI's name, or its UID where the name is too long for a label. */
  volumeUpdate: 'kubevirt.io/volume-update-migration',
  vmName: 'vm.kubevirt.io/name',
  vmiId: 'vmi.kubevirt.io/id',
} as const;

export const ANNOTATIONS = {
  /** VMI: it runs in another cluster still, and is received here. */
  createMigrationTarget: 'kubevirt.io/create-migration-target',
  /** VM that waits as receiver: its run strategy once the guest has arrived. */
  restoreRunStrategy: 'kubevirt.io/restore-run-strategy',
  /** VMI: the generation of its VM that the VM controller has seen. */
  vmGeneration: 'kubevirt.io/vm-generation',
  domain: 'kubevirt.io/domain',
  /** VMI: an isolated emulator thread takes a second CPU where that makes their number even. */
  emulatorParity: 'alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity',
  /** VMIM of a drain: the node's name. */
  evacuation: 'kubevirt.io/evacuationMigration',
  /** Launcher: its VMI is marked for eviction. */
  evictionInProgress: 'descheduler.alpha.kubernetes.io/eviction-in-progress',
  /** VMI: "descheduler" where that asked for the eviction. */
  evictionSource: 'kubevirt.io/eviction-source',
  /** Node: when virt-handler last said that it is alive. */
  heartbeat: 'kubevirt.io/heartbeat',
  latestObserved: 'kubevirt.io/latest-observed-api-version',
  storageObserved: 'kubevirt.io/storage-observed-api-version',
  memoryOverhead: 'kubevirt.io/memory-overhead-bytes',
  migrationJobName: 'kubevirt.io/migrationJobName',
  migrationTransportUnix: 'kubevirt.io/migrationTransportUnix',
  nonroot: 'kubevirt.io/nonroot',
  ownerVmiName: 'kubevirt.io/owner-vmi-name',
  ownerVmiUid: 'kubevirt.io/owner-vmi-uid',
  targetReady: 'kubevirt.io/migration-target-ready-timestamp',
  /** VMIM of an upgrade, a hotplug or a changed volume; empty. */
  workloadUpdate: 'kubevirt.io/workloadUpdateMigration',
} as const;

/** What the controllers add to every VMI and VMIM that lacks it. */
export const OBSERVED_API_VERSIONS = {
  [ANNOTATIONS.latestObserved]: 'v1',
  [ANNOTATIONS.storageObserved]: 'v1',
};

export const LAUNCHER = 'virt-launcher';
export const HOTPLUG_DISK = 'hotplug-disk';

export const MIGRATION_FINALIZER = 'kubevirt.io/migrationJobFinalize';
/** Of the synchronization controller, on each migration between clusters that is not over. */
export const SYNCHRONIZATION_FINALIZER = 'synchronization.kubevirt.io/migrationFinalizer';
/** On a VM, and on the VMI that its controller made. */
export const VM_FINALIZER = 'kubevirt.io/virtualMachineControllerFinalize';
/** As virt-api writes it; the VMI controller renames it. */
export const VMI_FINALIZER_OLD = 'foregroundDeleteVirtualMachine';
export const VMI_FINALIZER = 'kubevirt.io/foregroundDeleteVirtualMachine';

export const REJECTED_BY_QUOTA = 'migrationRejectedByResourceQuota';
export const ABORT_REQUESTED = 'migrationAbortRequested';
/** VMIM condition: a copy of its VMI's `SYNCHRONIZATION_FAILURE`. */
export const DECENTRALIZED_BLOCKED = 'decentralizedMigrationBlocked';
/** VMI condition and its reason: the two synchronization controllers do not understand each other (yet). */
export const SYNCHRONIZATION_FAILURE = 'DecentralizedLiveMigrationFailure';
export const NOT_SYNCHRONIZED = 'DecentralizedNotLiveMigratable';
/** What virt-controller looks for in a refusal before it sets the condition (facts/kubevirt.md §1.3). */
export const QUOTA_TEXT = 'exceeded quota';

/** VMI condition and its reason. */
export const EVICTION_REQUESTED = 'EvictionRequested';

export const UNPAUSED = 'kubevirt.io/virtual-machine-unpaused';

/** The source components of virt-controller's events: `virtualMachine` about VMIs and VMIMs alike. */
export const COMPONENT = {
  virtualMachine: 'virtualmachine-controller',
  evacuation: 'evacuation-controller',
  workloadUpdate: 'workload-update-controller',
} as const;
