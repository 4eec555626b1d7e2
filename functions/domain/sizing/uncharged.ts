import { canonicalKey, type Blocking, type Shortfall } from '../quota/charged.ts';
import { quotaCoversPod } from '../quota/scopes.ts';
import type { Pod, ResourceQuota } from '../objects.ts';
import { describeQuantity, parseQuantity } from '../quantity.ts';
import type { Uncharged, UnchargedOf } from '../snapshot.ts';
import { podUsage } from './pod-usage.ts';

/** Only pods are charged for these; `count/pods` counts those that have ended too, and devices may be charged for claims. */
const OF_PODS_ALONE =
  /^pods$|^((requests|limits)\.)?(cpu|memory|ephemeral-storage)$|^(requests\.)?hugepages-/;

/**
 * Finds where the quotas count more than these living pods of the namespace, as admission charged them: the quota controller has not
 * recounted since a pod ended. Within seconds it does, and within five minutes after a pod that was charged and not created.
 */
export const unchargedIn = (quotas: readonly ResourceQuota[], living: readonly Pod[]): UnchargedOf =>
  new Map(quotas.map((quota) => [quota.metadata.uid, unchargedBy(quota, living)] as const));

function unchargedBy(quota: ResourceQuota, living: readonly Pod[]): Map<string, Uncharged> {
  const usages = living.filter((pod) => quotaCoversPod(quota, pod)).map(podUsage);
  const found = new Map<string, Uncharged>();
  for (const [key, text] of Object.entries(quota.status?.used ?? {})) {
    if (!OF_PODS_ALONE.test(key)) continue;
    const used = parseQuantity(text);
    const charged = usages.reduce((sum, usage) => sum + (usage.get(canonicalKey(key)) ?? 0n), 0n);
    if (used > charged) found.set(key, { used, charged });
  }
  return found;
}

/** The shortfalls as they will be once the quotas are recounted. */
export const recounted = (blocking: readonly Blocking[], uncharged: UnchargedOf): Blocking[] =>
  blocking.flatMap(({ quota, shortfalls }) => {
    const of = uncharged.get(quota.uid);
    const left = shortfalls.flatMap(({ key, missing }): Shortfall[] => {
      const { used, charged } = of?.get(key) ?? { used: 0n, charged: 0n };
      const rest = missing - (used - charged);
      return rest > 0n ? [{ key, missing: rest }] : [];
    });
    return left.length === 0 ? [] : [{ quota, shortfalls: left }];
  });

/** Describes it for the keys of these shortfalls; '': nothing. */
export function describeUncharged(blocking: readonly Blocking[], uncharged: UnchargedOf): string {
  const found = blocking.flatMap(({ quota, shortfalls }) =>
    shortfalls.flatMap(({ key }) => {
      const { used, charged } = uncharged.get(quota.uid)?.get(key) ?? {};
      if (used === undefined || charged === undefined) return [];
      const [more, less] = [describeQuantity(key, used), describeQuantity(key, charged)];
      return [
        `${key} of ResourceQuota ${quota.name} (${more}) is more than the pods of its namespace are charged (${less})`,
      ];
    }),
  );
  return found.length === 0 ? '' : `used ${found.join(', ')}: the quota controller does not recount`;
}
