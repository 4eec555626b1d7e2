/** Far longer than anything here takes, an attempt that a slow machine let fail and its back-off included. */
const WITHIN_MS = 90_000;
const MAX_SHOWN = 12;

/** What has happened so far, in order, and can be waited on: nobody polls, nobody sleeps. */
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

  /** Resolves as soon as it holds; rejects when it never does, with the end of what was recorded. */
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
 * Asks until the answer holds: only for what the API server applies a moment after it accepted it (roles, webhook
 * configurations, policies) and no watch can tell. The requests themselves take their time: no sleep between them.
 */
export async function askUntil<T>(
  what: string,
  ask: () => Promise<T>,
  holds: (answer: T) => boolean,
): Promise<T> {
  const until = performance.now() + WITHIN_MS;
  for (;;) {
    const answer = await ask();
    if (holds(answer)) return answer;
    if (performance.now() > until) throw new Error(`never: ${what}, but ${JSON.stringify(answer)}`);
  }
}
