/** A VMI with its launcher: until it is handed to virt-handler (fields from test/recorded). Pure. */
import type { Condition } from '../../../../functions/domain/objects.ts';
import { hotplugVolumes } from '../objects/attachment-pod.ts';
import { overheadAsQuantity } from '../objects/compute-resources.ts';
import { claimInfoOf } from '../decentralized/volumes.ts';
import { LABELS, VMI_FINALIZER, VMI_FINALIZER_OLD } from '../objects/names.ts';
import type { FullClaim } from '../objects/objects.ts';
import { imageOf, isReady } from '../objects/pods.ts';
import type { Volume, VolumeStatus } from '../objects/types.ts';
import { enter, phaseOf, type VmiDecision, type VmiView } from './view.ts';

/** Its launcher exists. */
export function toScheduling(view: VmiView): VmiDecision | undefined {
  const { vmi, current, configuration, release, now } = view;
  if (current === undefined) return undefined;
  const ready: Condition = {
    type: 'Ready',
    status: 'False',
    reason: 'GuestNotRunning',
    message: 'Guest VM is not reported as running',
    lastProbeTime: now,
    lastTransitionTime: now,
  };
  const { resourceVersion } = vmi.metadata;
  const others =
    vmi.status?.conditions?.filter(({ type }) => !['Ready', 'Synchronized'].includes(type)) ?? [];
  const finalizers = vmi.metadata.finalizers?.map((name) =>
    name === VMI_FINALIZER_OLD ? VMI_FINALIZER : name,
  );
  const status = {
    ...enter(vmi, 'Scheduling', now),
    activePods: { [current.metadata.uid]: '' },
    conditions: [...others, ready],
    guestOSInfo: {},
    launcherContainerImageVersion: imageOf(current),
    memory: { memoryOverhead: overheadAsQuantity({ vmi, configuration, release }) },
    runtimeUser: vmi.status?.runtimeUser ?? 0,
  };
  return { do: 'patch', merge: { metadata: { finalizers, resourceVersion }, status } };
}

export function toScheduled({ vmi, current, claims, now }: VmiView): VmiDecision | undefined {
  if (phaseOf(vmi) !== 'Scheduling' || current === undefined) return undefined;
  if (!isReady(current)) return { do: 'wait' };
  const nodeName = current.spec.nodeName ?? '';
  const status = {
    ...enter(vmi, 'Scheduled', now),
    nodeName,
    interfaces: vmi.spec.networks.map(({ name }) => ({ name, podInterfaceName: 'eth0' })),
    migrationTransport: 'Unix',
    volumeStatus: vmi.spec.volumes
      .filter((volume) => !hotplugVolumes(vmi).includes(volume))
      .map((volume) => volumeStatusOf(volume, claims)),
  };
  return { do: 'patch', merge: { metadata: { labels: { [LABELS.nodeName]: nodeName } }, status } };
}

function volumeStatusOf(
  { name, persistentVolumeClaim, dataVolume }: Volume,
  claims: readonly FullClaim[],
): VolumeStatus {
  const info = claimInfoOf(persistentVolumeClaim?.claimName ?? dataVolume?.name, claims);
  const claim =
    info === undefined ? {} : { persistentVolumeClaimInfo: { ...info, filesystemOverhead: OVERHEAD } };
  return { name, target: '', ...claim };
}

/** CDI's default. */
const OVERHEAD = '0.055';
