import { randomUUID } from 'node:crypto';
import { EVENTS, KUBEVIRTS, MIGRATIONS, PODS, VMIS } from '../../../functions/kubernetes/resources.ts';
import type { New, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import type { KubeVirt, ResourceList } from '../../../functions/domain/objects.ts';
import {
  ANNOTATIONS,
  LABELS,
  MIGRATION_FINALIZER,
  OBSERVED_API_VERSIONS,
  VMI_FINALIZER_OLD,
} from './names.ts';
import type { LauncherPod, RecordedEvent, Vmi, Vmim, Volume } from './types.ts';

export const LAUNCHER_PODS = PODS as ResourceType<LauncherPod>;
export const FULL_VMIS = VMIS as ResourceType<Vmi>;
export const FULL_MIGRATIONS = MIGRATIONS as ResourceType<Vmim>;
export const RECORDED_EVENTS = EVENTS as ResourceType<RecordedEvent>;

export interface MigrationOptions {
  readonly namespace: string;
  readonly name: string;
  /** The VMI's name. */
  readonly vmi: string;
  /** 'system-critical' | 'user-triggered' | 'system-maintenance'; the real webhook lets only virt-controller set it. */
  readonly priority?: string;
  readonly annotations?: Record<string, string>;
  /** The id of a migration between clusters, of which this is the side that receives. */
  readonly receives?: string;
}

/** A VMIM as virt-api's mutating webhook leaves it: with its finalizer and the label of its VMI. */
export const newMigration = ({
  namespace,
  name,
  vmi,
  priority,
  annotations,
  receives,
}: MigrationOptions): New<Vmim> => ({
  metadata: {
    namespace,
    name,
    finalizers: [MIGRATION_FINALIZER],
    labels: { [LABELS.vmiName]: vmi },
    ...(annotations === undefined ? {} : { annotations }),
  },
  spec: {
    vmiName: vmi,
    ...(priority === undefined ? {} : { priority }),
    ...(receives === undefined ? {} : { receive: { migrationID: receives } }),
  },
});

export interface VmiOptions {
  readonly namespace: string;
  readonly name: string;
  /** Cores; 1 when left out. */
  readonly cpu?: number;
  /** The guest's memory; "1Gi" when left out. */
  readonly memory?: string;
  /** Resources of its own, instead of requests for the cores and the memory. */
  readonly resources?: { requests?: ResourceList; limits?: ResourceList };
  readonly labels?: Record<string, string>;
  /** Names of PVCs attached as hotplugged volumes: each migration then needs an attachment pod too. */
  readonly hotplug?: readonly string[];
  /** 'LiveMigrate' when left out; null: none of its own. */
  readonly evictionStrategy?: string | null;
  /** It runs in another cluster still: here only the target pod of its migration will be made. */
  readonly isReceived?: boolean;
}

/** A VMI as virt-api's mutating webhook leaves it: defaults filled in, with its finalizer. */
export function newVirtualMachineInstance(options: VmiOptions): New<Vmi> {
  const { namespace, name, labels, cpu = 1, memory = '1Gi', evictionStrategy = 'LiveMigrate' } = options;
  return {
    metadata: {
      namespace,
      name,
      annotations: {
        ...OBSERVED_API_VERSIONS,
        ...(options.isReceived === true ? { [ANNOTATIONS.createMigrationTarget]: 'true' } : {}),
      },
      finalizers: [VMI_FINALIZER_OLD],
      ...(labels === undefined ? {} : { labels }),
    },
    spec: {
      architecture: 'amd64',
      domain: {
        cpu: { cores: cpu, model: 'host-passthrough', sockets: 1, threads: 1 },
        devices: {
          autoattachSerialConsole: true,
          disks: [{ disk: { bus: 'virtio' }, name: 'disk0' }],
          interfaces: [{ masquerade: {}, model: 'virtio', name: 'default' }],
          logSerialConsole: true,
        },
        features: { acpi: { enabled: true } },
        firmware: { uuid: randomUUID() },
        machine: { type: 'q35' },
        memory: { guest: memory },
        resources: options.resources ?? { requests: { cpu: String(cpu), memory } },
      },
      ...(evictionStrategy === null ? {} : { evictionStrategy }),
      networks: [{ name: 'default', pod: {} }],
      terminationGracePeriodSeconds: 0,
      volumes: [
        { emptyDisk: { capacity: '1Gi' }, name: 'disk0' },
        ...(options.hotplug ?? []).map(hotplugged),
      ],
    },
  };
}

const hotplugged = (claimName: string): Volume => ({
  name: claimName,
  persistentVolumeClaim: { claimName, hotpluggable: true },
});

export interface KubeVirtSettings {
  readonly namespace?: string;
  readonly workloadUpdateMethods?: readonly WorkloadUpdateMethod[];
  readonly batchEvictionSize?: number;
  /** A duration as Go writes it: "1m0s". */
  readonly batchEvictionInterval?: string;
  readonly evictionStrategy?: string;
  readonly nodeDrainTaintKey?: string;
  readonly parallelMigrationsPerCluster?: number;
  readonly parallelOutboundMigrationsPerNode?: number;
  readonly additionalGuestMemoryOverheadRatio?: string;
}

/** The KubeVirt custom resource with this configuration only. */
export function newKubeVirt(options: KubeVirtSettings = {}): New<FullKubeVirt> {
  const {
    namespace = 'kubevirt',
    additionalGuestMemoryOverheadRatio,
    evictionStrategy,
    workloadUpdateMethods,
    batchEvictionSize,
    batchEvictionInterval,
    ...migrations
  } = options;
  const workloadUpdateStrategy = defined({ workloadUpdateMethods, batchEvictionSize, batchEvictionInterval });
  return {
    metadata: { namespace, name: 'kubevirt' },
    spec: {
      configuration: {
        migrations,
        ...defined({ additionalGuestMemoryOverheadRatio, evictionStrategy }),
      },
      ...(Object.keys(workloadUpdateStrategy).length === 0 ? {} : { workloadUpdateStrategy }),
    },
  };
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

const defined = <T extends object>(fields: T): Defined<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;

export type WorkloadUpdateMethod = 'LiveMigrate' | 'Evict';

export interface FullKubeVirt extends KubeVirt {
  spec?: {
    configuration?: Configuration;
    workloadUpdateStrategy?: {
      workloadUpdateMethods?: readonly WorkloadUpdateMethod[];
      batchEvictionSize?: number;
      batchEvictionInterval?: string;
    };
  };
  status?: KubeVirtStatus;
}

export interface KubeVirtStatus {
  phase?: string;
  observedDeploymentID?: string;
  targetDeploymentID?: string;
  observedKubeVirtVersion?: string;
  targetKubeVirtVersion?: string;
  operatorVersion?: string;
  /** VMIs that the workload updater wants to move or end, as of its last look. */
  outdatedVirtualMachineInstanceWorkloads?: number;
}

/** The used fields of the KubeVirt CR's spec.configuration. */
export interface Configuration {
  migrations?: {
    parallelMigrationsPerCluster?: number;
    parallelOutboundMigrationsPerNode?: number;
    nodeDrainTaintKey?: string;
  };
  /** Multiplies the memory overhead of every launcher ("1.5"). */
  additionalGuestMemoryOverheadRatio?: string;
  /** Of the VMIs without one of their own. */
  evictionStrategy?: string;
  developerConfiguration?: { cpuAllocationRatio?: number; featureGates?: string[] };
}

export const FULL_KUBEVIRTS = KUBEVIRTS as ResourceType<FullKubeVirt>;
