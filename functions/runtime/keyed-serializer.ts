import { pause, type Clock } from './clock.ts';

/** Maximum wait for a run, longer than a normal one takes, unless it is given. A run that hangs must not block the others. */
const MAX_WAIT_MS = 1_000;

const NO_GAP = (): number => 0;

/** `key`: runs with the same one run one after another. `dedupeKey`: calls with the same one share a run that has not begun. */
export interface SerializationKey {
  readonly key: string;
  readonly dedupeKey: string;
  /**
   * Returns the milliseconds for which the run waits once more, if it has waited for the one before, so that further calls share it. It is
   * asked after the one before. Left out: none.
   */
  readonly gapMs?: () => number;
}

export interface Serialized<T> {
  readonly result: T;
  /** The result is of an equal call whose run had not begun yet. */
  readonly isShared: boolean;
}

/**
 * Runs work with the same `key` one after another. A call shares the run of a waiting call with the same `dedupeKey`. The
 * events of one cycle arrive in twos and threes: a run that begins after the last one has ended sees its writes, and mostly
 * has nothing to do. In parallel they would only conflict. This is a courtesy within one process, for MAX_WAIT_MS at most: the
 * API server decides which writes succeed.
 */
export class KeyedSerializer {
  readonly #clock: Clock;
  readonly #maxWaitMs: number;
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #waiting = new Map<string, Promise<unknown>>();

  constructor(clock: Clock, maxWaitMs = MAX_WAIT_MS) {
    this.#clock = clock;
    this.#maxWaitMs = maxWaitMs;
  }

  /** The result of `work`, or of a waiting call with the same keys, whose work is the same; rejects as that does. */
  async serialize<T>(of: SerializationKey, work: () => Promise<T>): Promise<Serialized<T>> {
    const { key, dedupeKey } = of;
    const pairKey = `${key} ${dedupeKey}`;
    const waiting = this.#waiting.get(pairKey);
    if (waiting !== undefined) return { result: (await waiting) as T, isShared: true };
    const run = this.#queue(of, pairKey, work);
    return { result: await run, isShared: false };
  }

  #queue<T>({ key, gapMs = NO_GAP }: SerializationKey, pairKey: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const run = before === undefined ? work() : this.#after(before, { pairKey, gapMs }, work);
    if (before !== undefined) this.#waiting.set(pairKey, run);
    const forget = (): void => {
      if (this.#last.get(key) === ended) this.#last.delete(key);
    };
    const ended: Promise<void> = run.then(forget, forget);
    this.#last.set(key, ended);
    return run;
  }

  async #after<T>(
    before: Promise<unknown>,
    { pairKey, gapMs }: { readonly pairKey: string; readonly gapMs: () => number },
    work: () => Promise<T>,
  ): Promise<T> {
    const enough = new AbortController();
    await Promise.race([before, pause(this.#clock, this.#maxWaitMs, enough.signal)]);
    enough.abort();
    const ms = gapMs();
    if (ms > 0) await pause(this.#clock, ms);
    this.#waiting.delete(pairKey);
    return work();
  }
}
