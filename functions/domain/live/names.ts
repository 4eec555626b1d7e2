/** The names about live migrations between clusters that users see, each with one sentence. */

const FORKLIFT = 'forklift.konveyor.io/v1beta1';

/** Forklift's kinds, which users write (facts/cross-cluster.md §A). */
export const FORKLIFT_KIND = {
  plan: { apiVersion: FORKLIFT, kind: 'Plan' },
  migration: { apiVersion: FORKLIFT, kind: 'Migration' },
  provider: { apiVersion: FORKLIFT, kind: 'Provider' },
  storageMap: { apiVersion: FORKLIFT, kind: 'StorageMap' },
  networkMap: { apiVersion: FORKLIFT, kind: 'NetworkMap' },
  hook: { apiVersion: FORKLIFT, kind: 'Hook' },
} as const;

/** Labels of the objects that a run makes. Forklift's own keys are never used: its clean-up deletes by them (facts/cross-cluster.md §B). */
export const LIVE_LABEL = {
  /** The uid of the Plan. */
  plan: 'live.mtq.kubevirt.io/plan',
  /** The uid of the Migration. */
  migration: 'live.mtq.kubevirt.io/migration',
  /** The uid of the VM on the source. */
  vm: 'live.mtq.kubevirt.io/vm',
  /** Secret: "true" lets providers of its namespace use it. */
  provider: 'live.mtq.kubevirt.io/provider',
} as const;

/** Annotations, with the object that has each one. */
export const LIVE_ANNOTATION = {
  /** Migration: the user who created it; Plan, map and Provider: who wrote the spec last (JSON, see requester.ts). Only admission writes it. */
  requester: 'live.mtq.kubevirt.io/requester',
  /** VirtualMachine on the source: the run that moves it, with the record of that run (JSON, see record.ts). */
  run: 'live.mtq.kubevirt.io/run',
  /** VirtualMachine on the source: it has moved, where to and when (JSON, see moved-to.ts). Without it the VM can be started again. */
  movedTo: 'live.mtq.kubevirt.io/moved-to',
  /** VirtualMachine on the target: KubeVirt halts it at its next crash, as long as its VMI has the state of its move. */
  nextCrash: 'live.mtq.kubevirt.io/next-crash-halts',
  /** Migration: source and target when it began, and its Providers, by uids (run-clusters.ts). Only `live` writes it. */
  clusters: 'live.mtq.kubevirt.io/clusters',
  /** Secret and the like on the target: the run that copied it there, by the uids of Migration and VM. */
  madeBy: 'live.mtq.kubevirt.io/made-by',
  /** Plan, Provider: has it looked at again at once, whatever its value; `live` removes it then. */
  refresh: 'live.mtq.kubevirt.io/refresh',
  /** VMIM on the target: how many minutes old it was when it was written, so that KubeVirt looks at it again. */
  touched: 'live.mtq.kubevirt.io/touched',
  /** Migration: its own uid gives its run up. The run leaves what it cannot undo or cannot read as it is, and removes its finalizers. */
  breakGlass: 'live.mtq.kubevirt.io/break-glass',
  /** Migration: its own uid says that its run is over. `live` writes it before it removes the first finalizer. */
  over: 'live.mtq.kubevirt.io/over',
} as const;

/** The service account of `live`. */
export const LIVE_ACCOUNT = 'mtq-live';

/** ValidatingAdmissionPolicy of every cluster of a move: no request starts a VM that has moved, by its annotations (movedTo, or run). */
export const MOVED_POLICY = 'moved-vms.mtq.kubevirt.io';

/** Finalizer of a Migration, its Plan, Providers and their Secrets during a run: a deletion cancels the run, and completes after it. */
export const LIVE_FINALIZER = 'live.mtq.kubevirt.io/run';

/** Types of the CloudEvents that trigger `live`. They name what to look at, never what to do. */
export const LIVE_EVENT = {
  /** More of a Migration is due. */
  progressed: 'io.kubevirt.mtq.live.progressed',
  /** A Plan or Migration is to be looked at again, because an event may have been lost. */
  resync: 'io.kubevirt.mtq.live.sweep',
} as const;

/** Types of an ApiServerSource's events in mode Reference: they name the object, and carry none of its content (facts/knative.md §1.2). */
export const REFERENCE_EVENT = {
  add: 'dev.knative.apiserver.ref.add',
  update: 'dev.knative.apiserver.ref.update',
  delete: 'dev.knative.apiserver.ref.delete',
} as const;

/** KubeVirt's names that a migration between clusters reads or writes (facts/cross-cluster.md §C1). */
export const LIVE_KUBEVIRT = {
  /** VMI: it waits for its guest, or receives it. KubeVirt removes it once the guest has arrived. */
  migrationTarget: 'kubevirt.io/create-migration-target',
  /** VM that waits: the run strategy that KubeVirt gives it when the guest has arrived. */
  restoreRunStrategy: 'kubevirt.io/restore-run-strategy',
  /** Label of a VM: a policy of the Hyperconverged Cluster Operator refuses its deletion. */
  deleteProtection: 'kubevirt.io/vm-delete-protection',
  /** PersistentVolumeClaim: CDI fills it at once, also where its class waits for a first consumer. */
  bindAtOnce: 'cdi.kubevirt.io/storage.bind.immediate.requested',
  /** DataVolume: whether CDI deletes it some time after it has succeeded (facts/kubevirt.md §6.2). */
  deleteAfterCompletion: 'cdi.kubevirt.io/storage.deleteAfterCompletion',
  /** VMIM: after how many seconds KubeVirt deletes a launcher that is Pending (facts/kubevirt.md §1.6). */
  pendingTimeout: 'kubevirt.io/migrationPendingPodTimeoutSeconds',
  /** VMIM: the same of one that no node can take yet. */
  unschedulableTimeout: 'kubevirt.io/migrationUnschedulablePodTimeoutSeconds',
} as const;

/** Marks that a VM may be past its cut-over. One mark, seen once on either side, is enough. */
export const MARK = {
  /** The guest was active on the target, though not necessarily for good. */
  guestReady: 'GuestReady',
  /** The guest runs on the target while its memory follows. */
  postCopy: 'PostCopy',
  /** The target's migration has succeeded. */
  received: 'Received',
  /** The VMI on the target no longer waits for its guest. */
  notWaiting: 'NotWaiting',
  /** The VM on the target is no receiver any more. */
  strategyRestored: 'StrategyRestored',
  /** The source's migration has completed, and not failed. */
  sent: 'Sent',
} as const;
export type Mark = (typeof MARK)[keyof typeof MARK];

/** Reasons for which a run waits, ends or warns. The messages say what to do. */
export const LIVE_REASON = {
  /** The limit of VMs that move at the same time is reached. */
  waitingToStart: 'WaitingToStart',
  /** A cluster does not answer, or refuses the token. Its state is unknown, so the run writes nothing. */
  clusterUnknown: 'ClusterUnknown',
  /** An API server or a webhook refuses a write. */
  refused: 'Refused',
  /** A different run moves the VM. */
  vmInUse: 'VMInUse',
  /** The VM on the source was deleted. */
  sourceGone: 'SourceGone',
  /** The VM on the source does not run. */
  sourceStopped: 'SourceStopped',
  /** The plan has a condition that keeps it from running. */
  planNotReady: 'PlanNotReady',
  /** A user canceled the VM. */
  userRequested: 'UserRequested',
  /** The Migration or the Plan is being deleted. */
  deleted: 'Deleted',
  /** The plan was archived. */
  archived: 'Archived',
  /** A user gave the run up (LIVE_ANNOTATION.breakGlass). */
  givenUp: 'GivenUp',
  /** A provider or a map of the plan is another object now. */
  modified: 'Modified',
  /** The run's record on the VM was removed. */
  recordLost: 'RecordLost',

  /** A hook's Job has not ended. */
  hookRuns: 'HookRuns',
  /** A hook failed, is gone, or took too long. */
  hookFailed: 'HookFailed',
  /** Volumes on the target are not ready. */
  volumesPending: 'VolumesPending',
  /** A volume cannot be made on the target, or was not ready in time. */
  volumeFailed: 'VolumeFailed',
  /** A Secret, ConfigMap, instance type or preference cannot be copied, or differs on the target. */
  resourceFailed: 'ResourceFailed',
  /** A VM of that name is on the target, and this run did not make it. */
  vmAlreadyExists: 'VMAlreadyExists',
  /** The VM on the target is not ready to receive its guest. */
  receiverPending: 'ReceiverPending',
  /** The VM on the target did not become a receiver in time. */
  receiverFailed: 'ReceiverFailed',
  /** KubeVirt gives the VM on the target other CPUs or memory: by an instance type, or by its defaults. */
  hardwareDiffers: 'HardwareDiffers',
  /** The VM on the target was deleted, or taken over. */
  targetGone: 'TargetGone',
  /** The target's synchronization controller has no address. */
  noAddress: 'NoAddress',
  /** The launcher does not fit in the target namespace's quotas. */
  overQuota: 'OverQuota',
  /** The launcher of another VM of the run comes first, because a quota counts it too. */
  inTurn: 'InTurn',
  /** The source's node is being drained, so the VM moves within its cluster first. */
  sourceEvacuating: 'SourceEvacuating',
  /** A VMSnapshot of the VM is being taken. KubeVirt refuses to halt the VM until it has ended. */
  sourceSnapshot: 'SourceSnapshot',
  /** A different migration of the VM is under way on the source. */
  sourceMigrating: 'SourceMigrating',
  /** The two clusters do not reach each other, or do not trust each other. */
  synchronizing: 'Synchronizing',
  /** The launcher on the target is not ready. */
  targetPending: 'TargetPending',
  /** KubeVirt on the target runs as many migrations at once as it may. */
  targetBusy: 'TargetBusy',
  /** The guest's memory and disks are being copied. */
  transferring: 'Transferring',
  /** The migration failed, was deleted, or took too long. */
  transferFailed: 'TransferFailed',
  /** The guest was seen on the target, and its migration did not succeed. */
  cutOverUndecided: 'CutOverUndecided',
  /** The guest has arrived on the target, and does not run there. */
  targetNotRunning: 'TargetNotRunning',
  /** The VM on the source is being turned off for good. */
  endingSource: 'EndingSource',
  /** The VM on the source has its run strategy again, which the run has changed while it moves. */
  sourceSetBack: 'SourceSetBack',
  /** The VM on the source was started again after its guest had left. */
  sourceStartedAgain: 'SourceStartedAgain',
  /** The VM on the source is not proved off. */
  sourceNotVerified: 'SourceNotVerified',
  /** The VM, which has moved, migrates once within the target. */
  migratingLocally: 'MigratingOnTarget',
  /** The VMIMs are being deleted. */
  aborting: 'Aborting',
  /** The VM on the source is starting again. */
  restoringSource: 'RestoringSource',
  /** The VM on the source is down, and nothing proves that its guest did not leave. */
  sourceDownUndecided: 'SourceDownUndecided',
  /** The objects that the run made are being deleted. */
  cleaningUp: 'CleaningUp',
  /** The VM runs on the target, and on the source it is off. */
  succeeded: 'Succeeded',
} as const;
export type LiveReason = (typeof LIVE_REASON)[keyof typeof LIVE_REASON];

/** Reason of the conditions about VMs that have moved. */
export const MOVED_REASON = 'Moved';

/** The kinds that a run makes, changes or compares, beside those of KIND (functions/domain/names.ts). */
export const LIVE_KIND = {
  vm: { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine' },
  dataVolume: { apiVersion: 'cdi.kubevirt.io/v1beta1', kind: 'DataVolume' },
  claim: { apiVersion: 'v1', kind: 'PersistentVolumeClaim' },
  namespace: { apiVersion: 'v1', kind: 'Namespace' },
  secret: { apiVersion: 'v1', kind: 'Secret' },
  configMap: { apiVersion: 'v1', kind: 'ConfigMap' },
  instancetype: { apiVersion: 'instancetype.kubevirt.io/v1beta1', kind: 'VirtualMachineInstancetype' },
  preference: { apiVersion: 'instancetype.kubevirt.io/v1beta1', kind: 'VirtualMachinePreference' },
  clusterInstancetype: {
    apiVersion: 'instancetype.kubevirt.io/v1beta1',
    kind: 'VirtualMachineClusterInstancetype',
  },
  clusterPreference: {
    apiVersion: 'instancetype.kubevirt.io/v1beta1',
    kind: 'VirtualMachineClusterPreference',
  },
  revision: { apiVersion: 'apps/v1', kind: 'ControllerRevision' },
  job: { apiVersion: 'batch/v1', kind: 'Job' },
} as const;

/** The whole object as kubectl applied it: the one of a VM has its passwords. */
export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** Annotations about one cluster: they are not copied to another one. */
export const BOUND_ANNOTATIONS: readonly string[] = [
  LAST_APPLIED,
  'kubevirt.io/latest-observed-api-version',
  'kubevirt.io/storage-observed-api-version',
  LIVE_KUBEVIRT.restoreRunStrategy,
];

/** Types of Secrets that mean something in their own cluster only. */
export const BOUND_SECRETS: readonly string[] = [
  'kubernetes.io/service-account-token',
  'bootstrap.kubernetes.io/token',
];

/** Field manager of KubeVirt's own writes to a VM. */
export const KUBEVIRT_MANAGER = 'virt-controller';

/** Types of the conditions of Plan, Migration, Provider, maps and Hook: Forklift's own, which its users know. */
export const LIVE_CONDITION = {
  /** True: it can be used; a plan can run. */
  ready: 'Ready',
  /** Plan: one of its migrations runs. */
  executing: 'Executing',
  /** Migration: it runs. */
  running: 'Running',
  /** Every VM moved that was not canceled. */
  succeeded: 'Succeeded',
  /** A VM could not be moved. */
  failed: 'Failed',
  /** No VM moved, because the run was canceled. */
  canceled: 'Canceled',
  /** Plan: a user archived it, and no run of it is under way. */
  archived: 'Archived',
  /** Migration: its plan is not set, or not there. */
  planNotValid: 'PlanNotValid',
  /** The requester lacks rights to what the object names or does: nothing more is read or written for it. */
  notAllowed: 'NotAllowed',
  /** Migration: its plan has a condition that keeps it from running. */
  planNotReady: 'PlanNotReady',

  /** The source is no provider that VMs can move from. */
  sourceProviderNotValid: 'SourceProviderNotValid',
  /** The destination is no provider that VMs can move to. */
  destinationProviderNotValid: 'DestinationProviderNotValid',
  /** The source cannot be reached now. */
  sourceProviderNotReady: 'SourceProviderNotReady',
  /** The destination cannot be reached now. */
  destinationProviderNotReady: 'DestinationProviderNotReady',
  /** The target namespace is no name of a namespace, or the one that the VMs are in. */
  namespaceNotValid: 'NamespaceNotValid',
  /** The network map is not set, or not there. */
  networkMapRefNotValid: 'NetworkMapRefNotValid',
  /** The network map has a problem. */
  networkMapNotReady: 'NetworkMapNotReady',
  /** The storage map is not set, or not there. */
  storageRefNotValid: 'StorageRefNotValid',
  /** The storage map has a problem. */
  storageMapNotReady: 'StorageMapNotReady',
  /** A network of the target is in a namespace that VMs of the target namespace cannot use. */
  destinationNadNotValid: 'NetMapDestinationNADNotValid',
  /** A cluster has no KubeVirt with DecentralizedLiveMigration. */
  migrationTypeNotValid: 'MigrationTypeNotValid',
  /** The source's Kubernetes is too old. */
  unsupportedVersion: 'UnsupportedVersion',
  /** The synchronization controller of a KubeVirt has no address. */
  noAddress: 'NoAddress',
  /** KubeVirt is older on the target than on the source. */
  versionsDiffer: 'VersionsDiffer',
  /** Plan: fields that have no effect on live migrations. */
  fieldsIgnored: 'FieldsIgnored',
  /** A VM of the plan has neither name nor id. */
  vmRefNotValid: 'VMRefNotValid',
  /** A VM of the plan is not on the source. */
  vmNotFound: 'VMNotFound',
  /** Migration: several of its VMs fit what is to be canceled, so none is. */
  vmNotUnique: 'VMNotUnique',
  /** Two entries are the same VM, two VMs get the same name, or an entry fits several VMs. */
  duplicateVm: 'DuplicateVM',
  /** A VM of that name is on the target already. */
  vmAlreadyExists: 'VMAlreadyExists',
  /** A volume of a VM has a name that is taken in the target namespace. */
  volumeAlreadyExists: 'VolumeAlreadyExists',
  /** A volume of a VM is one of other VMs too. */
  sharedDisks: 'SharedDisks',
  /** The network map lacks networks of VMs. */
  vmNetworksNotMapped: 'VMNetworksNotMapped',
  /** Several networks of a VM shall be the pod network. */
  vmPodNetworks: 'VMMultiplePodNetworkMappings',
  /** The storage map lacks storage classes of VMs. */
  vmStorageNotMapped: 'VMStorageNotMapped',
  /** A different run moves a VM. */
  vmInUse: 'VMInUse',
  /** A VM does not run. */
  vmPowerState: 'VMPowerStateUnsupported',
  /** A VM cannot be migrated, mostly for its disks. */
  vmMigrationType: 'VMMigrationTypeUnsupported',
  /** A VM has been changed since it started. */
  vmRestartRequired: 'VMRestartRequired',
  /** A VM has a volume that only its VMI knows. */
  volumeNotPersisted: 'VolumeNotPersisted',
  /** A VM of the target has the same MAC address. */
  macConflicts: 'MacConflicts',
  /** An instance type or preference of a VM is missing, or another one on the target. */
  instanceTypeDiffers: 'InstanceTypeDiffers',
  /** A Secret or a ConfigMap that a VM names is not on the source. */
  resourceNotFound: 'ResourceNotFound',
  /** No node of the target has the CPU of a VM's guest, or its KubeVirt gives the VM another one. */
  cpuDiffers: 'CPUDiffers',
  /** The node of a VM has no labels about its CPU. KubeVirt on the target waits for them. */
  cpuNotKnown: 'CPUNotKnown',
  /** The quotas of the target namespace have no room for VMs. */
  overQuota: 'OverQuota',
  /** A LimitRange of the target namespace refuses pods or volumes of VMs. */
  limitRange: 'LimitRangeRefuses',
  /** A hook is not set, or not there. */
  hookNotValid: 'HookNotValid',
  /** A hook has a problem. */
  hookNotReady: 'HookNotReady',
  /** A hook is of an unknown step. */
  hookStepNotValid: 'HookStepNotValid',
  /** A service account of the plan is not there. */
  serviceAccountNotValid: 'ServiceAccountNotValid',
  /** The service account that a hook names is not there. */
  hookServiceAccountNotValid: 'HookServiceAccountNotValid',
  /** A name for the target is no name of a VM. */
  targetNameNotValid: 'TargetNameNotValid',

  /** Provider: its spec is complete. */
  validated: 'Validated',
  /** Provider: its API server answers, and accepts the token. */
  connectionSucceeded: 'ConnectionTestSucceeded',
  /** Provider: its API server does not answer. */
  connectionFailed: 'ConnectionTestFailed',
  /** Provider: its API server refuses the token. */
  connectionAuthFailed: 'ConnectionAuthFailed',
  /** Provider: `live` can read the objects that plans need. */
  inventoryCreated: 'InventoryCreated',
  /** Provider: a setting is none that it may be, or is not supported. */
  settingsNotValid: 'SettingsNotValid',
  /** Provider: its URL is none of an API server of another cluster. */
  urlNotValid: 'UrlNotValid',
  /** Provider: its Secret is not set, not there, or lacks something. */
  secretNotValid: 'SecretNotValid',
  /** Provider: it is of a type that needs Forklift. */
  providerTypeNotSupported: 'ProviderTypeNotSupported',
  /** Provider: its certificate is not checked. */
  connectionInsecure: 'ConnectionInsecure',
  /** StorageMap: a source is not set, or not there. */
  sourceStorageNotValid: 'SourceStorageNotValid',
  /** StorageMap: a storage class of the target is not there. */
  destinationStorageNotValid: 'DestinationStorageNotValid',
  /** NetworkMap: a source is not set, or not there. */
  sourceNetworkNotValid: 'SourceNetworkNotValid',
  /** NetworkMap: a network of the target is not there. */
  destinationNetworkNotValid: 'DestinationNetworkNotValid',
  /** Hook: it has no image. */
  invalidImage: 'InvalidImage',
  /** Hook: its playbook is not base64. */
  invalidPlaybook: 'InvalidPlaybook',

  /** VM of a run, or a Migration: it waits for something that needs no user. */
  waiting: 'Waiting',
  /** VM of a run: it waits for something that needs a user, or longer than usual. */
  blocked: 'Blocked',
  /** VM of a run: its guest was seen on the target, so it stays there. */
  cutOver: 'CutOver',
  /** A VM is over its quota for good, or would be: a VMMRQ let it in, and lets no restart in. */
  restartWouldBeRefused: 'RestartWouldBeRefused',
  /** VM of a run: its migration has left a state by which KubeVirt does not start it again after its next crash or restart. */
  nextCrashHalts: 'NextCrashHalts',
  /** A VM was edited on the source during its move: the named fields of its copy on the target are as before. */
  editsNotOnTarget: 'EditsNotOnTarget',
  /** Plan: a VM that has moved runs on the source again, beside the one on the target. */
  runsOnBoth: 'RunsOnBoth',
  /** A VM of the plan has moved by another plan: its newest data is on another cluster. */
  hasMoved: 'VMHasMoved',
  /** A GitOps tool applies a VM on the source: after the move its sync may start a second copy there. */
  syncMayStartSource: 'SyncMayStartSource',
} as const;
export type LiveConditionType = (typeof LIVE_CONDITION)[keyof typeof LIVE_CONDITION];

/** Types of the CloudEvents about a VM that moves to another cluster, for subscribers; docs/events has their schemas. */
export const MOVE_EVENT = {
  /** A VM's move has begun. */
  started: 'io.kubevirt.mtq.live.started',
  /** A VM has come to its next step, or goes back. */
  step: 'io.kubevirt.mtq.live.step',
  /** A VM does not get on by itself, or waits longer than usual; again where step or reason changes. */
  blocked: 'io.kubevirt.mtq.live.blocked',
  /** A VM's guest was seen on the target: it stays there, whatever is canceled. */
  cutover: 'io.kubevirt.mtq.live.cutover',
  /** A VM runs on the target, and is off on the source. */
  succeeded: 'io.kubevirt.mtq.live.succeeded',
  /** A VM could not be moved, or not all of it is settled; data.message says what to do. */
  failed: 'io.kubevirt.mtq.live.failed',
  /** A VM stayed on the source, as a user wished. */
  canceled: 'io.kubevirt.mtq.live.canceled',
} as const;
export type MoveEventType = (typeof MOVE_EVENT)[keyof typeof MOVE_EVENT];
