import { setTimeout as delay } from 'node:timers/promises';

/**
 * Far longer than any wait in the tests, even with a failed attempt on a slow machine and its back-off. (Between clusters KubeVirt tries again
 * with growing delays, and `live` makes it look again after a minute.)
 */
const WITHIN_MS = 150_000;
const MAX_SHOWN = 12;
/** A fifth of the wait so far, in these bounds, ms: a short wait ends soon, and a long one takes no core from the other tests. */
const PAUSE = { least: 10, most: 100, ofWait: 0.2 };

/** A record of events in order. Tests wait on it without polls or sleeps. */
export class Recorded<T> {
  readonly items: T[] = [];
  readonly #describe: (item: T) => string;
  readonly #watchers = new Set<() => void>();

  constructor(describe: (item: T) => string) {
    this.#describe = describe;
  }

  add(item: T): void {
    this.items.push(item);
    for (const look of this.#watchers) look();
  }

  /** Resolves as soon as the condition holds; rejects after a timeout, with the end of the record. */
  async until(what: string, holds: () => boolean, withinMs = WITHIN_MS): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<undefined>();
    const look = (): void => {
      if (holds()) resolve(undefined);
    };
    const giveUp = (): void => {
      const last = this.items.slice(-MAX_SHOWN).map((item) => `  ${this.#describe(item)}`);
      reject(new Error(`not within ${withinMs} ms: ${what}. What was seen last:\n${last.join('\n')}`));
    };
    const timer = setTimeout(giveUp, withinMs);
    this.#watchers.add(look);
    try {
      look();
      await promise;
    } finally {
      clearTimeout(timer);
      this.#watchers.delete(look);
    }
  }
}

/**
 * Repeats a request until its answer holds. Use it only for objects that the API server applies after a delay (roles, webhook
 * configurations, policies) and that no watch shows.
 */
export async function askUntil<T>(
  what: string,
  ask: () => Promise<T>,
  holds: (answer: T) => boolean,
): Promise<T> {
  const begun = performance.now();
  for (;;) {
    const answer = await ask();
    if (holds(answer)) return answer;
    const waited = performance.now() - begun;
    if (waited > WITHIN_MS) throw new Error(`never: ${what}, but ${JSON.stringify(answer)}`);
    await delay(Math.min(Math.max(waited * PAUSE.ofWait, PAUSE.least), PAUSE.most));
  }
}
