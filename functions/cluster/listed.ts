import { LIMIT_RANGER } from '../domain/sizing/limit-ranges.ts';
import { ADDS_CONTAINERS } from '../domain/sizing/unknown-terms.ts';
import { isFinal } from '../domain/migration.ts';
import { ANNOTATION, KUBEVIRT, LABEL, POD_IDENTITY_LABELS } from '../domain/names.ts';
import type {
  KubernetesEvent,
  KubernetesObject,
  LimitRange,
  Migration,
  ObjectMeta,
  OwnerReference,
  PersistentVolumeClaim,
  Pod,
  ResourceQuota,
  VirtualMachineInstance,
} from '../domain/objects.ts';
import type { ListedType, ResourceType } from '../kubernetes/cluster.ts';
import {
  CLAIMS,
  EVENTS,
  LIMIT_RANGES,
  MIGRATIONS,
  PODS,
  RESOURCE_QUOTAS,
  VMIS,
  VMMRQS,
} from '../kubernetes/resources.ts';
import { trimmed, type Keep } from '../kubernetes/trim.ts';

/*
 * What is kept of the objects in lists that tenants can fill. Objects that are written again are listed whole: the quotas
 * (quotas.ts says which) and VMMRQs of resources.ts.
 */

type Names = Readonly<Record<string, true>>;

/** Fields that lists leave out, or that no code reads. */
export const OBJECT = { apiVersion: false, kind: false } as const;

const metadata = (
  labels: Names | false = false,
  annotations: Names | false = false,
  ownerReferences: Keep<OwnerReference[]> = false,
): Keep<ObjectMeta> => ({
  name: true,
  generateName: false,
  namespace: true,
  uid: true,
  resourceVersion: true,
  generation: true,
  creationTimestamp: true,
  deletionTimestamp: true,
  labels,
  finalizers: false,
  ownerReferences,
  annotations,
  managedFields: false,
});

/** A kind of which lists keep these fields. */
export function listed<T extends KubernetesObject>(
  type: ResourceType<T>,
  keep: Keep<T>,
  { maxBytes, skipIf }: { readonly maxBytes?: number; readonly skipIf?: (whole: T) => boolean } = {},
): ListedType<T> {
  const trim = (whole: T): ReturnType<ListedType<T>['trim']> =>
    skipIf?.(whole) === true ? undefined : trimmed(keep, whole, maxBytes);
  return { ...type, trim };
}

/** Annotations of a VMI, and of its launcher, that the size of its target depends on. */
export const SIZE_IN_ANNOTATIONS: Names = Object.fromEntries(
  [KUBEVIRT.emulatorParity, ...ADDS_CONTAINERS].map((key) => [key, true]),
);

/** The owner of a pod identifies the VMI; no other kind needs it. */
const OWNER = [{ uid: true, controller: true, kind: true, name: true, apiVersion: false }] as const;
const POD_LABELS: Names = Object.fromEntries(POD_IDENTITY_LABELS.map((label) => [label, true]));
/** Metadata for lists of the whole cluster: little more than the identity of an object. */
export const NAMED = {
  name: true,
  generateName: false,
  namespace: true,
  uid: true,
  resourceVersion: false,
  generation: false,
  creationTimestamp: false,
  deletionTimestamp: true,
  labels: false,
  finalizers: false,
  ownerReferences: false,
  annotations: false,
  managedFields: false,
} as const;
const STATE = { name: true, ready: true, state: { running: {} } } as const;
const POD_STATUS = {
  phase: true,
  qosClass: false,
  containerStatuses: [{ ...STATE, resources: false, allocatedResources: false }],
  initContainerStatuses: false,
} as const;
const CHARGED = {
  name: true,
  ready: false,
  state: false,
  resources: true,
  allocatedResources: true,
} as const;
const CONTAINERS = [{ name: true, restartPolicy: true, resources: true }] as const;
const TERM = { namespaces: true, namespaceSelector: {} } as const;
const AFFINITY = {
  requiredDuringSchedulingIgnoredDuringExecution: [TERM],
  preferredDuringSchedulingIgnoredDuringExecution: [{ podAffinityTerm: TERM }],
} as const;

/** The fields of a pod that quotas and KubeVirt look at. */
const PODS_AS_SIZED = {
  ...OBJECT,
  metadata: metadata(
    POD_LABELS,
    { [KUBEVIRT.memoryOverhead]: true, [LIMIT_RANGER]: true, ...SIZE_IN_ANNOTATIONS },
    OWNER,
  ),
  status: POD_STATUS,
  spec: {
    nodeName: true,
    activeDeadlineSeconds: true,
    priorityClassName: true,
    runtimeClassName: false,
    overhead: true,
    resources: true,
    containers: CONTAINERS,
    initContainers: CONTAINERS,
    affinity: { nodeAffinity: false, podAffinity: AFFINITY, podAntiAffinity: AFFINITY },
  },
} as const;
export const LISTED_PODS = listed<Pod>(PODS, PODS_AS_SIZED);

/** The same with what the kubelet runs, which quotas charge too while a resize is under way. */
export const LISTED_CHARGED_PODS = listed<Pod>(PODS, {
  ...PODS_AS_SIZED,
  status: {
    phase: true,
    qosClass: false,
    containerStatuses: [CHARGED],
    initContainerStatuses: [CHARGED],
  },
});

/** Identity and state of a pod, without its size. A tenant may have many, completed ones included. */
export const LISTED_STATES_OF_PODS = listed<Pod>(
  PODS,
  {
    ...OBJECT,
    metadata: metadata(POD_LABELS, false, OWNER),
    status: POD_STATUS,
    spec: {
      nodeName: true,
      containers: [false],
      initContainers: false,
      overhead: false,
      resources: false,
      activeDeadlineSeconds: false,
      priorityClassName: false,
      affinity: false,
      runtimeClassName: false,
    },
  },
  { maxBytes: 4 * 1024 },
);

export const CONDITION = {
  type: true,
  status: true,
  reason: false,
  message: false,
  observedGeneration: false,
  lastProbeTime: true,
  lastTransitionTime: false,
} as const;

export const LISTED_MIGRATIONS = listed<Migration>(MIGRATIONS, {
  ...OBJECT,
  metadata: metadata(false, {
    [KUBEVIRT.evacuation]: true,
    [KUBEVIRT.workloadUpdate]: true,
    // Last: a tenant can make it too long to be kept.
    [ANNOTATION.nudged]: true,
  }),
  status: { phase: true, conditions: [CONDITION], phaseTransitionTimestamps: true, migrationState: false },
  spec: { vmiName: true, priority: true, sendTo: true, receive: true },
});

/** Migrations of the whole cluster and their state, without those that `skipIf` is true of. */
export const listedMigrations = (skipIf: (migration: Migration) => boolean): ListedType<Migration> =>
  listed<Migration>(
    MIGRATIONS,
    {
      ...OBJECT,
      metadata: {
        ...NAMED,
        creationTimestamp: true,
        annotations: { [KUBEVIRT.evacuation]: true, [KUBEVIRT.workloadUpdate]: true },
      },
      status: {
        phase: true,
        conditions: [CONDITION],
        phaseTransitionTimestamps: [{ phase: true, phaseTransitionTimestamp: true }],
        migrationState: { sourceNode: true },
      },
      spec: { vmiName: true, priority: true, sendTo: true, receive: true },
    },
    { maxBytes: 2 * 1024, skipIf },
  );

/** The same without those that have ended: KubeVirt keeps five of each VM. */
export const LISTED_MIGRATIONS_TO_COME = listedMigrations(isFinal);

const CPU = { cores: true, sockets: true, threads: true } as const;

/** What the size of a VM's target depends on: of its VMI's status, and of its spec. */
export const SIZE_IN_STATUS = {
  currentCPUTopology: CPU,
  memory: { guestRequested: true, memoryOverhead: true },
  changedBlockTracking: { state: true },
} as const;
export const SIZE_IN_SPEC = {
  domain: {
    cpu: { ...CPU, dedicatedCpuPlacement: true, isolateEmulatorThread: true },
    ioThreadsPolicy: true,
    ioThreads: { supplementalPoolThreadCount: true },
    memory: { guest: true, hugepages: { pageSize: true } },
    // First: a tenant can make the lists too long to be kept.
    resources: { overcommitGuestOverhead: true, requests: true, limits: true },
    devices: { tpm: { persistent: true } },
    firmware: { bootloader: { efi: { persistent: true } } },
  },
} as const;

export const LISTED_VMIS = listed<VirtualMachineInstance>(VMIS, {
  ...OBJECT,
  metadata: metadata({ [KUBEVIRT.outdatedLauncher]: true }, SIZE_IN_ANNOTATIONS),
  status: {
    phase: true,
    nodeName: true,
    activePods: false,
    ...SIZE_IN_STATUS,
    evacuationNodeName: false,
    conditions: [{ ...CONDITION, lastProbeTime: false }],
    migrationState: false,
  },
  spec: {
    evictionStrategy: false,
    terminationGracePeriodSeconds: false,
    priorityClassName: true,
    ...SIZE_IN_SPEC,
  },
});

export const LISTED_EVENTS = listed<KubernetesEvent>(EVENTS, {
  ...OBJECT,
  metadata: metadata(),
  involvedObject: {
    apiVersion: false,
    kind: true,
    namespace: true,
    name: true,
    uid: true,
    resourceVersion: false,
  },
  reason: true,
  type: true,
  count: true,
  firstTimestamp: true,
  lastTimestamp: true,
  source: { component: true },
  message: true,
});

export const LISTED_LIMIT_RANGES = listed<LimitRange>(LIMIT_RANGES, {
  ...OBJECT,
  metadata: metadata(),
  spec: {
    limits: [
      {
        type: true,
        default: true,
        defaultRequest: true,
        min: false,
        max: false,
        maxLimitRequestRatio: false,
      },
    ],
  },
});

/** LimitRanges with their limits, which refuse pods and claims, besides their defaults. */
export const LISTED_WHOLE_LIMIT_RANGES = listed<LimitRange>(LIMIT_RANGES, {
  ...OBJECT,
  metadata: NAMED,
  spec: {
    limits: [
      { type: true, default: true, defaultRequest: true, min: true, max: true, maxLimitRequestRatio: true },
    ],
  },
});

export const LISTED_CLAIMS = listed<PersistentVolumeClaim>(CLAIMS, {
  ...OBJECT,
  metadata: metadata({ [KUBEVIRT.stateOf]: true, [KUBEVIRT.migrationName]: true }),
  spec: { accessModes: true, storageClassName: true, resources: { requests: true } },
});

/** Objects of which only the name counts; only those that `isMeant` chooses. */
export const named = <T extends KubernetesObject>(
  type: ResourceType<T>,
  isMeant: (whole: T) => boolean = () => true,
): ListedType<KubernetesObject> =>
  listed<KubernetesObject>(
    { ...type },
    { ...OBJECT, metadata: NAMED },
    { skipIf: (whole) => !isMeant(whole as T) },
  );

/** Identity only, to report on each. */
export const LISTED_VMMRQS = named(VMMRQS);

/** The watchdog's watch selects by the label, so it does not see these. */
const isHidden = ({ metadata: { annotations, labels } }: ResourceQuota): boolean =>
  annotations?.[ANNOTATION.grant] !== undefined && labels?.[LABEL.raised] === undefined;

/** Quotas of the whole cluster that hold a grant without the label; only where they are. */
export const LISTED_HIDDEN_GRANTS = named(RESOURCE_QUOTAS, isHidden);
