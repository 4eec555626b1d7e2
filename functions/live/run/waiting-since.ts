import { waitFor } from '../../domain/live/conditions.ts';
import { timeOf } from './deadlines.ts';
import { waitUntil, type StepDecision, type Wait } from './decision.ts';
import type { LiveReason } from '../../domain/live/names.ts';
import type { HubSide } from './snapshot.ts';

type HubStatus = Pick<HubSide, 'status' | 'now'>;

/** Since when the Migration shows that the VM waits for this, milliseconds by the hub's clock; not yet: now. */
export function waitingSince({ status, now }: HubStatus, reason: LiveReason): number {
  const shown = waitFor(status?.conditions, reason);
  return shown === undefined ? now : timeOf(shown.lastTransitionTime);
}

/**
 * Waits for so many milliseconds since it was shown, and fails with the same message then. What the VM waited for before, such as its
 * turn or a hook, does not count.
 */
export const waitAtMost = (
  limitMs: number,
  hub: HubStatus,
  waiting: Pick<Wait, 'reason' | 'message'>,
): StepDecision =>
  waitUntil({ now: hub.now, until: waitingSince(hub, waiting.reason) + limitMs }, waiting, waiting.reason);
