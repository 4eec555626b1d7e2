import type { Clock } from '../../../functions/runtime/clock.ts';
import type { Life } from './life.ts';

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly work: () => void;
  cancelled: boolean;
}

/** The start of every run, milliseconds since 1970: a whole second. */
export const START = Date.parse('2026-11-21T05:00:00Z');

/** The virtual time of a run. Only the scheduler advances it. */
export class Time {
  now = START;
  readonly #heap: Timer[] = [];
  #count = 0;

  /** Runs `work` in `ms` milliseconds; the result cancels it. */
  after(ms: number, work: () => void): () => void {
    this.#count += 1;
    const timer = { at: this.now + Math.max(0, ms), order: this.#count, work, cancelled: false };
    this.#push(timer);
    return () => void (timer.cancelled = true);
  }

  /** When the next alarm is due; undefined: there is none. */
  next(): number | undefined {
    while (this.#heap[0]?.cancelled === true) this.#pop();
    return this.#heap[0]?.at;
  }

  /** Removes the next alarm that is due by `until`, and advances to its time. */
  popDue(until: number): (() => void) | undefined {
    const at = this.next();
    if (at === undefined || at > until) return undefined;
    this.now = Math.max(this.now, at);
    return this.#pop()?.work;
  }

  /** The clock of one process: no timer fires after the process has ended. */
  clockOf(life: Life): Clock {
    return {
      elapsed: () => this.now - START,
      now: () => new Date(this.now),
      after: (ms, work) => this.after(ms, () => life.isAlive && work()),
    };
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(timer);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || isBefore(above, timer)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = timer;
  }

  #pop(): Timer | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      const [left, right] = [heap[child], heap[child + 1]];
      if (left === undefined) break;
      if (right !== undefined && isBefore(right, left)) child += 1;
      const min = right !== undefined && isBefore(right, left) ? right : left;
      if (isBefore(last, min)) break;
      heap[index] = min;
      index = child;
    }
    heap[index] = last;
    return first;
  }
}

const isBefore = (one: Timer, other: Timer): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order);
