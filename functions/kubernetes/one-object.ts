import type { IncomingMessage } from 'node:http';
import { Turns } from '../runtime/turns.ts';
import { parseAnswer, ValueCounter, type Bounds } from './bounds.ts';
import { Unreachable } from './errors.ts';
import { readWithin } from './transport.ts';

/** A shorter answer waits for no other: almost every object is (a VMI has 10 KB). */
const SMALL_BYTES = 64 * 1024;

/** Reads the answers that carry one object, in bounded memory: large ones one after another. */
export class Objects {
  readonly #turns = new Turns();
  readonly #bounds: Bounds;

  constructor(bounds: Bounds) {
    this.#bounds = bounds;
  }

  /** Rejects with Unreachable where the answer is no object, or larger than any that the API server stores. */
  async read<T extends object>(message: IncomingMessage): Promise<T> {
    const { budget, objectBytes, objectValues } = this.#bounds;
    const counter = new ValueCounter(objectValues, this.#bounds);
    let size = 0;
    let end: (() => void) | undefined;
    const waitForTurn = async (): Promise<boolean> => {
      end = await this.#turns.next();
      return true;
    };
    const mayAllocate = (bytes: number): boolean | Promise<boolean> => {
      if (size + bytes > objectBytes) return false;
      budget.take(bytes);
      size += bytes;
      return size <= SMALL_BYTES || end !== undefined || waitForTurn();
    };
    try {
      const body = await readWithin(message, mayAllocate, counter);
      if (body === undefined) throw new Unreachable('one object is larger than any should be');
      const { value, bytes } = parseAnswer<T>(body, counter, budget);
      budget.freeWith(value, bytes);
      return value;
    } finally {
      budget.free(size);
      end?.();
    }
  }
}
