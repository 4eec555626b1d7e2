import { waitFor } from '../../domain/live/conditions.ts';
import { timeOf } from './deadlines.ts';
import { waitUntil, type StepDecision, type Wait } from './decision.ts';
import type { LiveReason } from '../../domain/live/names.ts';
import type { HubSide } from './snapshot.ts';

type HubStatus = Pick<HubSide, 'status' | 'now'>;

/**
 * Returns the time since which the Migration's status has the VM wait for this, milliseconds by the hub's clock; now if it has no such
 * wait.
 */
export function waitingSince({ status, now }: HubStatus, reason: LiveReason): number {
  const shown = waitFor(status?.conditions, reason);
  return shown === undefined ? now : timeOf(shown.lastTransitionTime);
}

/**
 * Waits for so many milliseconds since the wait came into the status, then fails with the same message. Earlier waits of the VM, such as
 * for its turn or a hook, do not count.
 */
export const waitAtMost = (
  limitMs: number,
  hub: HubStatus,
  waiting: Pick<Wait, 'reason' | 'message'>,
): StepDecision =>
  waitUntil({ now: hub.now, until: waitingSince(hub, waiting.reason) + limitMs }, waiting, waiting.reason);
