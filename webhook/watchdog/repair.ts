import { EVENT, REASON } from '../../functions/domain/names.ts';
import { lower } from '../../functions/lower/handle.ts';
import type { StepContext } from '../../functions/host/step.ts';
import { unlock } from '../../functions/unlock/handle.ts';

/**
 * Lowers and unlocks a namespace in this process, by the very steps that the functions run: for when nobody else does.
 * `token`: the watchdog has watched this lock for its whole life. Whether it freed the namespace, or put back a grant that
 * had no lock. Rejects when it could not be done now.
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
  // Without a lock there is nothing to free: it ends with the quotas.
  if (reply === undefined) return lowered.reason === REASON.grantWithoutLock;
  const tokenField = reply.token === undefined ? {} : { token: reply.token };
  const unlocked = await unlock.handle({ type: reply.type, id, namespace, ...tokenField }, context);
  context.log('info', unlocked.message, { step: 'unlock', repair: true, namespace, reason: unlocked.reason });
  return unlocked.reason === REASON.unlocked;
}
