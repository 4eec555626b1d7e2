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

/** Posts the newest event of each object, one at a time: its receiver reads the object again anyway. */
export class LatestPosts {
  readonly #options: LatestPostsOptions;
  readonly #waiting = new Map<string, ReadyEvent>();
  readonly #posting = new Set<string>();

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
    for (let event = this.#take(key); event !== undefined; event = this.#take(key))
      await this.#post(key, event);
    this.#posting.delete(key);
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
