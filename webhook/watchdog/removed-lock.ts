import { grantOf } from '../../functions/domain/quota/grant.ts';
import { isFencedBy, loweredQuota } from '../../functions/domain/quota/lower.ts';
import type { Lock } from '../../functions/domain/lock.ts';
import { LOCK_OUTCOME } from '../../functions/domain/names.ts';
import type { ResourceQuota } from '../../functions/domain/objects.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { describeError, isConflict, isNotFound } from '../../functions/kubernetes/errors.ts';
import type { Log } from '../../functions/runtime/log.ts';
import type { Timers } from '../../functions/runtime/timers.ts';
import { readFenceToken } from '../../functions/cluster/fence-token.ts';
import { readLockQuotas, writeQuota } from '../../functions/cluster/quotas.ts';

interface Fencing {
  readonly cluster: Cluster;
  readonly log: Log;
  readonly timers: Timers;
  /** The wait after each failure. */
  readonly nextMs: (tries: number) => number;
}

/** Fences a removed lock until it succeeds: the raise may be delayed for as long as the API server is away. */
export function keepFencing(namespace: string, lock: Lock, { cluster, log, timers, nextMs }: Fencing): void {
  // The key differs from those of the lock's own timers, which end with it.
  const key = `fence/${namespace}/${lock.token}/`;
  const work = async (): Promise<void> => {
    try {
      await fenceRemovedLock(cluster, namespace, lock);
      timers.clear(key);
    } catch (error) {
      log('warn', `a removed lock is not fenced yet: ${describeError(error)}`, { namespace });
    }
  };
  timers.start(key, work, { firstMs: 0, nextMs });
}

/**
 * Fences the quotas of a lock that was removed by hand, because its raise may still be running. A quota that is raised already is
 * an orphan, which the guard lowers. The next lock's own fence stays: it stops the removed lock's raise too. Rejects when a write
 * fails now.
 */
export async function fenceRemovedLock(cluster: Cluster, namespace: string, lock: Lock): Promise<void> {
  for (;;) {
    const read = await readLockQuotas(namespace, lock.quotas, cluster);
    const open = read.map(({ object }) => object).filter((quota) => isOpen(quota, lock));
    if (open.length === 0) return;
    // After the quotas, whose versions are the writes' precondition: a fence of another token than this is an older one.
    const live = await readFenceToken(namespace, cluster);
    if (live === lock.token) return;
    const due = open.filter((quota) => live === undefined || !isFencedBy(quota, live));
    const written = await Promise.all(due.map((quota) => writeFence(cluster, quota, lock)));
    if (!written.includes(false)) return;
  }
}

/** Writes the fence; returns false if another writer was first. */
async function writeFence(cluster: Cluster, quota: ResourceQuota, lock: Lock): Promise<boolean> {
  const mark = { token: markOf(lock), outcome: LOCK_OUTCOME.failed };
  try {
    await writeQuota(cluster, quota, (whole) => loweredQuota(whole, mark));
    return true;
  } catch (error) {
    if (isNotFound(error)) return true;
    if (!isConflict(error)) throw error;
    return false;
  }
}

const markOf = ({ token }: Pick<Lock, 'token'>): string => `removed-${token}`;

/** Whether the quota has no grant, and no fence of that lock or of this function. */
const isOpen = (quota: ResourceQuota, lock: Lock): boolean =>
  grantOf(quota).kind === 'none' && ![lock.token, markOf(lock)].some((token) => isFencedBy(quota, token));
