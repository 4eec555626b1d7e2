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
import { annotated, build, labelled, metadata, type Change, seconds } from './object.ts';

const REJECTED: Condition = {
  type: KUBEVIRT.rejectedByQuota,
  status: 'True',
  lastProbeTime: null,
  lastTransitionTime: null,
};

/** VMIM `mig0` of vm0: Pending, and refused by a quota. */
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

/** Refused by a quota so many seconds after NOW (before it, if negative). */
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

/** The launcher that a VM runs in, on node1; charged as the recorded one is. */
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

/** The second launcher, made for this migration. */
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
    ...changes,
  );
}

/** The pod that attaches the hotplugged volumes to this launcher; of a migration's target with its UID. */
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

/** Up, as virt-controller sees it: the guest has not come yet, so the container that will run it is not ready. */
export const ready: Change<Pod> = withContainer('compute', { ready: false, state: { running: {} } });

/** Running, and one of its containers is like this. */
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

/** A container that requests this, and has these limits. */
export function aContainer(requests: ResourceList, limits?: ResourceList): Container {
  return { name: 'compute', resources: { requests, ...(limits === undefined ? {} : { limits }) } };
}

/** An init container; a sidecar when it is told to go on. */
export const anInit = (requests: ResourceList, restartPolicy?: 'Always'): Container => ({
  ...aContainer(requests),
  name: 'init',
  ...(restartPolicy === undefined ? {} : { restartPolicy }),
});
