import { LABEL } from '../../functions/domain/names.ts';
import { isEnforced } from '../support/invariants/enforced.ts';
import { RESOURCE_QUOTAS } from '../../functions/kubernetes/resources.ts';
import type { History, Version } from '../support/tenant/history.ts';
import type { Tenant } from '../support/tenant/tenant.ts';

/** Lifetime of a lock, 15 s (I3), times six for a busy machine. */
const QUIESCENT_MS = 90_000;

/** Resolves to every version once the namespace is unlocked and its quota restored; rejects when that takes too long. */
export async function untilQuiescent({ name, history }: Tenant): Promise<readonly Version[]> {
  await history.until(`${name} is quiescent`, isQuiescent, QUIESCENT_MS);
  return history.versions();
}

function isQuiescent(history: History): boolean {
  const quota = history.latest(RESOURCE_QUOTAS, 'tight');
  const isRaised = quota?.metadata.labels?.[LABEL.raised] !== undefined;
  return !history.isLocked() && !isRaised && quota !== undefined && isEnforced(quota);
}
