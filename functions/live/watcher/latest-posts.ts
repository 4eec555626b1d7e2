import type { ReadyEvent } from '../../eventing/post.ts';
import { describeError } from '../../kubernetes/errors.ts';
import { pause, type Clock } from '../../runtime/clock.ts';
import type { Log } from '../../runtime/log.ts';

export type Post = (event: ReadyEvent) => Promise<void>;

export interface LatestPostsOptions {
  readonly post: Post;
  readonly clock: Clock;
  readonly log: Log;
}

const AGAIN_MS = 1_000;
/** Attempts after which only the guard's resync helps. */
const MAX_ATTEMPTS = 10;

/** Posts of one cluster at once, and then one in so many milliseconds: a cluster may have a change at any time, and each starts `live`. */
const RATE = { atOnce: 50, everyMs: 50 };

/** Posts the newest event of each object, one at a time: its receiver reads the object again anyway. */
export class LatestPosts {
  readonly #options: LatestPostsOptions;
  readonly #waiting = new Map<string, ReadyEvent>();
  readonly #posting = new Set<string>();
  /** Elapsed milliseconds at which the next post would be due, if none were at once. */
  #due = -Infinity;

  constructor(options: LatestPostsOptions) {
    this.#options = options;
  }

  /** Adds an event. `key`: of the object. */
  add(key: string, event: ReadyEvent): void {
    this.#waiting.set(key, event);
    if (!this.#posting.has(key)) void this.#drain(key);
  }

  async #drain(key: string): Promise<void> {
    this.#posting.add(key);
    while (this.#waiting.has(key)) {
      const waitMs = this.#waitMs();
      if (waitMs > 0) await pause(this.#options.clock, waitMs);
      const event = this.#take(key);
      if (event !== undefined) await this.#post(key, event);
    }
    this.#posting.delete(key);
  }

  /** Returns the milliseconds until another post is due. */
  #waitMs(): number {
    const now = this.#options.clock.elapsed();
    this.#due = Math.max(this.#due, now - RATE.atOnce * RATE.everyMs) + RATE.everyMs;
    return this.#due - now;
  }

  #take(key: string): ReadyEvent | undefined {
    const event = this.#waiting.get(key);
    this.#waiting.delete(key);
    return event;
  }

  /** Posts until the event is accepted, or there is a newer one. */
  async #post(key: string, event: ReadyEvent): Promise<void> {
    const { post, clock, log } = this.#options;
    for (let attempt = 1; !this.#waiting.has(key); attempt += 1) {
      try {
        await post(event);
        return;
      } catch (error) {
        log('warn', `not posted: ${describeError(error)}`, { event: event.type, subject: event.subject });
        if (attempt === MAX_ATTEMPTS) return;
        await pause(clock, AGAIN_MS);
      }
    }
  }
}
