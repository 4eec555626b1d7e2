import { grantOf } from '../../functions/domain/quota/grant.ts';
import { isFencedBy, loweredQuota } from '../../functions/domain/quota/lower.ts';
import { lockOf, type Lock } from '../../functions/domain/lock.ts';
import { LOCK_OUTCOME } from '../../functions/domain/names.ts';
import type { ResourceQuota } from '../../functions/domain/objects.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { isConflict, isNotFound } from '../../functions/kubernetes/errors.ts';
import { NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { getQuota, writeQuota } from '../../functions/cluster/quotas.ts';
import { ignoreNotFound } from '../../functions/cluster/snapshot.ts';

/**
 * Fences the quotas of a lock that was removed by hand, because its raise may still be running. A quota that is raised already is
 * an orphan, which the guard lowers. Rejects when a write fails now.
 */
export async function fenceRemovedLock(cluster: Cluster, namespace: string, lock: Lock): Promise<void> {
  const read = await ignoreNotFound(cluster.get(NAMESPACES, { name: namespace }));
  if (read === undefined) return;
  const state = lockOf(read.object);
  if (state.kind === 'held' && state.lock.token === lock.token) return;
  await Promise.all(
    lock.quotas.map((quota) => writeFence(cluster, namespace, { ...quota, token: lock.token })),
  );
}

interface FenceTarget {
  readonly name: string;
  readonly uid: string;
  readonly token: string;
}

async function writeFence(cluster: Cluster, namespace: string, fenced: FenceTarget): Promise<void> {
  for (;;) {
    const read = await ignoreNotFound(getQuota(cluster, { namespace, name: fenced.name }));
    if (read === undefined || !isOpen(read.object, fenced)) return;
    const mark = { token: markOf(fenced), outcome: LOCK_OUTCOME.failed };
    try {
      await writeQuota(cluster, read.object, (whole) => loweredQuota(whole, mark));
      return;
    } catch (error) {
      if (isNotFound(error)) return;
      if (!isConflict(error)) throw error;
    }
  }
}

const markOf = ({ token }: FenceTarget): string => `removed-${token}`;

/** Whether this is the lock's quota (by UID), without a grant, and without a fence of that lock or of this function. */
const isOpen = (quota: ResourceQuota, fenced: FenceTarget): boolean =>
  quota.metadata.uid === fenced.uid &&
  grantOf(quota).kind === 'none' &&
  ![fenced.token, markOf(fenced)].some((token) => isFencedBy(quota, token));
