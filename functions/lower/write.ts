import { grantOf } from '../domain/quota/grant.ts';
import { isUnfenced, type Lock } from '../domain/lock.ts';
import type { LockOutcome } from '../domain/names.ts';
import type { ResourceQuota } from '../domain/objects.ts';
import { isFencedBy, loweredQuota, type Fence } from '../domain/quota/lower.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { isConflict, isNotFound, isRejected, refusalOf, type ApiError } from '../kubernetes/errors.ts';
import { writeQuota } from '../cluster/quotas.ts';
import type { Lower } from './decide.ts';
import type { LockObjects } from './read.ts';

/** What to write to the quotas, and for which lock. */
export interface LowerTask {
  /** The lock's token; undefined: no lock is readable, so each grant's own token counts. */
  readonly token: string | undefined;
  readonly outcome: LockOutcome;
  readonly lock: Lock | undefined;
  /**
   * The namespace had this token, or still no lock, after the quotas were read. So grants of other tokens are leftovers, and fences of
   * other tokens are older. Without it, another token may be that of a later lock.
   */
  readonly isLockCurrent: boolean;
}

/** What is lowered and why, by whichever decision. */
export type Lowering = LockObjects & Pick<Lower, 'reason' | 'message'> & { readonly task: LowerTask };

export interface Written {
  /** The quotas that this call wrote, as they were before; the others were lowered already. */
  readonly quotas: readonly ResourceQuota[];
  /** Whether another writer was first, so that the caller decides again. */
  readonly lostRace: boolean;
}

/** A policy refuses the fence of a quota without a grant. The guard ends such a lock. */
export class FenceRefused extends Error {
  constructor(cause: ApiError) {
    super(refusalOf('a write to a ResourceQuota', cause), { cause });
  }
}

/** PUTs the status of each quota that is not lowered yet, in parallel. Rejects where one could not be written now. */
export async function writeBack(
  quotas: readonly ResourceQuota[],
  task: LowerTask,
  cluster: Cluster,
): Promise<Written> {
  const results = await Promise.all(quotas.map((quota) => writeOne(quota, task, cluster)));
  return {
    quotas: quotas.filter((_, index) => results[index] === 'written'),
    lostRace: results.includes('lostRace'),
  };
}

async function writeOne(
  quota: ResourceQuota,
  task: LowerTask,
  cluster: Cluster,
): Promise<'written' | 'back' | 'lostRace'> {
  const fence = fenceFor(quota, task);
  if (fence === undefined) return 'back';
  if (mayBeFencedByLaterLock(quota, task)) return 'lostRace';
  try {
    await writeQuota(cluster, quota, (whole) => loweredQuota(whole, fence));
    return 'written';
  } catch (error) {
    if (isNotFound(error)) return 'back';
    if (isConflict(error)) return 'lostRace';
    // A policy that refuses the fence refuses a raise too. None can land there, so this must not keep the namespace locked.
    const isFenceRefused = isRejected(error) && grantOf(quota).kind === 'none';
    if (isFenceRefused && isUnfenced(task.lock)) return 'back';
    throw isFenceRefused ? new FenceRefused(error) : error;
  }
}

const mayBeFencedByLaterLock = (quota: ResourceQuota, { isLockCurrent }: LowerTask): boolean =>
  !isLockCurrent && grantOf(quota).kind === 'none';

/** The fence to write on a quota; undefined: nothing to write. */
function fenceFor(quota: ResourceQuota, { token, outcome, isLockCurrent }: LowerTask): Fence | undefined {
  const state = grantOf(quota);
  if (state.kind === 'none') {
    return token === undefined || isFencedBy(quota, token) ? undefined : { token, outcome };
  }
  const of = state.kind === 'held' ? state.grant.token : UNREADABLE;
  if (of === token) return { token, outcome };
  return isLockCurrent ? { token: token ?? of, outcome } : undefined;
}

/** Replaces the token of a grant that is unreadable. */
const UNREADABLE = 'unreadable';

/** Whether a quota may have the grant or the fence of a later lock, so that the namespace must be read after it. */
export const mayBeOfLaterLock = (quotas: readonly ResourceQuota[], token: string | undefined): boolean =>
  quotas.some((quota) => {
    const state = grantOf(quota);
    if (state.kind === 'none') return token !== undefined && !isFencedBy(quota, token);
    return state.kind === 'malformed' || state.grant.token !== token;
  });
