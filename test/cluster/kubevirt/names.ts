/** KubeVirt's labels, annotations, finalizers and conditions (facts/kubevirt.md §1). */

export const LABELS = {
  /** virt-launcher | hotplug-disk */
  app: 'kubevirt.io',
  /** The VMI's UID. */
  createdBy: 'kubevirt.io/created-by',
  /** The VMIM's UID; a former target keeps it for life. */
  migrationJobUid: 'kubevirt.io/migrationJobUID',
  nodeName: 'kubevirt.io/nodeName',
  targetNodeName: 'kubevirt.io/migrationTargetNodeName',
  vmiName: 'kubevirt.io/vmi-name',
  vmName: 'vm.kubevirt.io/name',
  vmiId: 'vmi.kubevirt.io/id',
} as const;

export const ANNOTATIONS = {
  /** VMI: it runs in another cluster still, and is received here. */
  createMigrationTarget: 'kubevirt.io/create-migration-target',
  domain: 'kubevirt.io/domain',
  latestObserved: 'kubevirt.io/latest-observed-api-version',
  storageObserved: 'kubevirt.io/storage-observed-api-version',
  memoryOverhead: 'kubevirt.io/memory-overhead-bytes',
  migrationJobName: 'kubevirt.io/migrationJobName',
  migrationTransportUnix: 'kubevirt.io/migrationTransportUnix',
  nonroot: 'kubevirt.io/nonroot',
  ownerVmiName: 'kubevirt.io/owner-vmi-name',
  ownerVmiUid: 'kubevirt.io/owner-vmi-uid',
  targetReady: 'kubevirt.io/migration-target-ready-timestamp',
} as const;

/** What the controllers add to every VMI and VMIM that lacks it. */
export const OBSERVED_API_VERSIONS = {
  [ANNOTATIONS.latestObserved]: 'v1',
  [ANNOTATIONS.storageObserved]: 'v1',
};

export const LAUNCHER = 'virt-launcher';
export const HOTPLUG_DISK = 'hotplug-disk';

export const MIGRATION_FINALIZER = 'kubevirt.io/migrationJobFinalize';
/** As virt-api writes it; the VMI controller renames it. */
export const VMI_FINALIZER_OLD = 'foregroundDeleteVirtualMachine';
export const VMI_FINALIZER = 'kubevirt.io/foregroundDeleteVirtualMachine';

export const REJECTED_BY_QUOTA = 'migrationRejectedByResourceQuota';
export const ABORT_REQUESTED = 'migrationAbortRequested';
/** What virt-controller looks for in a refusal before it sets the condition (facts/kubevirt.md §1.3). */
export const QUOTA_TEXT = 'exceeded quota';

export const UNPAUSED = 'kubevirt.io/virtual-machine-unpaused';

export const LAUNCHER_IMAGE = 'registry.example/kubevirt/virt-launcher:v1.9.0';

/** The source component of virt-controller's events, about VMIs and VMIMs alike. */
export const COMPONENT = 'virtualmachine-controller';
