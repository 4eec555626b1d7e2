import { attachmentPodOf, isAttachment, isOwnedBy } from '../../domain/migration.ts';
import type {
  KubeVirt,
  LimitRange,
  Namespace,
  Pod,
  ResourceQuota,
  VirtualMachineInstance,
  Vmmrq,
} from '../../domain/objects.ts';
import { givingTo } from '../../domain/policy/policy.ts';
import { parseQuantity } from '../../domain/quantity.ts';
import { allowanceFrom } from '../../domain/quota/allowance.ts';
import {
  describeBlocking,
  isChargedByPods,
  sumOf,
  type Amounts,
  type Blocking,
  type Shortfall,
} from '../../domain/quota/charged.ts';
import { blockingOf, type Reserved } from '../../domain/quota/headroom.ts';
import { quotaCoversPod, scopeTermsOf } from '../../domain/quota/scopes.ts';
import {
  claimUsage,
  coversClaims,
  keepsState,
  stateClaim,
  type ClaimSize,
} from '../../domain/sizing/claims.ts';
import { estimate, estimateAttachment } from '../../domain/sizing/estimate.ts';
import { launcherRulesOf, rulesInView } from '../../domain/sizing/launcher-rules.ts';
import { podUsage } from '../../domain/sizing/pod-usage.ts';
import { countsMigrations, MIGRATION_USAGE } from '../../domain/verdict/migration-object.ts';
import type { Fit } from '../run/snapshot.ts';

/** The objects that are to be charged in the target namespace. */
export interface Needed {
  readonly pods: readonly Pod[];
  readonly claims: readonly ClaimSize[];
  /** Whether the VMIM that receives the VM is among them. */
  readonly withMigration?: true;
  /** Amounts of the others, which quotas only count. */
  readonly counted?: Amounts;
}

/**
 * Returns the launcher that runs a VMI, then the pod that attaches its hotplugged volumes, among the pods of its namespace; empty if no
 * launcher runs.
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

/** The objects that decide how KubeVirt renders a launcher in the target namespace. */
export interface TargetRules {
  readonly namespace: Namespace;
  readonly quotas: readonly ResourceQuota[];
  readonly kubevirt: KubeVirt | undefined;
  /** The LimitRanges of the namespace; left out: they are not known. */
  readonly limitRanges?: readonly LimitRange[] | undefined;
}

/**
 * Returns the pods that run a VMI, as KubeVirt will create them on the target: with the defaults of the target's LimitRanges instead of the
 * source's, and with the limits that the target's KubeVirt adds if a quota has limits.
 */
export function podsOnTarget(
  [launcher, attachment]: readonly Pod[],
  vmi: VirtualMachineInstance,
  { namespace, quotas, kubevirt, limitRanges = [] }: TargetRules,
): Pod[] {
  if (launcher === undefined) return [];
  const unknown = { limitRanges, rejections: [] };
  const rules = launcherRulesOf(rulesInView(kubevirt));
  const { pod } = estimate({ ...unknown, ...rules, source: launcher, vmi, namespace, quotas });
  const attached =
    attachment === undefined ? [] : [estimateAttachment({ ...unknown, source: attachment }).pod];
  return [pod, ...attached];
}

/** Returns the claim for the VM's state, if it keeps some, as KubeVirt will create it on the target. */
export const stateClaimsOf = (vmi: VirtualMachineInstance, kubevirt: KubeVirt | undefined): ClaimSize[] =>
  keepsState(vmi) ? [stateClaim(rulesInView(kubevirt).stateStorageClass)] : [];

/** Returns the amounts that a quota charges for it. */
export const chargedBy = (quota: ResourceQuota, { pods, claims, withMigration, counted }: Needed): Amounts =>
  sumOf([
    ...pods.filter((pod) => quotaCoversPod(quota, pod)).map(podUsage),
    ...(coversClaims(quota) ? claims.map(claimUsage) : []),
    ...(withMigration === true && countsMigrations(quota) ? [MIGRATION_USAGE] : []),
    // They have no scope.
    ...(counted !== undefined && scopeTermsOf(quota).length === 0 ? [counted] : []),
  ]);

export interface TargetQuotas {
  readonly quotas: readonly ResourceQuota[];
  readonly vmmrqs: readonly Vmmrq[];
  /** Amounts that others will use before; none if left out. */
  readonly reserved?: Reserved;
}

/** Returns the VMMRQs that give to VMs from other clusters. */
export const receiving = (vmmrqs: readonly Vmmrq[]): Vmmrq[] =>
  givingTo(vmmrqs, { purpose: 'UserRequested', receives: true });

/**
 * Returns the fit of the objects in the quotas of the target namespace. VMMRQs that give enough let pods in; but these stay, so the VM is
 * over its quota from then on.
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
 * Returns the excess of a namespace over its quotas, in words; empty if there is none. Running pods stay, and the next restart of a VM is
 * refused.
 */
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
