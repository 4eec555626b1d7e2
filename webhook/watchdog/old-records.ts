import { endOf, lastAttemptOf, withoutOldRecords } from '../../functions/domain/verdict/attempt.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { describeError, isConflict, isNotFound } from '../../functions/kubernetes/errors.ts';
import { NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { named } from '../../functions/cluster/listed.ts';
import type { Log } from '../../functions/runtime/log.ts';

/** Namespaces without a lock that have one of our records, whether a step still uses it or not. */
const LISTED_RECORDS = named(NAMESPACES, (namespace) => withoutOldRecords(namespace, Infinity) !== undefined);

/**
 * Removes from all namespaces the records that no step uses any more: `unlock` removes a last attempt only after a success, and a migration
 * that failed may be cancelled. Leaves a namespace that cannot be written now to the next call. Returns the milliseconds until the next of
 * the others is over; Infinity: there is none. Rejects when the list fails.
 */
export async function removeOldRecords(cluster: Cluster, log: Log): Promise<number> {
  const { items } = await cluster.list(LISTED_RECORDS, {});
  let nextMs = Infinity;
  for (const { metadata } of items) {
    const { name } = metadata;
    try {
      const { object, date } = await cluster.get(NAMESPACES, { name });
      const now = date.getTime();
      const cleared = withoutOldRecords(object, now);
      if (cleared !== undefined) await cluster.replace(NAMESPACES, cleared);
      const last = lastAttemptOf(cleared ?? object, now);
      if (last !== undefined) nextMs = Math.min(nextMs, endOf(last) - now);
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) continue;
      log('warn', `old records were not removed: ${describeError(error)}`, { namespace: name });
    }
  }
  return nextMs;
}
