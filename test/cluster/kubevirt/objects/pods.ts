/** Which pod is which (facts/kubevirt.md §1.2). Pure. */
import { isReceiver } from '../decentralized/sides.ts';
import { HOTPLUG_DISK, LABELS, LAUNCHER } from './names.ts';
import type { Controller, LauncherPod, Vmi, Vmim } from './types.ts';

export const isOver = ({ status }: LauncherPod): boolean =>
  status?.phase === 'Succeeded' || status?.phase === 'Failed';

/** KubeVirt looks at the containers, not at the condition Ready: a paused guest is ready too. */
export const isReady = ({ metadata, status }: LauncherPod): boolean =>
  metadata.deletionTimestamp === undefined &&
  status?.phase === 'Running' &&
  status.containerStatuses?.every(({ ready }) => ready) === true;

/** The owner reference to a VMI or a pod that controls another pod. */
export const controllerOf = ({ apiVersion = '', kind = '', metadata }: Vmi | LauncherPod): Controller => ({
  apiVersion,
  kind,
  name: metadata.name,
  uid: metadata.uid,
  controller: true,
  blockOwnerDeletion: true,
});

const isOwnedBy = (pod: LauncherPod, uid: string): boolean =>
  pod.metadata.ownerReferences?.some((owner) => owner.controller === true && owner.uid === uid) === true;

export const isLauncher = ({ metadata }: LauncherPod): boolean => metadata.labels?.[LABELS.app] === LAUNCHER;

/** The launchers of a VMI, source and targets, ended ones too; oldest first. */
export const launchersOf = (vmi: Vmi, pods: readonly LauncherPod[]): LauncherPod[] =>
  pods
    .filter((pod) => isLauncher(pod) && isOwnedBy(pod, vmi.metadata.uid))
    .sort((one, other) =>
      Number(BigInt(one.metadata.resourceVersion) - BigInt(other.metadata.resourceVersion)),
    )
    .sort((one, other) => one.metadata.creationTimestamp.localeCompare(other.metadata.creationTimestamp));

/** The target launcher of a migration (the newest, should an earlier one have been removed), or undefined. */
export const targetOf = (migration: Vmim, launchers: readonly LauncherPod[]): LauncherPod | undefined =>
  launchers.findLast((pod) => pod.metadata.labels?.[LABELS.migrationJobUid] === migration.metadata.uid);

/** The launcher the guest runs in, or is to run in. A receiver may remember the node of an attempt that failed. */
export function currentOf(vmi: Vmi, launchers: readonly LauncherPod[]): LauncherPod | undefined {
  const living = launchers.filter((pod) => !isOver(pod));
  if (isReceiver(vmi)) return living.at(-1);
  const node = vmi.status?.nodeName;
  return node === undefined ? living[0] : living.find(({ spec }) => spec.nodeName === node);
}

export const attachmentsOf = (launcher: LauncherPod, pods: readonly LauncherPod[]): LauncherPod[] =>
  pods.filter(
    (pod) =>
      pod.metadata.labels?.[LABELS.app] === HOTPLUG_DISK &&
      pod.metadata.deletionTimestamp === undefined &&
      isOwnedBy(pod, launcher.metadata.uid),
  );

/** The launcher's image, by which KubeVirt knows its release; '' where it is not said. */
export const imageOf = ({ spec }: LauncherPod): string =>
  (spec.containers as { name: string; image?: string }[]).find(({ name }) => name === 'compute')?.image ?? '';
