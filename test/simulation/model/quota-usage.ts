import { canonicalKey, isChargedByPods, type Amounts } from '../../../functions/domain/quota/charged.ts';
import type { Pod, ResourceList, ResourceQuota } from '../../../functions/domain/objects.ts';
import { podUsage } from '../../../functions/domain/sizing/pod-usage.ts';
import { parseQuantity, type Amount } from '../../../functions/domain/quantity.ts';
import { quotaCoversPod } from '../../../functions/domain/quota/scopes.ts';
import { formatAmount } from './canonical.ts';
import type { StoredMeta } from './metadata.ts';

const ONE = 1_000_000_000n;

/** A pod that has ended, or is long past its deletion, counts only for count/pods (core/pods.go, QuotaV1Pod). */
export function isCharged({ metadata, status }: Pod, now: number): boolean {
  if (status?.phase === 'Succeeded' || status?.phase === 'Failed') return false;
  const { deletionTimestamp, deletionGracePeriodSeconds }: StoredMeta = metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined) return true;
  return now <= Date.parse(deletionTimestamp) + deletionGracePeriodSeconds * 1_000;
}

/** The increases that a change of a pod causes, by key; never negative, and without zeros. */
export function addedUsage(pod: Pod, former: Pod | undefined): Amounts {
  const before: Amounts = former === undefined ? new Map<string, Amount>() : podUsage(former);
  return new Map(
    [...podUsage(pod)]
      .map(([key, amount]): [string, Amount] => [key, amount - (before.get(key) ?? 0n)])
      .filter(([, amount]) => amount > 0n),
  );
}

/** The keys of status.hard that count pods. */
export const chargedKeys = ({ status }: ResourceQuota): string[] =>
  Object.keys(status?.hard ?? {}).filter(isChargedByPods);

/** The usage of all pods of a namespace for these keys, in the quota's spelling. */
export function usageOf(quota: ResourceQuota, pods: readonly Pod[], now: number): ResourceList {
  const keys = Object.keys(quota.spec.hard ?? {});
  const covered = pods.filter((pod) => quotaCoversPod(quota, pod));
  const live = covered.filter((pod) => isCharged(pod, now)).map(podUsage);
  const total = (key: string): Amount =>
    key === 'count/pods'
      ? ONE * BigInt(covered.length)
      : live.reduce((sum, usage) => sum + (usage.get(canonicalKey(key)) ?? 0n), 0n);
  return Object.fromEntries(keys.filter(isChargedByPods).map((key) => [key, formatAmount(total(key))]));
}

/** The same amounts under the same keys. */
export function isSameList(one: ResourceList = {}, other: ResourceList = {}): boolean {
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => {
    const [amount, text] = [one[key], other[key]];
    return amount !== undefined && text !== undefined && parseQuantity(amount) === parseQuantity(text);
  });
}
