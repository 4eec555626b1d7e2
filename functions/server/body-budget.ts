import type { IncomingMessage } from 'node:http';
import { addressOf } from './fair-turns.ts';

/** Size, in bytes, that almost every body stays below. The larger ones leave a sixth of the budget to the small ones. */
export const SMALL_BYTES = 256 * 1024;
const LARGE_SHARE = 5 / 6;

export interface BudgetOptions {
  /** Maximum memory, in bytes, of all bodies that are being read, wait for their turn, or are in use. */
  readonly maxBytes: number;
  /** Whether the bodies of this address are the last to be dropped: those of an API server. */
  readonly isFirst?: (address: string) => boolean;
}

interface Held {
  readonly address: string;
  bytes: number;
  isInUse: boolean;
}

/**
 * A budget for the bodies of all clients, of bytes that are here: an announced length costs a client nothing. When it is used up, the address
 * that holds most loses its oldest body that is not whole yet, else its largest one that waits. The API server sends its bodies at once, so
 * a slower client is the first, even where both come through one address.
 */
export class BodyBudget {
  readonly #max: number;
  readonly #isFirst: (address: string) => boolean;
  #used = 0;
  /** Bodies by their request, the oldest first. */
  readonly #held = new Map<IncomingMessage, Held>();

  constructor({ maxBytes, isFirst = () => false }: BudgetOptions) {
    this.#max = maxBytes;
    this.#isFirst = isFirst;
  }

  /** Adds to the bytes that this request holds. Returns false if the bodies that cannot be dropped leave too little. */
  take(request: IncomingMessage, bytes: number): boolean {
    const address = addressOf(request);
    const held = this.#held.get(request) ?? { address, bytes: 0, isInUse: false };
    this.#held.set(request, held);
    held.bytes += bytes;
    this.#used += bytes;
    const isSmall = held.bytes <= SMALL_BYTES || this.#isFirst(address);
    const max = isSmall ? this.#max : this.#max * LARGE_SHARE;
    while (this.#used > max) {
      const dropped = this.#toDrop(isSmall ? 0 : SMALL_BYTES);
      if (dropped === undefined) return false;
      this.free(dropped);
      dropped.destroy();
    }
    return this.#held.has(request);
  }

  /** The request's body is at work, and no longer dropped. */
  use(request: IncomingMessage): void {
    const held = this.#held.get(request);
    if (held !== undefined) held.isInUse = true;
  }

  /** Frees everything that this request holds. */
  free(request: IncomingMessage): void {
    this.#used -= this.#held.get(request)?.bytes ?? 0;
    this.#held.delete(request);
  }

  /** Returns the request that loses its body; `above`: bytes that it must hold more than. */
  #toDrop(above: number): IncomingMessage | undefined {
    const droppable = [...this.#held].filter(
      ([{ complete }, { address, bytes, isInUse }]) =>
        !isInUse && bytes > above && !(complete && this.#isFirst(address)),
    );
    const heldBy = new Map<string, number>();
    for (const { address, bytes } of this.#held.values())
      heldBy.set(address, (heldBy.get(address) ?? 0) + bytes);
    const rank = (address: string): number => (this.#isFirst(address) ? 0 : (heldBy.get(address) ?? 0));
    const most = Math.max(...droppable.map(([, { address }]) => rank(address)));
    const ofMost = droppable.filter(([, { address }]) => rank(address) === most);
    const [arriving] = ofMost.find(([{ complete }]) => !complete) ?? [];
    if (arriving !== undefined) return arriving;
    return ofMost.toSorted(([, one], [, other]) => other.bytes - one.bytes)[0]?.[0];
  }
}
