import { EVENT, REASON } from '../../functions/domain/names.ts';
import { lower } from '../../functions/lower/handle.ts';
import type { StepContext } from '../../functions/host/step.ts';
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
  const lowered = await lower.handle({ type: EVENT.lockExpired, id, namespace, ...overdue }, context);
  context.log('info', lowered.message, { step: 'lower', repair: true, namespace, reason: lowered.reason });
  const { reply } = lowered;
  // Without a lock, the repair is complete once the quotas are lowered.
  if (reply === undefined) return lowered.reason === REASON.grantWithoutLock;
  const tokenField = reply.token === undefined ? {} : { token: reply.token };
  const unlocked = await unlock.handle({ type: reply.type, id, namespace, ...tokenField }, context);
  context.log('info', unlocked.message, { step: 'unlock', repair: true, namespace, reason: unlocked.reason });
  return unlocked.reason === REASON.unlocked;
}
