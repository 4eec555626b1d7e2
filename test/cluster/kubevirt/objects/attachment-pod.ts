import type { New } from '../../../../functions/kubernetes/cluster.ts';
import { ANNOTATIONS, HOTPLUG_DISK, LABELS } from './names.ts';
import { controllerOf } from './pods.ts';
import { RELEASE, type Release } from './release.ts';
import type { LauncherPod, Vmi, Vmim, Volume } from './types.ts';

export interface AttachmentOf {
  readonly vmi: Vmi;
  /** The launcher it attaches to: its owner, and on its node. */
  readonly launcher: LauncherPod;
  readonly migration?: Vmim;
  /** Of virt-controller; the first one when left out. */
  readonly release?: Release;
}

/** The pod that brings all hotplugged volumes of a VMI to the node of one launcher (facts/kubevirt.md §1.2, §2.1). */
export function renderAttachmentPod(of: AttachmentOf): New<LauncherPod> {
  const { vmi, launcher, migration, release = RELEASE } = of;
  const volumes = hotplugVolumes(vmi);
  const container = { ...CONTAINER, image: release.launcherImage };
  return {
    metadata: {
      generateName: 'hp-volume-',
      namespace: vmi.metadata.namespace ?? 'default',
      labels: {
        [LABELS.app]: HOTPLUG_DISK,
        ...(migration === undefined ? {} : { [LABELS.migrationJobUid]: migration.metadata.uid }),
      },
      annotations: {
        [ANNOTATIONS.ownerVmiName]: vmi.metadata.name,
        [ANNOTATIONS.ownerVmiUid]: vmi.metadata.uid,
        ...(migration === undefined ? {} : { [ANNOTATIONS.migrationJobName]: migration.metadata.name }),
      },
      ownerReferences: [controllerOf(launcher)],
    },
    spec: {
      volumes: volumes.map(({ name, persistentVolumeClaim, dataVolume }) => ({
        name,
        persistentVolumeClaim: { claimName: persistentVolumeClaim?.claimName ?? dataVolume?.name },
      })),
      containers: [container],
      affinity: onTheNodeOf(launcher),
      terminationGracePeriodSeconds: 0,
    },
  };
}

const CONTAINER = {
  name: HOTPLUG_DISK,
  resources: { requests: { cpu: '10m', memory: '2M' }, limits: { cpu: '100m', memory: '80M' } },
};

/** The hotplugged volumes of a VMI: one attachment pod brings all of them. */
export const hotplugVolumes = ({ spec, status }: Vmi): Volume[] =>
  spec.volumes.filter(
    ({ name, persistentVolumeClaim, dataVolume }) =>
      persistentVolumeClaim?.hotpluggable === true ||
      dataVolume?.hotpluggable === true ||
      status?.volumeStatus?.some((volume) => volume.name === name && volume.hotplugVolume !== undefined),
  );

const onTheNodeOf = ({ spec }: LauncherPod): { nodeAffinity: unknown } => ({
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [
        {
          matchExpressions: [
            { key: 'kubernetes.io/hostname', operator: 'In', values: [spec.nodeName ?? ''] },
          ],
        },
      ],
    },
  },
});
