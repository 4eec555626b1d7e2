import { pause, type Clock } from './clock.ts';

/** Longer than a run takes where nothing hangs; what hangs keeps nobody else from trying. */
const MOST_WAIT_MS = 1_000;

/**
 * Runs work of the same key one after another. Events about one release come in twos and threes: a run that begins when the
 * one before has ended finds its writes, and mostly nothing to do, where both at once would only get into each other's way.
 * Only a courtesy within one process, for as long as MOST_WAIT_MS: what may be written, the API server decides.
 */
export class Turns {
  readonly #clock: Clock;
  readonly #last = new Map<string, Promise<unknown>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What `work` comes to. */
  async take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const { promise: mine, resolve: end } = Promise.withResolvers<undefined>();
    this.#last.set(key, mine);
    if (before !== undefined) await this.#wait(before);
    try {
      return await work();
    } finally {
      end(undefined);
      if (this.#last.get(key) === mine) this.#last.delete(key);
    }
  }

  async #wait(before: Promise<unknown>): Promise<void> {
    const enough = new AbortController();
    const longest = pause(this.#clock, MOST_WAIT_MS, enough.signal);
    await Promise.race([before, longest]);
    enough.abort();
  }
}
