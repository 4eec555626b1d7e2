import { attachmentPodOf, isAttachment, isOwnedBy } from '../migration.ts';
import type {
  KubeVirt,
  Namespace,
  PersistentVolumeClaim,
  Pod,
  ResourceQuota,
  VirtualMachineInstance,
  Vmmrq,
} from '../objects.ts';
import { givingTo } from '../policy/policy.ts';
import { parseQuantity, type Amount } from '../quantity.ts';
import { allowanceFrom } from '../quota/allowance.ts';
import {
  describeBlocking,
  isChargedByPods,
  sumOf,
  type Amounts,
  type Blocking,
  type Shortfall,
} from '../quota/charged.ts';
import { blockingOf, reserve, type Reserved } from '../quota/headroom.ts';
import { quotaCoversPod } from '../quota/scopes.ts';
import { hasAutoLimits } from '../sizing/auto-limits.ts';
import { claimOfSize, claimUsage, coversClaims, type ClaimSize } from '../sizing/claims.ts';
import { estimate, estimateAttachment } from '../sizing/estimate.ts';
import { overheadRatioOf } from '../sizing/growth.ts';
import { podUsage } from '../sizing/pod-usage.ts';
import type { Fit } from './run-snapshot.ts';

/** What is to be charged in the target namespace. */
export interface Needed {
  readonly pods: readonly Pod[];
  readonly claims: readonly ClaimSize[];
}

/**
 * The launcher that runs a VMI, then the pod that attaches its hotplugged volumes, among the pods of its namespace. Empty: no launcher
 * runs.
 */
export function runningPodsOf(
  { metadata: { uid } }: { readonly metadata: { readonly uid: string } },
  pods: readonly Pod[],
): Pod[] {
  const launcher = pods.find(
    (pod) => pod.status?.phase === 'Running' && !isAttachment(pod) && isOwnedBy(pod, uid),
  );
  return [launcher, attachmentPodOf(launcher, pods)].filter((pod) => pod !== undefined);
}

/** What decides how KubeVirt renders a launcher in the target namespace. */
export interface TargetRules {
  readonly namespace: Namespace;
  readonly quotas: readonly ResourceQuota[];
  readonly kubevirt: KubeVirt | undefined;
}

/**
 * The pods that run a VMI, as they will be asked for on the target: without the defaults of the source's LimitRanges, and with the
 * limits that the target's KubeVirt adds where a quota has limits. Those of the target's LimitRanges are not known.
 */
export function podsOnTarget(
  [launcher, attachment]: readonly Pod[],
  vmi: VirtualMachineInstance,
  { namespace, quotas, kubevirt }: TargetRules,
): Pod[] {
  if (launcher === undefined) return [];
  const unknown = { limitRanges: [], rejections: [] };
  const { additionalGuestMemoryOverheadRatio } = kubevirt?.spec?.configuration ?? {};
  const factors = {
    autoLimits: hasAutoLimits(kubevirt),
    overheadRatio: overheadRatioOf(additionalGuestMemoryOverheadRatio),
  };
  const { pod } = estimate({ ...unknown, ...factors, source: launcher, vmi, namespace, quotas });
  const attached =
    attachment === undefined ? [] : [estimateAttachment({ ...unknown, source: attachment }).pod];
  return [pod, ...attached];
}

/** What a quota charges for it. */
export const chargedBy = (quota: ResourceQuota, { pods, claims }: Needed): Amounts =>
  sumOf([
    ...pods.filter((pod) => quotaCoversPod(quota, pod)).map(podUsage),
    ...(coversClaims(quota) ? claims.map(claimUsage) : []),
  ]);

export interface TargetQuotas {
  readonly quotas: readonly ResourceQuota[];
  readonly vmmrqs: readonly Vmmrq[];
  /** What others will take before; left out: nothing. */
  readonly reserved?: Reserved;
}

/** VMMRQs that give to VMs from other clusters. */
export const receiving = (vmmrqs: readonly Vmmrq[]): Vmmrq[] =>
  givingTo(vmmrqs, { purpose: 'UserRequested', receives: true });

/**
 * Whether it fits in the quotas of the target namespace. VMMRQs that give enough let pods in; but these stay, so the VM is over its
 * quota from then on.
 */
export function fitOf(needed: Needed, { quotas, vmmrqs, reserved = new Map() }: TargetQuotas): Fit {
  const blocking = quotas.flatMap((quota) => blockingOf(quota, chargedBy(quota, needed), reserved));
  if (blocking.length === 0) return { missing: undefined, isLetIn: false };
  const allowance = allowanceFrom(receiving(vmmrqs));
  const isGiven = ({ quota, shortfalls }: Blocking): boolean => {
    const found = quotas.find(({ metadata }) => metadata.uid === quota.uid);
    return (
      found !== undefined && shortfalls.every(({ key, missing }) => missing <= allowance(found, key).max)
    );
  };
  return { missing: blocking.map(describeBlocking).join('; '), isLetIn: blocking.every(isGiven) };
}

/**
 * Whether a launcher fits with what comes with it, and after it what CDI takes to fill the volumes that wait for it: no VMMRQ lets that
 * in.
 */
export function fitAtLaunch(
  { launch, filling }: { readonly launch: Needed; readonly filling: Needed },
  room: TargetQuotas,
): Fit {
  const fit = fitOf(launch, room);
  if (fit.missing !== undefined && !fit.isLetIn) return fit;
  const reserved = new Map<string, Map<string, Amount>>();
  for (const quota of room.quotas) reserve(reserved, quota, chargedBy(quota, launch));
  const { missing } = fitOf(filling, { ...room, reserved });
  return missing === undefined ? fit : { missing: `${missing} while CDI fills its volumes`, isLetIn: false };
}

/**
 * The claims that KubeVirt makes on the target for a VM's TPM or EFI, with the launcher (facts/cross-cluster.md C7.9). Of which class
 * they will be is the target's KubeVirt's to say.
 */
export const stateOnTarget = (state: readonly PersistentVolumeClaim[]): ClaimSize[] =>
  state.map(({ spec }) => claimOfSize(spec.resources?.requests?.['storage'] ?? '0'));

/** By how much a namespace is over its quotas, in words: what runs stays, and its next restart is refused. Empty: it is not. */
export function overQuota(quotas: readonly ResourceQuota[]): string {
  const over = quotas.flatMap((quota): Blocking[] => {
    const shortfalls = Object.entries(quota.spec.hard ?? {}).flatMap(([key, hard]): Shortfall[] => {
      const missing = parseQuantity(quota.status?.used?.[key] ?? '0') - parseQuantity(hard);
      return isChargedByPods(key) && missing > 0n ? [{ key, missing }] : [];
    });
    const { name, uid } = quota.metadata;
    return shortfalls.length === 0 ? [] : [{ quota: { name, uid }, shortfalls }];
  });
  return over.map(describeBlocking).join('; ');
}
