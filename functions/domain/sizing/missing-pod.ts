import type { Amounts } from '../quota/charged.ts';
import { estimate, estimateAttachment, type Estimate } from './estimate.ts';
import { isReceiving, sourceAttachmentOf, sourcePodOf, type Candidate } from '../migration.ts';
import type { Migration, Pod, VirtualMachineInstance } from '../objects.ts';
import { podUsage } from './pod-usage.ts';
import { receivedPod } from './receiving.ts';
import { podRejectionsOf, type PodRejection } from '../quota/pod-rejection.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';

/** The pod that a blocked migration waits for, and what its size is derived from. */
export interface MissingPod {
  readonly candidate: Candidate;
  readonly vmi: VirtualMachineInstance;
  /** The pod that it will be like: the source launcher, or that one's attachment pod. */
  readonly source: Pod;
  /** Refusals of this pod, newest first. */
  readonly rejections: readonly PodRejection[];
}

/** Returns undefined if the pod's size is still unknown. */
export function missingPodOf(
  candidate: Candidate,
  vmi: VirtualMachineInstance,
  { pods, events, now }: NamespaceSnapshot,
): MissingPod | undefined {
  const { migration, blocked } = candidate;
  const rejections = podRejectionsOf(candidate, vmi, { events, now });
  const node = vmi.status?.nodeName;
  const launcher = (): Pod | undefined =>
    isReceiving(migration) ? receivedPodOf(vmi, rejections) : sourcePodOf(migration, pods, node);
  const source = blocked.lacks === undefined ? launcher() : sourceAttachmentOf(migration, pods, node);
  return source === undefined ? undefined : { candidate, vmi, source, rejections };
}

/** Sizes a receiving pod only after a refusal shows its size: a guess that is too low would lock without effect. */
const receivedPodOf = (vmi: VirtualMachineInstance, rejections: readonly PodRejection[]): Pod | undefined =>
  rejections.length === 0 ? undefined : receivedPod(vmi);

/** Explains to people why the size is unknown. */
export const unsized = (migration: Migration): string =>
  isReceiving(migration)
    ? 'it receives a VM from another cluster, and no Event shows the size of its pod yet'
    : 'the VMI has no running pod of this kind to read the size from';

/** The estimated size of the pod. */
export const sizeOf = ({ candidate, ...like }: MissingPod, snapshot: NamespaceSnapshot): Estimate =>
  candidate.blocked.lacks === undefined
    ? estimate({ ...snapshot, ...like })
    : estimateAttachment({ ...snapshot, ...like });

/** Size of the attachment pod that the target launcher needs later with hotplugged volumes; undefined: no pod follows this one. */
export function sizeOfNext(
  { candidate: { migration, blocked }, vmi }: MissingPod,
  snapshot: NamespaceSnapshot,
): Estimate | undefined {
  if (blocked.lacks !== undefined) return undefined;
  const source = sourceAttachmentOf(migration, snapshot.pods, vmi.status?.nodeName);
  return source === undefined ? undefined : estimateAttachment({ ...snapshot, source, rejections: [] });
}

/** What it will be charged beyond its source pod, which it replaces. */
export function growthOver({ source }: MissingPod, need: Amounts): Amounts {
  const before = podUsage(source);
  const more = [...need].map(([key, amount]) => [key, amount - (before.get(key) ?? 0n)] as const);
  return new Map(more.filter(([, amount]) => amount > 0n));
}
