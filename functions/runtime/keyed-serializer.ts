import { pause, type Clock } from './clock.ts';

/** Longer than a run takes where nothing hangs; what hangs keeps nobody else from trying. */
const MAX_WAIT_MS = 1_000;

/** Whose turn it is, and what for. */
export interface SerializationKey {
  readonly key: string;
  readonly dedupeKey: string;
}

export interface Serialized<T> {
  readonly result: T;
  /** It came of somebody else's work for the same, that had not begun yet. */
  readonly isShared: boolean;
}

/**
 * Runs work for the same `who` one after another; what is asked for while the same (`why`) still waits for its turn is done
 * by that. Events about one release come in twos and threes: a run that begins when the one before has ended finds its
 * writes, and mostly nothing to do, where both at once would only get into each other's way. Only a courtesy within one
 * process, for as long as MAX_WAIT_MS: what may be written, the API server decides.
 */
export class KeyedSerializer<T> {
  readonly #clock: Clock;
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #waiting = new Map<string, Promise<T>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What `work` comes to, or work that was waiting for the same; rejects as that does. */
  async serialize({ key, dedupeKey }: SerializationKey, work: () => Promise<T>): Promise<Serialized<T>> {
    const pairKey = `${key} ${dedupeKey}`;
    const waiting = this.#waiting.get(pairKey);
    if (waiting !== undefined) return { result: await waiting, isShared: true };
    const run = this.#queue(key, pairKey, work);
    return { result: await run, isShared: false };
  }

  #queue(key: string, pairKey: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const run = before === undefined ? work() : this.#after(before, pairKey, work);
    if (before !== undefined) this.#waiting.set(pairKey, run);
    const forget = (): void => {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    };
    const ended: Promise<void> = run.then(forget, forget);
    this.#last.set(key, ended);
    return run;
  }

  async #after(before: Promise<unknown>, pairKey: string, work: () => Promise<T>): Promise<T> {
    const enough = new AbortController();
    await Promise.race([before, pause(this.#clock, MAX_WAIT_MS, enough.signal)]);
    enough.abort();
    this.#waiting.delete(pairKey);
    return work();
  }
}
