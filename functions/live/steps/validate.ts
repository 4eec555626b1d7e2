import { LIMIT_MS } from '../run/deadlines.ts';
import { DONE, type StepDecision } from '../run/decision.ts';
import { LIVE_REASON } from '../../domain/live/names.ts';
import { recordOf } from '../run/record.ts';
import type { RunSnapshot } from '../run/snapshot.ts';
import { waitAtMost } from '../run/waiting-since.ts';

/**
 * Waits until the plan is Ready: a VM starts only then. Once it has started, a blocker does not end it; but nothing is made by maps that are
 * not read.
 */
export function decide({ hub, source: { vm }, run }: RunSnapshot): StepDecision {
  if (hub.unread !== undefined)
    return waitAtMost(LIMIT_MS.refused, hub, { reason: LIVE_REASON.refused, message: hub.unread });
  const isStarted = vm !== undefined && recordOf(vm, run).kind === 'ours';
  if (isStarted || hub.blockers.length === 0) return DONE;
  const message = `the plan is not Ready: ${hub.blockers.join('; ')}`;
  return waitAtMost(LIMIT_MS.begin, hub, { reason: LIVE_REASON.planNotReady, message });
}
