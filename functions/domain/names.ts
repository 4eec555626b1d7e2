/**
 * Defines every name that users, manifests and other programs see, each with one sentence. test/contract checks docs,
 * manifests and code against it.
 */

export const GROUP = 'mtq.kubevirt.io';
/** The namespace of the installation. */
export const SYSTEM_NAMESPACE = 'mtq-system';
/** Prefix of our cluster-scoped roles, bindings and policies: the incumbent's begin with `mtq-` (facts/peers.md §6). */
export const CLUSTER_PREFIX = 'managed-tenant-quota-';
/** Our field manager in metadata.managedFields, for every write of every process; also user agent and source of Events. */
export const FIELD_MANAGER = 'managed-tenant-quota';

/** Annotations, and what each one says. */
export const ANNOTATION = {
  /** Namespace: the lock's token, its migrations and quotas, and its end (JSON, see lock.ts). */
  lock: 'mtq.kubevirt.io/lock',
  /** Namespace: the lock's token alone, for CEL policies; set and removed with the lock. */
  token: 'mtq.kubevirt.io/token',
  /** Namespace: a user with the right to override sets the token here to remove the lock (docs/operations.md). */
  breakGlass: 'mtq.kubevirt.io/break-glass',
  /** ResourceQuota of a dry run: the token of the lock to prove (cluster/proof.ts). */
  proof: 'mtq.kubevirt.io/proof',
  /** Namespace: how the last attempt ended, for the back-off (JSON, see attempt.ts). */
  lastAttempt: 'mtq.kubevirt.io/last-attempt',
  /** ResourceQuota: what status.hard was raised to, and for whom (JSON, see grant.ts). */
  grant: 'mtq.kubevirt.io/grant',
  /** Namespace and ResourceQuota: the pods of the lock, by migration and VMI, comma-separated, for CEL policies (see lock.ts). */
  migrations: 'mtq.kubevirt.io/migrations',
  /** ResourceQuota: token of the last lock that ended on it, and how; fences every later writer of that lock. */
  lastRelease: 'mtq.kubevirt.io/last-release',
  /** VirtualMachineInstanceMigration: touched so that virt-controller looks again; the value says for what. */
  nudged: 'mtq.kubevirt.io/nudged',
  /** Event on a migration: feasibility's verdict, which quotas refuse it and what is missing (JSON, see known-verdict.ts). */
  verdict: 'mtq.kubevirt.io/verdict',
  /** Namespace or ResourceQuota: "true" opts it out. */
  skip: 'mtq.kubevirt.io/skip',
} as const;

/** Labels, both "true" or absent. */
export const LABEL = {
  /** Namespace: the guard looks at requests in it. */
  locked: 'mtq.kubevirt.io/locked',
  /** ResourceQuota: its status.hard may be above its spec.hard. */
  raised: 'mtq.kubevirt.io/raised',
} as const;

/**
 * Keys that only we write on a Namespace and on a ResourceQuota. ANNOTATION.breakGlass is not among them: a user with the
 * right to override sets it, and any user may remove it.
 */
export const OUR_KEYS = {
  namespace: {
    annotations: [ANNOTATION.lock, ANNOTATION.token, ANNOTATION.migrations, ANNOTATION.lastAttempt],
    labels: [LABEL.locked],
  },
  quota: {
    annotations: [ANNOTATION.grant, ANNOTATION.migrations, ANNOTATION.lastRelease],
    labels: [LABEL.raised],
  },
} as const;

/** The token of a namespace whose lock has none that can be read, for ANNOTATION.breakGlass. */
export const UNREADABLE_TOKEN = 'unreadable';

/** KubeVirt's own names that we read (facts/kubevirt.md §1). */
export const KUBEVIRT = {
  launcherLabel: 'kubevirt.io',
  launcher: 'virt-launcher',
  /** The pod that brings a VM's hotplugged volumes to its launcher's node; the launcher owns it (facts/kubevirt.md §1.2). */
  attachment: 'hotplug-disk',
  /** Pod label: the UID of the launcher's VMI. Set after the VMI's own labels were copied (facts/kubevirt.md §1.2). */
  createdBy: 'kubevirt.io/created-by',
  migrationJobUID: 'kubevirt.io/migrationJobUID',
  /** VMIM condition: the target pod was refused with "exceeded quota"; never cleared while Pending. */
  rejectedByQuota: 'migrationRejectedByResourceQuota',
  /** VMI label: its launcher is of another version than the one installed (facts/kubevirt.md §3.1). */
  outdatedLauncher: 'kubevirt.io/outdatedLauncherImage',
  /** Namespace label: KubeVirt limits memory to so many times the request, where it adds a limit (facts/kubevirt.md §2.1). */
  autoMemoryRatio: 'alpha.kubevirt.io/auto-memory-limits-ratio',
  /** VMI annotation: an isolated emulator thread takes a second CPU where that makes their number even (facts/kubevirt.md §2.1). */
  emulatorParity: 'alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity',
  /** Launcher annotation: bytes that it requests for what runs beside the guest; since KubeVirt 1.8 (facts/kubevirt.md §1.2). */
  memoryOverhead: 'kubevirt.io/memory-overhead-bytes',
  /** VMI annotations that add containers to its launcher: hooks of its own, and a mesh's proxy. */
  hookSidecars: 'hooks.kubevirt.io/hookSidecars',
  istioInject: 'sidecar.istio.io/inject',
  /** VMI condition: its networks were changed, which only its next launcher has. */
  migrationRequired: 'MigrationRequired',
  /** The launcher's container that runs the guest. */
  compute: 'compute',
  /** Ready only once a Service points to the pod: KubeVirt does not wait for that. */
  istioProxy: 'istio-proxy',
  /** PVC label: which VMI's TPM and EFI it keeps; and of which migration it will be the target's. */
  stateOf: 'persistent-state-for',
  migrationName: 'kubevirt.io/migrationName',
  /** VMIM annotation of the evacuation controller: a node is drained, or a launcher was evicted (facts/kubevirt.md §3.2). */
  evacuation: 'kubevirt.io/evacuationMigration',
  /** VMIM annotation of the workload updater: an upgrade, or a live update of the VM (facts/kubevirt.md §3.1). */
  workloadUpdate: 'kubevirt.io/workloadUpdateMigration',
  /** Reason of virt-controller's Event on a VMI: a pod was refused (facts/kubevirt.md §1.3). */
  failedCreate: 'FailedCreate',
  /** VMI label: the node it runs on. */
  nodeName: 'kubevirt.io/nodeName',
  /** VMI label: the node that it migrates to, from the hand-over on; it may outlive the migration (facts/kubevirt.md §1.1). */
  migrationTarget: 'kubevirt.io/migrationTargetNodeName',
  /** Default key of the taint that drains a node, as `nodeDrainTaintKey` (facts/kubevirt.md §3.2). */
  drainTaint: 'kubevirt.io/drain',
  /** The Lease of virt-controller's leader, in KubeVirt's namespace. */
  controllerLease: 'virt-controller',
} as const;

/** VMIM conditions: KubeVirt itself holds it back, and removes the condition when it goes on (facts/kubevirt.md §1.5). */
export const HELD_BACK: readonly string[] = ['migrationBlockedByBackup', 'migrationBlockedByUtilityVolumes'];

/** The labels that identify a pod: which of its pods, of which VMI, of which migration (lock.ts). */
export const POD_IDENTITY_LABELS = [
  KUBEVIRT.launcherLabel,
  KUBEVIRT.createdBy,
  KUBEVIRT.migrationJobUID,
] as const;

/** What a migration is for. A VMMRQ may give to some of them only (spec.purposes; policy/purpose.ts). */
export const PURPOSES = [
  /** KubeVirt moves the VM off a node that is being drained. */
  'Evacuation',
  /** KubeVirt moves the VM to a launcher of the current version, after an upgrade. */
  'WorkloadUpdate',
  /** KubeVirt applies a change of the VM: hotplugged CPUs, memory or volumes. */
  'LiveUpdate',
  /** The descheduler moves the VM. */
  'Rebalance',
  /** Everything else: a user created the migration, or evicted the VM's launcher. */
  'UserRequested',
] as const;
export type Purpose = (typeof PURPOSES)[number];

/** The kinds of object that we watch, write or report on. */
export const KIND = {
  migration: { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstanceMigration' },
  vmi: { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance' },
  vmmrq: { apiVersion: 'mtq.kubevirt.io/v1alpha1', kind: 'VirtualMachineMigrationResourceQuota' },
  clusterVmmrq: {
    apiVersion: 'mtq.kubevirt.io/v1alpha1',
    kind: 'ClusterVirtualMachineMigrationResourceQuota',
  },
  quota: { apiVersion: 'v1', kind: 'ResourceQuota' },
  progress: { apiVersion: 'mtq.kubevirt.io/v1alpha1', kind: 'MaintenanceProgress' },
  node: { apiVersion: 'v1', kind: 'Node' },
  kubevirt: { apiVersion: 'kubevirt.io/v1', kind: 'KubeVirt' },
} as const;

/** Types of our CloudEvents. They carry what to look at, never what to do. */
export const EVENT = {
  /** A blocked migration fits with a raise: lock. */
  migrationFeasible: 'io.kubevirt.mtq.migration.feasible',
  /** A blocked migration cannot be helped now; where lock says so, feasibility reports it. */
  migrationInfeasible: 'io.kubevirt.mtq.migration.infeasible',
  /** No raise of these quotas has been tried, or the last one was refused: dry-run it. */
  quotaUntried: 'io.kubevirt.mtq.quota.untried',
  /** The namespace is locked: raise. */
  namespaceLocked: 'io.kubevirt.mtq.namespace.locked',
  /** The quotas are raised: see whether the pods are there. */
  quotaRaised: 'io.kubevirt.mtq.quota.raised',
  /** A quota controller recounted a raised quota, and undid the raise: raise again. */
  quotaUndone: 'io.kubevirt.mtq.quota.undone',
  /** The quotas are restored: unlock. */
  quotaLowered: 'io.kubevirt.mtq.quota.lowered',
  /** The namespace is unlocked: evaluate the migrations that are left. */
  namespaceUnlocked: 'io.kubevirt.mtq.namespace.unlocked',
  /** A lock has expired, or a grant has no lock: lower. */
  lockExpired: 'io.kubevirt.mtq.lock.expired',
  /** A migration of the lock is final or gone: see whether the quotas are still needed. */
  migrationEnded: 'io.kubevirt.mtq.migration.ended',
  /** No progress since the quota rose: nudge, then lower. */
  lockStalled: 'io.kubevirt.mtq.lock.stalled',
  /** Look at this namespace again, an event may have been lost. */
  resyncRequested: 'io.kubevirt.mtq.sweep.requested',
} as const;
export type EventType = (typeof EVENT)[keyof typeof EVENT];

/** Types of the ApiServerSource's events (facts/knative.md §1.2). */
export const SOURCE_EVENT = {
  add: 'dev.knative.apiserver.resource.add',
  update: 'dev.knative.apiserver.resource.update',
  delete: 'dev.knative.apiserver.resource.delete',
} as const;

/** Reasons of the Kubernetes Events that we write. */
export const EVENT_REASON = {
  /** A quota refuses the migration's target pod; says which and what happens next. */
  migrationBlocked: 'MigrationBlocked',
  /** The migration's target pod exists. */
  migrationAdmitted: 'MigrationAdmitted',
  /** A ResourceQuota is restored. */
  quotaLowered: 'QuotaLowered',
  /** The VMMRQs do not give enough: which resource, how much is missing. */
  quotaNotEnough: 'QuotaNotEnough',
  /** Node: its drain is blocked. */
  drainBlocked: 'DrainBlocked',
  /** KubeVirt object: its upgrade is blocked. */
  upgradeBlocked: 'UpgradeBlocked',
  /** Namespace: a user removed its lock by break-glass; says who. */
  lockRemoved: 'LockRemoved',
  /** ForkliftController: Forklift runs the plans. */
  leftToForklift: 'LeftToForklift',
} as const;
export type EventReason = (typeof EVENT_REASON)[keyof typeof EVENT_REASON];

/** Condition types in a VMMRQ's status. */
export const CONDITION = {
  /** True: this VMMRQ can be used. */
  ready: 'Ready',
  /** True: a migration waits for a quota of this namespace. */
  blocking: 'Blocking',
  /** True: the namespace is locked now. */
  locked: 'Locked',
  /** True: a quota is raised now. */
  raised: 'Raised',
  /** True: what the VMMRQs give is less than a migration needs. */
  notEnough: 'NotEnough',
  /** True: the last raise did not get its migration through. */
  raisedButNotAdmitted: 'RaisedButNotAdmitted',
  /** True: a change by others, or a missing proof, prevents the raise. */
  conflict: 'Conflict',
} as const;

/** Reasons of verdicts and decisions, as in logs, answers and conditions. */
export const REASON = {
  /** No migration of the namespace is refused by a quota. */
  nothingBlocked: 'NothingBlocked',
  /** The VMI of the migration is gone. */
  vmiGone: 'VirtualMachineInstanceGone',
  /** No launcher pod of the VMI to take the size from. */
  noSourcePod: 'NoSourcePod',
  /** The VM has several launchers and no migration under way, so KubeVirt creates no target. */
  launcherLeftOver: 'LauncherLeftOver',
  /** The VM has changed, and the estimate does not know by how much. */
  sizeUnknown: 'SizeUnknown',
  /** KubeVirt's parallel limits hold the migration back anyway. */
  parallelLimit: 'ParallelLimitReached',
  /** The last attempt failed; the back-off is running. */
  backOff: 'BackOff',
  /** Failed attempts have used up the lock budget. */
  lockBudgetSpent: 'LockBudgetSpent',
  /** The namespace is locked already. */
  alreadyLocked: 'AlreadyLocked',
  /** Other migrations of the namespace go first. */
  afterOthers: 'AfterOthers',
  /** The quota controller has not computed status.hard yet. */
  statusUnknown: 'QuotaStatusUnknown',
  /** The namespace has no VMMRQ. */
  noVmmrq: 'NoVirtualMachineMigrationResourceQuota',
  /** The VMMRQs give less than is missing. */
  notEnough: 'NotEnough',
  /** A quota counts pods that are gone. */
  notRecounted: 'QuotaNotRecounted',
  /** More quotas refuse the pod than one lock raises. */
  tooManyQuotas: 'TooManyQuotas',
  /** The migration receives a VM from another cluster, and no VMMRQ allows that. */
  receiveNotAllowed: 'ReceiveNotAllowed',
  /** No VMMRQ gives to migrations of its purpose. */
  purposeNotServed: 'PurposeNotServed',
  /** The migration evacuates a node that is not drained any more, or is gone. */
  nodeNotDrained: 'NodeNotDrained',
  /** A quota refuses the volume claim that the target needs first. */
  volumeQuota: 'VolumeQuotaExceeded',
  /** A quota refuses the migration itself. */
  migrationQuota: 'MigrationQuotaExceeded',
  /** A ClusterResourceQuota refuses the pod. */
  clusterQuota: 'ClusterQuotaExceeded',
  /** A quota requires a value that the pod does not have. */
  mustSpecify: 'QuotaMustSpecify',
  /** No quota covers the pod, and the cluster requires one. */
  noCoveringQuota: 'NoCoveringQuota',
  /** A LimitRange refuses the target pod. */
  limitRange: 'LimitRangeRefuses',
  /** Pod Security refuses the target pod. */
  podSecurity: 'PodSecurityRefuses',
  /** A webhook, a policy or another component refuses the target pod. */
  podRefused: 'PodRefusedByPolicy',
  /** A webhook or policy refuses our writes. */
  refusedByPolicy: 'RefusedByPolicy',
  /** A dry run shows first whether a webhook or policy refuses the raise. */
  dryRunFirst: 'DryRunFirst',
  /** The namespace belongs to the cluster, not to a tenant. */
  reservedNamespace: 'ReservedNamespace',
  /** The namespace or the quota opts out. */
  skipped: 'Skipped',
  /** The incumbent (MTQ) is installed. */
  incumbentPresent: 'IncumbentPresent',
  /** The namespace is being deleted. */
  namespaceTerminating: 'NamespaceTerminating',
  /** The quotas have headroom: virt-controller only has to look again. */
  fits: 'Fits',
  /** The quotas have headroom with the raise. */
  fitsWithRaise: 'FitsWithRaise',
  /** A quota holds a grant without a lock: repaired first. */
  grantWithoutLock: 'GrantWithoutLock',
  /** The functions of the later steps do not answer yet, so nothing was locked. */
  functionsSilent: 'FunctionsSilent',
  /** The lock was taken. */
  locked: 'Locked',
  /** The namespace is not locked, or by another token. */
  notOurLock: 'NotOurLock',
  /** The lock has expired. */
  lockExpired: 'LockExpired',
  /** An API server did not confirm the lock, so nothing was raised. */
  noProof: 'NoProof',
  /** The lock has ended on the quota already, so nothing was written. */
  fenced: 'Fenced',
  /** The quotas are raised. */
  raised: 'Raised',
  /** A migration of the lock has no target pod yet. */
  stillWaiting: 'StillWaiting',
  /** Every migration of the lock has its target pod. */
  admitted: 'Admitted',
  /** Every migration of the lock has ended, or is gone. */
  ended: 'Ended',
  /** The quota rose, but KubeVirt created no pod. */
  raisedButNotAdmitted: 'RaisedButNotAdmitted',
  /** The quota rose, but nothing shows that KubeVirt tried its pod. */
  notTried: 'NotTried',
  /** KubeVirt is away, and was perhaps during the last lock. */
  kubevirtAway: 'KubeVirtAway',
  /** A quota controller recounted the quota, which undid the raise. */
  undone: 'Undone',
  /** The guard's view of the cluster did not answer in time. */
  viewUnavailable: 'ViewUnavailable',
  /** A quota refused it a moment ago: lock decides. */
  freshRefusal: 'FreshRefusal',
  /** The guard has seen a migration slot for it: lock decides. */
  slotFree: 'MigrationSlotFree',
  /** The quotas count the lock's pods, which are not seen yet. */
  charged: 'Charged',
  /** The quotas are restored. */
  lowered: 'Lowered',
  /** A quota of the lock is not restored yet. */
  notRestored: 'NotRestored',
  /** The namespace is unlocked. */
  unlocked: 'Unlocked',
  /** A MaintenanceProgress is up to date. */
  reported: 'Reported',
} as const;
export type Reason = (typeof REASON)[keyof typeof REASON];

/** How a lock ended, by its quotas' last-release; the best outcome counts. */
export const LOCK_OUTCOME = {
  /** Every pod of the lock was seen. */
  admitted: 'admitted',
  /** `used` rose as far as it was raised for. Without its pods at the unlock it counts against the lock budget, without a back-off. */
  charged: 'charged',
  /** Other migrations went first, or KubeVirt had not tried its pod. */
  gaveWay: 'gaveWay',
  /** Other migrations had taken the migration slots of its own. */
  slotGone: 'slotGone',
  /** KubeVirt or the guard was away while the quotas were raised. */
  notTried: 'notTried',
  /** Our component was absent or late: no failure of the tenant's. */
  ourFault: 'ourFault',
  /** The raise had no effect. */
  failed: 'failed',
} as const;
export type LockOutcome = (typeof LOCK_OUTCOME)[keyof typeof LOCK_OUTCOME];

/** How often a token may raise a quota, besides once for each migration of the lock: once, and again after each recount that undid it. */
export const MAX_RAISES = 5;

/** Service accounts in SYSTEM_NAMESPACE, one for each process. */
export const SERVICE_ACCOUNT = {
  feasibility: 'mtq-feasibility',
  lock: 'mtq-lock',
  raise: 'mtq-raise',
  lower: 'mtq-lower',
  unlock: 'mtq-unlock',
  progress: 'mtq-progress',
  guard: 'mtq-guard',
  source: 'mtq-source',
} as const;

/** The user name by which the API server knows one of our service accounts. */
export const userOf = (account: string, namespace: string = SYSTEM_NAMESPACE): string =>
  `system:serviceaccount:${namespace}:${account}`;

const BYSTANDERS: readonly string[] = [SERVICE_ACCOUNT.source, SERVICE_ACCOUNT.progress];

/** The users that write to namespaces and quotas. The source only reads, and `progress` writes its own kind. */
export const OUR_USERS: readonly string[] = Object.values(SERVICE_ACCOUNT)
  .filter((account) => !BYSTANDERS.includes(account))
  .map((account) => userOf(account));

/** The guard's webhooks in its ValidatingWebhookConfiguration. */
export const WEBHOOK = {
  configuration: 'mtq-guard',
  locked: 'locked.mtq.kubevirt.io',
  keys: 'keys.mtq.kubevirt.io',
  /** The guard's webhook in its MutatingWebhookConfiguration, which live migrations between clusters have. */
  live: 'live.mtq.kubevirt.io',
  liveConfiguration: 'mtq-guard-live',
} as const;

/** Our ValidatingAdmissionPolicies; each has a binding of the same name. */
export const POLICY = {
  /** Lets only the migrations' pods in while a ResourceQuota is raised; it reads what quota admission reads. */
  raisedPods: 'raised-pods.mtq.kubevirt.io',
  /** Lets only our accounts write our keys on a ResourceQuota; no user removes them while it is raised or its namespace locked. */
  raisedQuotas: 'raised-quotas.mtq.kubevirt.io',
  /** Lets only our accounts write our keys on a Namespace, as in the webhook. */
  lockKeys: 'lock-keys.mtq.kubevirt.io',
  /** Our own accounts write nothing but what the steps write; a failure to evaluate admits the write. */
  ownWrites: 'own-writes.mtq.kubevirt.io',
  /** Lets only KubeVirt mark a migration as an evacuation or an update, and a VMI as outdated. */
  purposes: 'purposes.mtq.kubevirt.io',
  /** Lets only our accounts write verdicts on Events. */
  verdicts: 'verdicts.mtq.kubevirt.io',
  /** Lets only the migrations' pods in while a Namespace is locked; where there is no webhook its refusal is the proof. */
  locked: 'locked.mtq.kubevirt.io',
} as const;

/** Refusal by POLICY.locked of a proof of this lock, where there is no webhook; the lock's token follows. */
export const PROOF_MESSAGE = 'the namespace is guarded for the lock ';

/**
 * Refusal by POLICY.locked of a proof of another lock than the API server's cache has. The cache may only be a moment behind:
 * worth a retry, never a proof.
 */
export const OTHER_LOCK_MESSAGE =
  'this API server knows the namespace with another lock than that of the proof';

/** CloudEvents `source` of our own events: from a step, or from the guard. */
export const sourceOf = (from: string): string => `/mtq/${from}`;

/** Objects by which the API servers publish their addresses, and that they run (k8s.io/kubernetes, pkg/controlplane). */
export const API_SERVERS = {
  slices: { namespace: 'default', labelSelector: 'kubernetes.io/service-name=kubernetes' },
  leases: { namespace: 'kube-system', labelSelector: 'apiserver.kubernetes.io/identity=kube-apiserver' },
  /** The name that every API server's certificate is good for. */
  tlsName: 'kubernetes.default.svc',
} as const;

/** ANNOTATION.grant of a raise that is only tried by a dry run: without a lock POLICY.ownWrites admits no other raise. */
export const DRY_RUN_GRANT = 'dry-run';

/** Name of the ResourceQuota that `raise` asks the API server to refuse (dry run only: it never exists). */
export const PROOF_QUOTA = 'mtq-proof';

/** Namespaces that belong to the cluster, besides KubeVirt's own: the guard's matchConditions say the same. */
export const RESERVED = {
  names: ['default', SYSTEM_NAMESPACE],
  prefixes: ['kube-', 'openshift-', 'knative-'],
} as const;

/** A namespace that belongs to the cluster and is never locked. */
export function isReserved({
  namespace,
  kubevirtNamespace,
}: {
  readonly namespace: string;
  readonly kubevirtNamespace: string;
}): boolean {
  const names: readonly string[] = [...RESERVED.names, kubevirtNamespace];
  return names.includes(namespace) || RESERVED.prefixes.some((prefix) => namespace.startsWith(prefix));
}
