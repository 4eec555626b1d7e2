import { randomUUID } from 'node:crypto';
import {
  CLAIMS,
  EVENTS,
  KUBEVIRTS,
  MIGRATIONS,
  PODS,
  VMIS,
} from '../../../../functions/kubernetes/resources.ts';
import type { Address, Cluster, New, ResourceType } from '../../../../functions/kubernetes/cluster.ts';
import type { KubeVirt, PersistentVolumeClaim, ResourceList } from '../../../../functions/domain/objects.ts';
import {
  ANNOTATIONS,
  LABELS,
  MIGRATION_FINALIZER,
  OBSERVED_API_VERSIONS,
  VMI_FINALIZER_OLD,
} from './names.ts';
import type { LauncherPod, RecordedEvent, RunStrategy, SourceState, Vm, Vmi, Vmim, Volume } from './types.ts';

export const LAUNCHER_PODS = PODS as ResourceType<LauncherPod>;
export const FULL_VMIS = VMIS as ResourceType<Vmi>;
export const FULL_MIGRATIONS = MIGRATIONS as ResourceType<Vmim>;
export const VMS: ResourceType<Vm> = {
  apiVersion: 'kubevirt.io/v1',
  kind: 'VirtualMachine',
  plural: 'virtualmachines',
  namespaced: true,
};

/** core/v1 PersistentVolumeClaim, with the fields that KubeVirt copies. */
export interface FullClaim extends PersistentVolumeClaim {
  spec: PersistentVolumeClaim['spec'] & { volumeMode?: string; volumeName?: string };
  status?: { phase?: string; capacity?: ResourceList };
}

export const FULL_CLAIMS = CLAIMS as ResourceType<FullClaim>;
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
  /** The same of the side that sends; the URL is the other side's synchronization address ("10.8.0.7:9185"). */
  readonly sends?: { readonly migrationID: string; readonly connectURL: string };
}

/** A VMIM as virt-api's mutating webhook leaves it: with its finalizer and the label of its VMI. */
export const newMigration = ({
  namespace,
  name,
  vmi,
  priority,
  annotations,
  receives,
  sends,
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
    ...(sends === undefined ? {} : { sendTo: sends }),
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
  /** Names of PVCs, a disk each, instead of one that is empty at each start. */
  readonly claims?: readonly string[];
  /** Names of PVCs attached as hotplugged volumes: each migration then needs an attachment pod too. */
  readonly hotplug?: readonly string[];
  /** 'LiveMigrate' when left out; null: none of its own. */
  readonly evictionStrategy?: string | null;
}

/** A VMI as virt-api's mutating webhook leaves it: defaults filled in, with its finalizer. */
export function newVirtualMachineInstance(options: VmiOptions): New<Vmi> {
  const { namespace, name, labels, cpu = 1, memory = '1Gi', evictionStrategy = 'LiveMigrate' } = options;
  const disks = options.claims?.map(onClaim) ?? [EMPTY_DISK];
  return {
    metadata: {
      namespace,
      name,
      annotations: OBSERVED_API_VERSIONS,
      finalizers: [VMI_FINALIZER_OLD],
      ...(labels === undefined ? {} : { labels }),
    },
    spec: {
      architecture: 'amd64',
      domain: {
        cpu: { cores: cpu, model: 'host-passthrough', sockets: 1, threads: 1 },
        devices: {
          autoattachSerialConsole: true,
          disks: disks.map((disk) => ({ disk: { bus: 'virtio' }, name: disk.name })),
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
      volumes: [...disks, ...(options.hotplug ?? []).map(hotplugged)],
    },
  };
}

/** The same of a guest in another cluster, which has sent all that the target pod of its migration needs. */
export function newReceiver(options: VmiOptions): New<Vmi> {
  const vmi = newVirtualMachineInstance(options);
  const annotations = { ...vmi.metadata.annotations, [ANNOTATIONS.createMigrationTarget]: 'true' };
  return {
    ...vmi,
    metadata: { ...vmi.metadata, annotations },
    status: { migrationState: { sourceState: ELSEWHERE } },
  };
}

const ELSEWHERE: SourceState = {
  migrationUID: 'uid-of-the-sending-migration',
  pod: 'virt-launcher-elsewhere',
  node: 'elsewhere',
  nodeSelectors: { 'cpu-vendor.node.kubevirt.io/Intel': 'true' },
};

const EMPTY_DISK: Volume = { emptyDisk: { capacity: '1Gi' }, name: 'disk0' };

const onClaim = (claimName: string): Volume => ({ name: claimName, persistentVolumeClaim: { claimName } });

const hotplugged = (claimName: string): Volume => ({
  name: claimName,
  persistentVolumeClaim: { claimName, hotpluggable: true },
});

export interface VmOptions extends VmiOptions {
  /** 'Always' when left out; 'running': the older form, `running: true`. */
  readonly runStrategy?: RunStrategy | 'running';
  /** Of a VM that waits as receiver: its run strategy once the guest has arrived. */
  readonly restoreRunStrategy?: RunStrategy;
}

/** A VM as virt-api leaves it, with the guest of `newVirtualMachineInstance`. Its labels are those of the VMI. */
export function newVirtualMachine({
  runStrategy = 'Always',
  restoreRunStrategy,
  labels,
  ...options
}: VmOptions): New<Vm> {
  const { namespace, name } = options;
  return {
    metadata: {
      namespace,
      name,
      ...(restoreRunStrategy === undefined
        ? {}
        : { annotations: { [ANNOTATIONS.restoreRunStrategy]: restoreRunStrategy } }),
    },
    spec: {
      ...(runStrategy === 'running' ? { running: true } : { runStrategy }),
      template: {
        metadata: labels === undefined ? {} : { labels },
        spec: newVirtualMachineInstance(options).spec,
      },
    },
  };
}

/** A claim that is bound to a volume of its size, as a provisioner leaves it. */
export async function createBoundClaim(
  admin: Cluster,
  { namespace, name, size = '5Gi' }: Required<Address> & { readonly size?: string },
): Promise<void> {
  const volumeName = `volume-of-${namespace}-${name}`;
  await admin.create(FULL_CLAIMS, {
    metadata: { namespace, name },
    spec: {
      accessModes: ['ReadWriteOnce'],
      volumeMode: 'Filesystem',
      resources: { requests: { storage: size } },
      volumeName,
    },
  });
  const status = { phase: 'Bound', accessModes: ['ReadWriteOnce'], capacity: { storage: size } };
  await admin.patch(FULL_CLAIMS, { namespace, name }, { merge: { status }, subresource: 'status' });
}

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
  /** Of the synchronization controller that leads; none while there is none. */
  synchronizationAddresses?: readonly string[];
}

/** The used fields of the KubeVirt CR's spec.configuration. */
export interface Configuration {
  migrations?: {
    parallelMigrationsPerCluster?: number;
    parallelOutboundMigrationsPerNode?: number;
    nodeDrainTaintKey?: string;
    allowPostCopy?: boolean;
  };
  /** Multiplies the memory overhead of every launcher ("1.5"). */
  additionalGuestMemoryOverheadRatio?: string;
  /** Of the VMIs without one of their own. */
  evictionStrategy?: string;
  developerConfiguration?: { cpuAllocationRatio?: number; featureGates?: string[] };
}

export const FULL_KUBEVIRTS = KUBEVIRTS as ResourceType<FullKubeVirt>;
