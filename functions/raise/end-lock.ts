import { isLockExpired, lockOf, LOCK_VERSION, withLock, type Lock } from '../domain/lock.ts';
import { withRefusals, type RaiseRefusal } from '../domain/verdict/raise-refusal.ts';
import { EVENT, REASON, type Reason } from '../domain/names.ts';
import type { Namespace } from '../domain/objects.ts';
import type { Read } from '../kubernetes/cluster.ts';
import { ignoreNotFound, isConflict } from '../kubernetes/errors.ts';
import { NAMESPACES } from '../kubernetes/resources.ts';
import type { Outcome, StepContext } from '../host/step.ts';

/** Which lock is ended early, and why. */
export interface Ending {
  readonly namespace: string;
  readonly token: string;
  readonly reason: Reason;
  readonly message: string;
  /** The quotas of which the API server refused the raise. */
  readonly refused?: readonly RaiseRefusal[];
}

/**
 * Ends the lock of this token now, stores the reason in it and replies, so that `lower` restores its quotas at once. A lock of
 * another token is left alone. undefined: another writer was first.
 */
export async function endLock(
  { namespace, token, reason, message, refused }: Ending,
  { cluster }: Pick<StepContext, 'cluster'>,
): Promise<Outcome | undefined> {
  const read = await ignoreNotFound(cluster.get(NAMESPACES, { name: namespace }));
  const state = read === undefined ? undefined : lockOf(read.object);
  const isOurs = state?.kind === 'held' && state.lock.token === token && state.lock.v === LOCK_VERSION;
  if (read === undefined || !isOurs) {
    return {
      reason: REASON.notOurLock,
      message: `the namespace is not locked by this token any more (${message})`,
    };
  }
  const now = read.date.getTime();
  if (!isLockExpired(state.lock, now)) {
    const ended: Lock = { ...state.lock, expiresAt: new Date(now).toISOString(), ended: { reason, message } };
    try {
      await cluster.replace(NAMESPACES, withLock(knowing(refused, read), ended));
    } catch (error) {
      if (isConflict(error)) return undefined;
      throw error;
    }
  }
  const reply = { type: EVENT.lockExpired, from: 'raise', namespace, token, reason, message };
  return { reason, message, reply };
}

/** The namespace with the record of these refusals. */
function knowing(refused: Ending['refused'], { object, date }: Read<Namespace>): Namespace {
  const tried = (refused ?? []).map(({ quota }) => quota);
  return withRefusals(object, { tried, refused: refused ?? [] }, date.getTime());
}
