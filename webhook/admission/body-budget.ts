import type { IncomingMessage } from 'node:http';

/**
 * Maximum memory, in bytes, of all bodies that are being read or reviewed. With it, the heap's 112 MiB and the container's 256 MiB are
 * never full (config/webhook/deployment.yaml).
 */
const MAX_BYTES = 48 * 1024 * 1024;
/** Size, in bytes, that almost every review stays below. The larger ones leave a sixth of the budget to the small ones. */
const SMALL_BYTES = 256 * 1024;
const LARGE_SHARE = 5 / 6;

/**
 * A budget for the bodies of all clients, of bytes that are here: an announced length costs a client nothing. When it is used up, the
 * oldest body that is not whole yet is dropped. The API server sends its bodies at once, so a slower client is the first.
 */
export class BodyBudget {
  readonly #max: number;
  #used = 0;
  /** Bytes of the bodies above SMALL_BYTES. */
  #large = 0;
  /** Bytes by request, the oldest first. */
  readonly #held = new Map<IncomingMessage, number>();

  constructor(max = MAX_BYTES) {
    this.#max = max;
  }

  /** Adds to the bytes that this request holds. Returns false if only whole bodies are left, and they leave too little. */
  take(request: IncomingMessage, bytes: number): boolean {
    const before = this.#held.get(request) ?? 0;
    const size = before + bytes;
    this.#held.set(request, size);
    this.#used += bytes;
    this.#large += largeOf(size) - largeOf(before);
    for (const [held, its] of this.#held) {
      if (!this.#isFull && !this.#isShareFull) break;
      if (held.complete || (!this.#isFull && its <= SMALL_BYTES)) continue;
      this.free(held);
      held.destroy();
    }
    return !this.#isFull && (size <= SMALL_BYTES || !this.#isShareFull);
  }

  /** Frees everything that this request holds. */
  free(request: IncomingMessage): void {
    const size = this.#held.get(request) ?? 0;
    this.#used -= size;
    this.#large -= largeOf(size);
    this.#held.delete(request);
  }

  get #isFull(): boolean {
    return this.#used > this.#max;
  }

  get #isShareFull(): boolean {
    return this.#large > this.#max * LARGE_SHARE;
  }
}

const largeOf = (size: number): number => (size > SMALL_BYTES ? size : 0);
