import { LOCK_BUDGET_MS, REPAIR_MS, WINDOW_MS } from '../../../functions/domain/verdict/attempt.ts';

/** One lock that is over, and did not bring all its migrations through. */
interface Failed {
  readonly from: number;
  readonly to: number;
  /** How much of it nobody could know: an answer of the API server that came late. */
  readonly unknownMs: number;
}

/** I7: how long failed attempts had the namespace locked. */
export class LockedTime {
  readonly #failed: Failed[] = [];

  /** A lock longer than it may live is another invariant's (I3). Milliseconds. */
  add(failed: Failed, lifetimeMs: number): void {
    const to = Math.min(failed.to, failed.from + lifetimeMs + REPAIR_MS);
    this.#failed.push({ ...failed, to });
  }

  /** The most that any window sees, in milliseconds beyond the budget; 0 or less: all is well. */
  beyondBudget(): number {
    return Math.max(0, ...this.#failed.map(({ to }) => this.#within(to - WINDOW_MS, to) - LOCK_BUDGET_MS));
  }

  #within(from: number, to: number): number {
    let sum = 0;
    for (const failed of this.#failed) {
      const overlap = Math.min(failed.to, to) - Math.max(failed.from, from);
      if (overlap > 0) sum += Math.max(0, overlap - failed.unknownMs);
    }
    return sum;
  }
}
