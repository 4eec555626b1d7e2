import type { Namespace } from '../../../functions/domain/objects.ts';
import {
  lastAttemptOf,
  LOCK_BUDGET_MS,
  REPAIR_MS,
  WINDOW_MS,
} from '../../../functions/domain/verdict/attempt.ts';

/** One lock that ended before all its migrations had their target pods. */
interface Failed {
  readonly from: number;
  readonly to: number;
  /** The part that no step could measure: an answer of the API server that came late. */
  readonly unknownMs: number;
  /** By its record. */
  readonly isFree: boolean;
}

/** Whether the namespace's record says of its last lock, which failed, that it was free (docs/adr/0005). */
export const isFreeBy = (namespace: Namespace): boolean =>
  lastAttemptOf(namespace, Infinity)?.locked.at(-1)?.ms === 0;

/** I7: how long failed attempts kept the namespace locked. */
export class LockedTime {
  readonly #failed: Failed[] = [];

  /** I3 covers a lock that lives for too long. Milliseconds. One lock in a window may be free; the others count. */
  add(failed: Failed, lifetimeMs: number): void {
    const to = Math.min(failed.to, failed.from + lifetimeMs + REPAIR_MS);
    const isSecond = this.#failed.some((before) => before.isFree && before.to > to - WINDOW_MS);
    this.#failed.push({ ...failed, to, isFree: failed.isFree && !isSecond });
  }

  /** The largest excess over the budget in any window, milliseconds; 0 or less: none. */
  beyondBudget(): number {
    return Math.max(0, ...this.#failed.map(({ to }) => this.#within(to - WINDOW_MS, to) - LOCK_BUDGET_MS));
  }

  #within(from: number, to: number): number {
    let sum = 0;
    for (const failed of this.#failed) {
      const overlap = Math.min(failed.to, to) - Math.max(failed.from, from);
      if (overlap > 0 && !failed.isFree) sum += Math.max(0, overlap - failed.unknownMs);
    }
    return sum;
  }
}
