import type { IncomingMessage } from 'node:http';

/**
 * What all bodies that are being read or reviewed may use of the memory, in bytes. With it, the heap's 112 MiB and the container's
 * 256 MiB are never full (config/webhook/deployment.yaml).
 */
const MAX_BYTES = 48 * 1024 * 1024;

/**
 * One budget for the bodies of all clients, of bytes that are here: an announced length costs a client nothing. When it is used up,
 * the oldest body that is not whole yet is dropped. The API server sends its bodies at once, so a slower client is the first.
 */
export class BodyBudget {
  readonly #max: number;
  #used = 0;
  /** The oldest first. */
  readonly #held = new Map<IncomingMessage, number>();

  constructor(max = MAX_BYTES) {
    this.#max = max;
  }

  /** Adds to what this request holds. False: only whole bodies are left, and they leave too little. */
  take(request: IncomingMessage, bytes: number): boolean {
    this.#held.set(request, (this.#held.get(request) ?? 0) + bytes);
    this.#used += bytes;
    for (const held of this.#held.keys()) {
      if (this.#used <= this.#max) break;
      if (held.complete) continue;
      this.free(held);
      held.destroy();
    }
    return this.#used <= this.#max;
  }

  /** Everything that this request holds. */
  free(request: IncomingMessage): void {
    this.#used -= this.#held.get(request) ?? 0;
    this.#held.delete(request);
  }
}
