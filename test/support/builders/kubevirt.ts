import { KUBEVIRT } from '../../../functions/domain/names.ts';
import type {
  Condition,
  Container,
  ContainerStatus,
  Migration,
  Pod,
  ResourceList,
  VirtualMachineInstance,
} from '../../../functions/domain/objects.ts';
import { annotated, build, createdAt, labelled, metadata, type Change, seconds } from './object.ts';

const REJECTED: Condition = {
  type: KUBEVIRT.rejectedByQuota,
  status: 'True',
  lastProbeTime: null,
  lastTransitionTime: null,
};

/** VMIM `mig0` of vm0: Pending, and blocked by a quota. */
export function aMigration(...changes: Change<Migration>[]): Migration {
  const base: Migration = {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstanceMigration',
    metadata: { ...metadata('mig0'), finalizers: ['kubevirt.io/migrationJobFinalize'] },
    spec: { vmiName: 'vm0' },
    status: { phase: 'Pending', conditions: [REJECTED] },
  };
  return build(base, changes);
}

export const ofVm =
  (vmiName: string): Change<Migration> =>
  (migration) => ({ ...migration, spec: { ...migration.spec, vmiName } });

export const inPhase =
  (phase: string): Change<Migration> =>
  (migration) => ({ ...migration, status: { ...migration.status, phase } });

/** Without KubeVirt's condition, or with another one. */
export const withCondition =
  (...conditions: Condition[]): Change<Migration> =>
  (migration) => ({ ...migration, status: { ...migration.status, conditions } });

/** Blocked by a quota `seconds` after NOW (before it, if negative). */
export const refusedAt =
  (after: number): Change<Migration> =>
  (migration) =>
    withCondition({ ...REJECTED, lastProbeTime: seconds(after) })(migration);

export const withPriority =
  (priority: string): Change<Migration> =>
  (migration) => ({ ...migration, spec: { ...migration.spec, priority } });

/** The receiving side of a migration between clusters. */
export const receiving =
  (migrationID: string): Change<Migration> =>
  (migration) => ({ ...migration, spec: { ...migration.spec, receive: { migrationID } } });

/** Nudged for this lock at this time. */
export const nudgedFor = (token: string, at: string): Change<Migration> =>
  annotated('mtq.kubevirt.io/nudged', `${token} ${at}`);

/** VirtualMachineInstance `vm0` on node1. */
export function aVmi(name = 'vm0', nodeName = 'node1'): VirtualMachineInstance {
  return {
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachineInstance',
    metadata: metadata(name),
    status: { phase: 'Running', nodeName },
  };
}

/** KubeVirt's eviction webhook has marked it. */
export const evictedFrom =
  (evacuationNodeName: string): Change<VirtualMachineInstance> =>
  (vmi) => ({ ...vmi, status: { ...vmi.status, evacuationNodeName } });

/** The VM's launcher pod on node1, with the requests of the recorded one. */
export function aLauncher(vm = 'vm0', ...changes: Change<Pod>[]): Pod {
  const owner = { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstance', name: vm };
  const base: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metadata(`virt-launcher-${vm}-source`),
      labels: { [KUBEVIRT.launcherLabel]: KUBEVIRT.launcher, [KUBEVIRT.createdBy]: `uid-of-${vm}` },
      ownerReferences: [{ ...owner, uid: `uid-of-${vm}`, controller: true }],
    },
    spec: { nodeName: 'node1', containers: [aContainer({ cpu: '1005m', memory: '1412828864' })] },
    status: { phase: 'Running', qosClass: 'Burstable' },
  };
  return build(base, changes);
}

/** The target pod of this migration, a moment old. */
export function aTarget(
  { metadata: { name, uid }, spec }: Migration = aMigration(),
  ...changes: Change<Pod>[]
): Pod {
  const vm = spec.vmiName ?? '';
  return aLauncher(
    vm,
    (pod) => ({ ...pod, metadata: { ...pod.metadata, ...metadata(`virt-launcher-${vm}-for-${name}`) } }),
    labelled(KUBEVIRT.migrationJobUID, uid),
    onNode('node2'),
    podPhase('Pending'),
    createdAt(-5),
    ...changes,
  );
}

/** The attachment pod of this launcher; for a migration's target pod with the migration's UID. */
export function anAttachment(launcher: Pod, migration?: Migration): Pod {
  const { name, uid } = launcher.metadata;
  const resources = { requests: { cpu: '10m', memory: '2M' }, limits: { cpu: '100m', memory: '80M' } };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metadata(`hp-volume-${name}`),
      labels: {
        [KUBEVIRT.launcherLabel]: KUBEVIRT.attachment,
        ...(migration === undefined ? {} : { [KUBEVIRT.migrationJobUID]: migration.metadata.uid }),
      },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name, uid, controller: true }],
    },
    spec: { containers: [{ name: 'hotplug-disk', resources }] },
    status: { phase: 'Running', qosClass: 'Burstable' },
  };
}

/** A target pod that is up for virt-controller: its compute container is not ready, because the guest has not arrived. */
export const ready: Change<Pod> = withContainer('compute', { ready: false, state: { running: {} } });

/** Running, with one container in this state. */
export function withContainer(name: string, is: Omit<ContainerStatus, 'name'>): Change<Pod> {
  return (pod) => {
    const others = pod.status?.containerStatuses?.filter((container) => container.name !== name) ?? [];
    return {
      ...pod,
      status: { ...pod.status, phase: 'Running', containerStatuses: [...others, { name, ...is }] },
    };
  };
}

export const onNode =
  (nodeName: string): Change<Pod> =>
  (pod) => ({ ...pod, spec: { ...pod.spec, nodeName } });

export const podPhase =
  (phase: string): Change<Pod> =>
  (pod) => ({ ...pod, status: { ...pod.status, phase } });

export const podSpec =
  (spec: Partial<Pod['spec']>): Change<Pod> =>
  (pod) => ({ ...pod, spec: { ...pod.spec, ...spec } });

/** A container with these requests and limits. */
export function aContainer(requests: ResourceList, limits?: ResourceList): Container {
  return { name: 'compute', resources: { requests, ...(limits === undefined ? {} : { limits }) } };
}

/** An init container; with restartPolicy Always it is a sidecar. */
export const anInit = (requests: ResourceList, restartPolicy?: 'Always'): Container => ({
  ...aContainer(requests),
  name: 'init',
  ...(restartPolicy === undefined ? {} : { restartPolicy }),
});
