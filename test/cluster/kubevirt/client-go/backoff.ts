const FIRST_MS = 5;
const MAX_MS = 1_000_000;
const BUCKET = 100;
const REFILL_MS = 100;

/**
 * client-go's default controller rate limiter: per key 5 ms, doubling to 1000 s; for all keys together 100 at once and
 * 10 a second after that; the longer delay counts.
 */
export class Backoff {
  readonly #firstMs: number;
  readonly #failures = new Map<string, number>();
  #tokens = BUCKET;
  #countedAt = 0;

  /** `firstMs`: client-go's when left out. */
  constructor(firstMs = FIRST_MS) {
    this.#firstMs = firstMs;
  }

  /** The delay in milliseconds before a failed key may be tried again. */
  next(key: string, nowMs: number): number {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    return Math.max(Math.min(this.#firstMs * 2 ** failures, MAX_MS), this.#takeToken(nowMs));
  }

  /** The key was worked without failure. */
  forget(key: string): void {
    this.#failures.delete(key);
  }

  #takeToken(nowMs: number): number {
    this.#tokens = Math.min(BUCKET, this.#tokens + (nowMs - this.#countedAt) / REFILL_MS);
    this.#countedAt = nowMs;
    this.#tokens -= 1;
    return this.#tokens >= 0 ? 0 : -this.#tokens * REFILL_MS;
  }
}
