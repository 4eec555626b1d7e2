import { canonicalKey, isChargedByPods, type Amounts } from '../quota/charged.ts';
import { estimate, estimateAttachment, type Estimate } from './estimate.ts';
import { isReceiving, sourceAttachmentOf, sourcePodOf, type Candidate } from '../migration.ts';
import { KUBEVIRT, REASON, type Reason } from '../names.ts';
import type { Migration, Pod, ResourceQuota, VirtualMachineInstance } from '../objects.ts';
import { hasPendingChange } from '../policy/purpose.ts';
import { podUsage } from './pod-usage.ts';
import { receivedPod } from './receiving.ts';
import { podRejectionsOf, type PodRejection, type SeenRejection } from '../quota/pod-rejection.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';
import { quotaCoversPod } from '../quota/scopes.ts';
import { unknownTerms } from './unknown-terms.ts';

/** The pod that a blocked migration waits for, and what its size is derived from. */
export interface MissingPod {
  readonly candidate: Candidate;
  readonly vmi: VirtualMachineInstance;
  /** The pod that it will be like: the source launcher, or that one's attachment pod. */
  readonly source: Pod;
  /** Refusals of this pod, newest first. */
  readonly rejections: readonly SeenRejection[];
}

/** Why the pod's size is still unknown. */
export interface Unsized {
  readonly reason: Reason;
  readonly message: string;
}

/** Returns undefined if the pod's size is still unknown. */
export function missingPodOf(
  candidate: Candidate,
  vmi: VirtualMachineInstance,
  snapshot: NamespaceSnapshot,
): MissingPod | undefined {
  const missing = sizedOrNot(candidate, vmi, snapshot);
  return 'reason' in missing ? undefined : missing;
}

/** The pod, or why its size is still unknown. */
export function sizedOrNot(
  candidate: Candidate,
  vmi: VirtualMachineInstance,
  { pods, quotas, events, now }: NamespaceSnapshot,
): MissingPod | Unsized {
  const { migration, blocked } = candidate;
  const rejections = podRejectionsOf(candidate, vmi, { events, now });
  const node = vmi.status?.nodeName;
  const launcher = (): Pod | undefined =>
    isReceiving(migration) ? receivedPodOf(vmi, rejections) : sourcePodOf(migration, pods, node);
  const source = blocked.lacks === undefined ? launcher() : sourceAttachmentOf(migration, pods, node);
  if (source === undefined) return { reason: REASON.noSourcePod, message: withoutSource(migration) };
  const unknown = blocked.lacks === undefined && quotas.some(countsSizes) ? unknownTerms(vmi, source) : [];
  if (unknown.length > 0 && !rejections.some(({ kind }) => kind === 'exceeded'))
    return { reason: REASON.sizeUnknown, message: unsized(unknown) };
  return { candidate, vmi, source, rejections };
}

/** Sizes a receiving pod only after a refusal shows its size: a guess that is too low would lock without effect. */
const receivedPodOf = (vmi: VirtualMachineInstance, rejections: readonly PodRejection[]): Pod | undefined =>
  rejections.length === 0 ? undefined : receivedPod(vmi);

/** Whether it counts more of a pod than that it is one. */
const countsSizes = ({ spec }: ResourceQuota): boolean =>
  Object.keys(spec.hard ?? {}).some((key) => isChargedByPods(key) && canonicalKey(key) !== 'pods');

/** A guess that is too low would lock without effect, as for a receiving pod. */
const unsized = (unknown: readonly string[]): string =>
  `the estimate of its target pod does not know what it adds for ${unknown.join(', and for ')}`;

const withoutSource = (migration: Migration): string =>
  isReceiving(migration)
    ? 'it receives a VM from another cluster, and no Event shows the size of its pod yet'
    : 'the VMI has no running pod of this kind to read the size from';

type Refusal = Extract<SeenRejection, { kind: 'exceeded' }>;

/** A pod as estimated, with the newest refusal of it by a quota's amounts. */
export interface Sized extends Estimate {
  readonly refusal: Refusal | undefined;
}

/**
 * Whether the quota counts the pod: by its scopes, or because it has refused the pod. The API server knows the class and the affinity that
 * the pod has then: the default PriorityClass of today may be another one than that of the source pod.
 */
export const isCountedBy = ({ pod, refusal }: Sized, quota: ResourceQuota): boolean =>
  quotaCoversPod(quota, pod) ||
  (refusal?.quota === quota.metadata.name && Date.parse(quota.metadata.creationTimestamp) <= refusal.at);

/** The estimated size of the pod. */
export function sizeOf({ candidate, ...like }: MissingPod, snapshot: NamespaceSnapshot): Sized {
  const size =
    candidate.blocked.lacks === undefined
      ? estimate({ ...snapshot, ...like, rejectionsIncludeUpgrade: isForUpgrade(candidate, like.vmi) })
      : estimateAttachment({ ...snapshot, ...like });
  return { ...size, refusal: like.rejections.find((each) => each.kind === 'exceeded') };
}

/**
 * Whether the workload updater made the migration because of an upgrade: it marks the launcher as outdated first, by the image that its own
 * virt-controller gives to targets (facts/kubevirt.md §3.1). For a change of the VM it may have made it before the upgrade.
 */
export const isForUpgrade = ({ migration }: Candidate, vmi: VirtualMachineInstance): boolean =>
  migration.metadata.annotations?.[KUBEVIRT.workloadUpdate] !== undefined && !hasPendingChange(vmi);

/** Size of the attachment pod that the target launcher needs later with hotplugged volumes; undefined: no pod follows this one. */
export function sizeOfNext(
  { candidate: { migration, blocked }, vmi }: MissingPod,
  snapshot: NamespaceSnapshot,
): Sized | undefined {
  if (blocked.lacks !== undefined) return undefined;
  const source = sourceAttachmentOf(migration, snapshot.pods, vmi.status?.nodeName);
  if (source === undefined) return undefined;
  return { ...estimateAttachment({ ...snapshot, source, rejections: [] }), refusal: undefined };
}

/** What it will be charged beyond its source pod, which it replaces. */
export function growthOver({ source }: MissingPod, need: Amounts): Amounts {
  const before = podUsage(source);
  const more = [...need].map(([key, amount]) => [key, amount - (before.get(key) ?? 0n)] as const);
  return new Map(more.filter(([, amount]) => amount > 0n));
}
