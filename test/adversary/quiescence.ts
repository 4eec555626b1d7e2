import { LABEL } from '../../functions/domain/names.ts';
import { isEnforced } from '../support/enforced.ts';
import { RESOURCE_QUOTAS } from '../../functions/kubernetes/resources.ts';
import type { History, Version } from '../support/history.ts';
import type { Tenant } from '../support/tenant.ts';

/** Lifetime of a lock, 15 s (I3), and many times as much again for a machine that is busy. */
const QUIESCENT_MS = 90_000;

/** Every version until the namespace is free and its quota as before; rejects when that takes too long. */
export async function untilQuiescent({ name, history }: Tenant): Promise<readonly Version[]> {
  await history.until(`${name} is at rest`, isQuiescent, QUIESCENT_MS);
  return history.versions();
}

function isQuiescent(history: History): boolean {
  const quota = history.latest(RESOURCE_QUOTAS, 'tight');
  const isRaised = quota?.metadata.labels?.[LABEL.raised] !== undefined;
  return !history.isLocked() && !isRaised && quota !== undefined && isEnforced(quota);
}
