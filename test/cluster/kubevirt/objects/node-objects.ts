import type { KubernetesObject } from '../../../../functions/domain/objects.ts';
import type { Cluster, ResourceType } from '../../../../functions/kubernetes/cluster.ts';
import { NODES } from '../../../../functions/kubernetes/resources.ts';
import { toTime } from '../client-go/times.ts';
import { LABELS } from './names.ts';

export interface Taint {
  key: string;
  effect: string;
  value?: string;
  timeAdded?: string;
}

/** core/v1 Node, as far as schedulers and drains go. */
export interface NodeObject extends KubernetesObject {
  spec?: { unschedulable?: boolean; taints?: Taint[] };
  status?: { conditions?: unknown[] };
}

export const FULL_NODES = NODES as ResourceType<NodeObject>;

const CPU_LABELS = [
  'host-model-cpu.node.kubevirt.io/',
  'host-model-required-features.node.kubevirt.io/',
  'cpu-vendor.node.kubevirt.io/',
];
const INTEL = { 'cpu-vendor.node.kubevirt.io/Intel': 'true' };

/** A node's labels about its CPU, which a guest's next node must have too. Where there are no Node objects, all are alike. */
export const cpuSelectorsOf = (node: NodeObject | undefined): Record<string, string> =>
  node === undefined
    ? INTEL
    : Object.fromEntries(
        Object.entries(node.metadata.labels ?? {}).filter(([label]) =>
          CPU_LABELS.some((prefix) => label.startsWith(prefix)),
        ),
      );

/** For `kubectl describe`: nothing schedules by it here. */
const CAPACITY = { cpu: '16', memory: '64Gi', pods: '110' };

/**
 * Registers nodes, as kubelets and the node controller leave them: ready, and without the taint that the API server gives every new
 * node. There is no node controller here, so they stay ready.
 */
export async function createNodes(admin: Cluster, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await admin.create(FULL_NODES, {
      metadata: {
        name,
        labels: {
          'kubernetes.io/hostname': name,
          'kubernetes.io/arch': 'amd64',
          [LABELS.schedulable]: 'true',
          ...INTEL,
        },
      },
    });
    await admin.patch(FULL_NODES, { name }, { merge: { spec: { taints: null } } });
    const conditions = [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }];
    const status = { conditions, capacity: CAPACITY, allocatable: CAPACITY };
    await admin.patch(FULL_NODES, { name }, { merge: { status }, subresource: 'status' });
  }
}

const CORDONED = 'node.kubernetes.io/unschedulable';

/** `kubectl cordon` and `kubectl uncordon`, and the node controller's taint, with its time. */
export async function cordon(admin: Cluster, name: string, unschedulable = true): Promise<void> {
  const { object } = await admin.get(FULL_NODES, { name });
  const others = (object.spec?.taints ?? []).filter(({ key }) => key !== CORDONED);
  const taint = { key: CORDONED, effect: 'NoSchedule', timeAdded: toTime(new Date()) };
  const spec = unschedulable
    ? { unschedulable, taints: [...others, taint] }
    : { unschedulable: null, taints: others };
  await admin.patch(FULL_NODES, { name }, { merge: { spec } });
}

/** Whether the scheduler places launchers there: they tolerate no taint. */
export const isSchedulable = ({ spec, metadata }: NodeObject): boolean =>
  spec?.unschedulable !== true &&
  metadata.deletionTimestamp === undefined &&
  !(spec?.taints ?? []).some(({ effect }) => effect !== 'PreferNoSchedule');
