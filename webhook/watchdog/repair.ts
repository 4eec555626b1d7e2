import { isUnfenced, lockOf, withLock } from '../../functions/domain/lock.ts';
import { EVENT, REASON } from '../../functions/domain/names.ts';
import { isLockOver } from '../../functions/lower/decide.ts';
import { lower } from '../../functions/lower/handle.ts';
import { FenceRefused } from '../../functions/lower/write.ts';
import type { Step, StepContext } from '../../functions/host/step.ts';
import { NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { unlock } from '../../functions/unlock/handle.ts';

/**
 * Lowers and unlocks a namespace in the guard's process, with the same steps as the functions, when the functions do not. `token`:
 * the lock that the watchdog has watched for its whole lifetime. Resolves with whether it unlocked the namespace, or removed a
 * grant without a lock. Rejects when a step fails now.
 */
export async function repair(
  namespace: string,
  token: string | undefined,
  context: StepContext,
): Promise<boolean> {
  const id = `repair/${namespace}`;
  const overdue = token === undefined ? {} : { overdueToken: token };
  const lowerNow = (): ReturnType<Step['handle']> =>
    lower.handle({ type: EVENT.lockExpired, id, namespace, ...overdue }, context);
  const lowered = await lowerNow().catch(async (error: unknown) => {
    if (!(error instanceof FenceRefused)) throw error;
    if (!(await recordRefusal({ namespace, token, error }, context))) throw error;
    return lowerNow();
  });
  context.log('info', lowered.message, { step: 'lower', repair: true, namespace, reason: lowered.reason });
  const { reply } = lowered;
  // Without a lock, the repair is complete once the quotas are lowered.
  if (reply === undefined) return lowered.reason === REASON.grantWithoutLock;
  const tokenField = reply.token === undefined ? {} : { token: reply.token };
  const unlocked = await unlock.handle({ type: reply.type, id, namespace, ...tokenField }, context);
  context.log('info', unlocked.message, { step: 'unlock', repair: true, namespace, reason: unlocked.reason });
  return unlocked.reason === REASON.unlocked;
}

interface Refusal {
  readonly namespace: string;
  readonly token: string | undefined;
  readonly error: FenceRefused;
}

/**
 * Records in a lock that is over that a policy refuses our writes to its quotas. A quota without a grant then counts as lowered, also
 * without its fence: otherwise the namespace would stay locked for ever (I3). Returns false if the lock is live, another one, or has
 * the record already.
 */
async function recordRefusal(
  { namespace: name, token, error }: Refusal,
  { cluster }: StepContext,
): Promise<boolean> {
  const { object: namespace, date } = await cluster.get(NAMESPACES, { name });
  const state = lockOf(namespace);
  if (state.kind !== 'held' || isUnfenced(state.lock)) return false;
  if (!isLockOver(state, { now: date.getTime(), overdueToken: token })) return false;
  const { message } = state.lock.ended?.reason === REASON.refusedByPolicy ? state.lock.ended : error;
  const ended = { reason: REASON.refusedByPolicy, message, unfenced: true };
  const expiresAt = date.toISOString();
  await cluster.replace(NAMESPACES, withLock(namespace, { ...state.lock, expiresAt, ended }));
  return true;
}
