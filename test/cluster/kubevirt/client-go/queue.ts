import type { Clock } from '../../../../functions/runtime/clock.ts';
import { describeError } from '../../../../functions/kubernetes/errors.ts';
import { Backoff } from './backoff.ts';
import type { Log } from './cache.ts';

/** Delay until the next look at a key without a change, milliseconds; undefined: only after a change. */
export type Again = { readonly afterMs: number } | undefined;

export interface QueueOptions {
  readonly workers: number;
  /** Works one key; after a rejection the key returns with the rate limiter's delay. Never runs twice at once for a key. */
  readonly work: (key: string) => Promise<Again>;
  /** The greater goes first; 0 for all when left out. */
  readonly priority?: (key: string) => number;
  /** The first delay of a key that failed, milliseconds; client-go's when left out. */
  readonly retryMs?: number | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

interface Entry {
  readyAt: number;
  /** Stops the timer. */
  cancel?: () => void;
  /** Order of arrival. */
  readonly order: number;
}

/**
 * client-go's rate-limited priority queue, as virt-controller uses it: a key is in it once, with the earlier of two
 * times; a failed key comes back after 5 ms, doubling.
 */
export class Queue {
  readonly #options: QueueOptions;
  readonly #backoff: Backoff;
  readonly #waiting = new Map<string, Entry>();
  readonly #working = new Map<string, Promise<void>>();
  #arrivals = 0;
  #stopped = false;

  constructor(options: QueueOptions) {
    this.#options = options;
    this.#backoff = new Backoff(options.retryMs);
  }

  add(key: string, afterMs = 0): void {
    if (this.#stopped) return;
    const { clock } = this.#options;
    const readyAt = clock.elapsed() + afterMs;
    const known = this.#waiting.get(key);
    if (known !== undefined && known.readyAt <= readyAt) return;
    known?.cancel?.();
    const entry: Entry = { readyAt, order: known?.order ?? this.#arrivals++ };
    this.#waiting.set(key, entry);
    if (afterMs > 0) entry.cancel = clock.after(afterMs, () => this.#dispatch());
    else this.#dispatch();
  }

  /** Resolves when the last key in work is done; what waits is dropped. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { cancel } of this.#waiting.values()) cancel?.();
    this.#waiting.clear();
    await Promise.all(this.#working.values());
  }

  #dispatch(): void {
    while (!this.#stopped && this.#working.size < this.#options.workers) {
      const key = this.#next();
      if (key === undefined) return;
      this.#waiting.get(key)?.cancel?.();
      this.#waiting.delete(key);
      const done = this.#work(key).finally(() => {
        this.#working.delete(key);
        this.#dispatch();
      });
      this.#working.set(key, done);
    }
  }

  #next(): string | undefined {
    // A timer may fire a fraction of a millisecond early. A whole one has to pass: virtual time would stand else.
    const now = this.#options.clock.elapsed() + 1;
    const ready = [...this.#waiting].filter(([key, { readyAt }]) => readyAt < now && !this.#working.has(key));
    const priority = this.#options.priority ?? (() => 0);
    const [first] = ready
      .map(([key, { order }]) => ({ key, order, priority: priority(key) }))
      .sort((one, other) => other.priority - one.priority || one.order - other.order);
    return first?.key;
  }

  async #work(key: string): Promise<void> {
    try {
      const again = await this.#options.work(key);
      this.#backoff.forget(key);
      if (again !== undefined) this.add(key, again.afterMs);
    } catch (error) {
      this.#options.log(`${key}: ${describeError(error)}`);
      this.add(key, this.#backoff.next(key, this.#options.clock.elapsed()));
    }
  }
}
