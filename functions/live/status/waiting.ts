import { waitFor, type Finding } from '../../domain/live/conditions.ts';
import type { Wait } from '../run/decision.ts';
import { timeOf } from '../run/deadlines.ts';
import type { LiveCondition } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION, LIVE_REASON, type LiveReason } from '../../domain/live/names.ts';

/** Reasons that do not go away without a user. */
const BLOCKING: readonly LiveReason[] = [
  LIVE_REASON.planNotReady,
  LIVE_REASON.overQuota,
  LIVE_REASON.cutOverUndecided,
  LIVE_REASON.sourceSetBack,
  LIVE_REASON.sourceStartedAgain,
  LIVE_REASON.sourceDownUndecided,
  LIVE_REASON.sourceNotVerified,
];
/** Reasons that may last long without a problem. */
const SLOW: readonly LiveReason[] = [
  LIVE_REASON.hookRuns,
  LIVE_REASON.volumesPending,
  LIVE_REASON.transferring,
  LIVE_REASON.targetBusy,
  LIVE_REASON.migratingLocally,
];
/** Milliseconds within which every other reason goes away by itself. */
const USUAL_MS = 60_000;

/** Returns the condition of a VM that waits: Blocked if it needs a user, or has waited for long. `now`: milliseconds. */
export function waitingFinding(
  waiting: Wait,
  before: readonly LiveCondition[],
  { now, mayTakeLong }: { readonly now: number; readonly mayTakeLong: boolean },
): Finding {
  const { reason, message } = waiting;
  const known = waitFor(before, reason);
  const isLong = known !== undefined && now - timeOf(known.lastTransitionTime) >= USUAL_MS;
  const isBlocked =
    known?.type === LIVE_CONDITION.blocked ||
    needsUser(waiting) ||
    (isLong && !mayTakeLong && !SLOW.includes(reason));
  // Two copies could run.
  const category = reason === LIVE_REASON.sourceStartedAgain ? 'Critical' : 'Warn';
  return isBlocked
    ? { type: LIVE_CONDITION.blocked, category, reason, message }
    : { type: LIVE_CONDITION.waiting, category: 'Advisory', reason, message };
}

const needsUser = ({ reason, endsItself }: Wait): boolean => BLOCKING.includes(reason) && endsItself !== true;
