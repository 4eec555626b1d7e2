import type { IncomingMessage } from 'node:http';
import { Turns } from '../runtime/turns.ts';
import { TooMuch, Unreachable } from './errors.ts';
import { readWithin } from './transport.ts';

/** What the API server has stored as 1.5 MiB may be six times that as JSON ("<" is sent as "\\u003c"). */
export const OBJECT_BYTES = 16 * 1024 * 1024;
/** A shorter answer waits for no other: almost every object is (a VMI has 10 KB). */
const SMALL_BYTES = 64 * 1024;

/** Reads the answers that carry one object, in bounded memory: large ones one after another. */
export class Objects {
  readonly #turns = new Turns();

  /** Rejects with TooMuch where the object is larger than any that the API server stores. */
  async read<T>(message: IncomingMessage): Promise<T> {
    let size = 0;
    let end: (() => void) | undefined;
    const waitForTurn = async (): Promise<boolean> => {
      end = await this.#turns.next();
      return true;
    };
    const mayAllocate = (bytes: number): boolean | Promise<boolean> => {
      size += bytes;
      if (size > OBJECT_BYTES) return false;
      return size <= SMALL_BYTES || end !== undefined || waitForTurn();
    };
    try {
      const body = await readWithin(message, mayAllocate);
      if (body === undefined) throw new TooMuch('one object is larger than any should be');
      return parseAnswer<T>(body.toString('utf8'));
    } finally {
      end?.();
    }
  }
}

/** Rejects with Unreachable where it is no JSON. The error of the parser would show a part of it. */
export function parseAnswer<T>(text: string): T {
  try {
    return JSON.parse(text) as T;
  } catch {
    throw new Unreachable('the answer is not JSON, so not of an API server');
  }
}
