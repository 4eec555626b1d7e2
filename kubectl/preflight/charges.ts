import { canonicalKey, isChargedByPods, type Amounts } from '../../functions/domain/quota/charged.ts';
import { quotaCoversPod } from '../../functions/domain/quota/scopes.ts';
import { claimUsage, coversClaims } from '../../functions/domain/sizing/claims.ts';
import { countsMigrations, MIGRATION_USAGE } from '../../functions/domain/verdict/migration-object.ts';
import { podUsage } from '../../functions/domain/sizing/pod-usage.ts';
import type { PersistentVolumeClaim, Pod, ResourceQuota } from '../../functions/domain/objects.ts';
import { formatQuantity, parseQuantity, type Amount } from '../../functions/domain/quantity.ts';

/*
 * What quotas count when pods and claims come and go: quota admission when one is created, the quota controller when one ends
 * (kubernetes 1.36 pkg/quota/v1/evaluator/core).
 */

type Quotas = readonly ResourceQuota[];

/** The quotas with this pod created, which is charged `need`. */
export const withPod = (quotas: Quotas, pod: Pod, need: Amounts): Quotas =>
  quotas.map((quota) =>
    quotaCoversPod(quota, pod) ? changed(quota, (key) => chargedFor(key, need)) : quota,
  );

/**
 * The quotas without a launcher that has ended. Its object stays for a while, so that `count/pods` still counts it
 * (facts/kubevirt.md §1.7).
 */
export const withoutLauncher = (quotas: Quotas, pod: Pod): Quotas =>
  without(quotas, pod, (key) => key !== 'count/pods');

/** The quotas without a pod that is deleted. */
export const withoutPod = (quotas: Quotas, pod: Pod): Quotas => without(quotas, pod, () => true);

export const withClaim = (quotas: Quotas, claim: PersistentVolumeClaim): Quotas => byClaim(quotas, claim, 1n);
export const withoutClaim = (quotas: Quotas, claim: PersistentVolumeClaim): Quotas =>
  byClaim(quotas, claim, -1n);

export const withMigration = (quotas: Quotas): Quotas => byMigration(quotas, 1n);
export const withoutMigration = (quotas: Quotas): Quotas => byMigration(quotas, -1n);

/** How much more each quota counts, by its uid and the key as it spells it. */
export type Growth = ReadonlyMap<string, ReadonlyMap<string, Amount>>;

export const withGrowth = (quotas: Quotas, growth: Growth): Quotas =>
  quotas.map((quota) => changed(quota, (key) => growth.get(quota.metadata.uid)?.get(key) ?? 0n));

/** What these quotas count more now than before. */
export const growthBetween = (before: Quotas, now: Quotas): Growth =>
  new Map(
    now.map(({ metadata: { uid }, status }) => {
      const used = before.find(({ metadata }) => metadata.uid === uid)?.status?.used ?? {};
      const keys = Object.entries(status?.used ?? {}).map(
        ([key, text]) => [key, parseQuantity(text) - parseQuantity(used[key] ?? '0')] as const,
      );
      return [uid, new Map(keys)];
    }),
  );

function without(quotas: Quotas, pod: Pod, returns: (key: string) => boolean): Quotas {
  const usage = podUsage(pod);
  return quotas.map((quota) =>
    quotaCoversPod(quota, pod)
      ? changed(quota, (key) => (returns(key) ? -chargedFor(key, usage) : 0n))
      : quota,
  );
}

function byClaim(quotas: Quotas, claim: PersistentVolumeClaim, sign: bigint): Quotas {
  const usage = claimUsage(claim);
  return quotas.map((quota) =>
    coversClaims(quota) ? changed(quota, (key) => sign * (usage.get(key) ?? 0n)) : quota,
  );
}

const byMigration = (quotas: Quotas, sign: bigint): Quotas =>
  quotas.map((quota) =>
    countsMigrations(quota) ? changed(quota, (key) => sign * (MIGRATION_USAGE.get(key) ?? 0n)) : quota,
  );

const chargedFor = (key: string, amounts: Amounts): Amount =>
  isChargedByPods(key) ? (amounts.get(canonicalKey(key)) ?? 0n) : 0n;

function changed(quota: ResourceQuota, by: (key: string) => Amount): ResourceQuota {
  const used = Object.entries(quota.status?.used ?? {}).map(([key, text]) => {
    const more = by(key);
    return [key, more === 0n ? text : formatQuantity(parseQuantity(text) + more)] as const;
  });
  return { ...quota, status: { ...quota.status, used: Object.fromEntries(used) } };
}
