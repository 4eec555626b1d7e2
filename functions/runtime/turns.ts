import { pause, type Clock } from './clock.ts';

/** Longer than a run takes where nothing hangs; what hangs keeps nobody else from trying. */
const MOST_WAIT_MS = 1_000;

/** Whose turn it is, and what for. */
export interface Turn {
  readonly who: string;
  readonly why: string;
}

export interface Taken<T> {
  readonly result: T;
  /** It came of somebody else's work for the same, that had not begun yet. */
  readonly isShared: boolean;
}

/**
 * Runs work for the same `who` one after another; what is asked for while the same (`why`) still waits for its turn is done
 * by that. Events about one release come in twos and threes: a run that begins when the one before has ended finds its
 * writes, and mostly nothing to do, where both at once would only get into each other's way. Only a courtesy within one
 * process, for as long as MOST_WAIT_MS: what may be written, the API server decides.
 */
export class Turns<T> {
  readonly #clock: Clock;
  readonly #last = new Map<string, Promise<unknown>>();
  readonly #waiting = new Map<string, Promise<T>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What `work` comes to, or work that was waiting for the same; rejects as that does. */
  async take({ who, why }: Turn, work: () => Promise<T>): Promise<Taken<T>> {
    const key = `${who} ${why}`;
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) return { result: await waiting, isShared: true };
    const turn = this.#queue(who, key, work);
    return { result: await turn, isShared: false };
  }

  #queue(who: string, key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(who);
    const turn = before === undefined ? work() : this.#after(before, key, work);
    if (before !== undefined) this.#waiting.set(key, turn);
    const forget = (): void => {
      if (this.#last.get(who) === ended) this.#last.delete(who);
    };
    const ended: Promise<void> = turn.then(forget, forget);
    this.#last.set(who, ended);
    return turn;
  }

  async #after(before: Promise<unknown>, key: string, work: () => Promise<T>): Promise<T> {
    const enough = new AbortController();
    await Promise.race([before, pause(this.#clock, MOST_WAIT_MS, enough.signal)]);
    enough.abort();
    this.#waiting.delete(key);
    return work();
  }
}
