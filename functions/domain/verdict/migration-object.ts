import { describeBlocking, type Amounts } from '../quota/charged.ts';
import { blockingOf } from '../quota/headroom.ts';
import { scopeTermsOf } from '../quota/scopes.ts';
import { REASON } from '../names.ts';
import type { ResourceQuota } from '../objects.ts';
import { parseQuantity } from '../quantity.ts';
import { verdictResult, type VerdictResult } from './verdict.ts';

/** How a quota counts objects of this kind (kubernetes pkg/quota/v1/generic/evaluator.go, ObjectCountQuotaResourceNameFor). */
const KEY = 'count/virtualmachineinstancemigrations.kubevirt.io';

/** KubeVirt keeps so many migrations of a VM that have ended (facts/kubevirt.md §1.7). */
export const KEPT_MIGRATIONS = 5;

/** What a migration is charged, as an object. A local migration makes no others but pods and volume claims (facts/kubevirt.md §2.2). */
export const MIGRATION_USAGE: Amounts = new Map([[KEY, parseQuantity('1')]]);

/** Whether a quota counts migrations. They have no scope. */
export const countsMigrations = (quota: ResourceQuota): boolean =>
  scopeTermsOf(quota).length === 0 && { ...quota.spec.hard, ...quota.status?.hard }[KEY] !== undefined;

/** Admission refuses what a quota counts as long as the quota controller has not. */
const isUncounted = ({ status }: ResourceQuota): boolean =>
  status?.hard?.[KEY] === undefined || status.used?.[KEY] === undefined;

/** The quota as it will be once the quota controller has counted the migrations, of which there are so many. */
export function withMigrationsCounted(quota: ResourceQuota, existing: number): ResourceQuota {
  const hard = quota.spec.hard?.[KEY];
  if (hard === undefined || !countsMigrations(quota) || !isUncounted(quota)) return quota;
  const { status = {} } = quota;
  return {
    ...quota,
    status: {
      ...status,
      hard: { [KEY]: hard, ...status.hard },
      used: { [KEY]: String(existing), ...status.used },
    },
  };
}

/**
 * Why the API server refuses another migration; undefined: it does not. Without a migration there is none to lock for, so no VMMRQ
 * gives this key. `quotas`: by withMigrationsCounted, `asRead` as they are.
 */
export function migrationRefusal(
  quotas: readonly ResourceQuota[],
  asRead: readonly ResourceQuota[],
): VerdictResult | undefined {
  const blocking = quotas
    .filter(countsMigrations)
    .flatMap((quota) => blockingOf(quota, MIGRATION_USAGE, new Map()));
  if (blocking.length > 0) {
    const what = blocking.map(describeBlocking).join('; ');
    const message = `KubeVirt cannot create its migration, and no VMMRQ gives what that takes: ${what}`;
    return { ...verdictResult('Unsupported', REASON.migrationQuota, message), blocking };
  }
  const unknown = asRead.find((quota) => countsMigrations(quota) && isUncounted(quota));
  if (unknown === undefined) return undefined;
  const message = `the quota controller has not counted ${KEY} for ResourceQuota ${unknown.metadata.name} yet`;
  return verdictResult('Waiting', REASON.statusUnknown, message);
}
