import type { IncomingMessage, ServerResponse } from 'node:http';
import { BodyBudget, SMALL_BYTES, type BudgetOptions } from './body-budget.ts';
import { FairTurns } from './fair-turns.ts';

/** The reason why a body is not used. */
export interface BadBody {
  /** HTTP status. */
  readonly status: number;
  readonly line: string;
}

export interface BodyOptions extends Omit<BudgetOptions, 'maxBytes'> {
  /** Maximum length of one body, in bytes. */
  readonly maxBytes: number;
  /** See BodyBudget. */
  readonly budgetBytes: number;
}

/** The bodies above SMALL_BYTES that are read at a time: the thread would read megabytes of each before it answers anybody. */
const LARGE = { max: 4, maxOfAddress: 1 } as const;
/** Bytes of memory for a part of a body, beside its text: a client may send one byte in each. */
const PART_BYTES = 300;
/** Bytes that are not used, and are read all the same. */
const MAX_DISCARDED = 1024 * 1024;

/** Reads the bodies of one server. */
export class Bodies {
  readonly #maxBytes: number;
  readonly #budget: BodyBudget;
  readonly #large: FairTurns;

  constructor({ maxBytes, budgetBytes, ...options }: BodyOptions) {
    this.#maxBytes = maxBytes;
    this.#large = new FairTurns({ ...options, ...LARGE });
    this.#budget = new BodyBudget({ ...options, maxBytes: budgetBytes });
  }

  /**
   * Reads the whole body, which counts until `free`. One that is too large gets 413, a compressed one 415, one that breaks off 400, and one
   * that the memory for bodies is too small for loses its connection. What is not used is discarded first, so that the sender receives the answer.
   */
  async read(request: IncomingMessage, response: ServerResponse): Promise<Buffer | BadBody> {
    const isCompressed = (request.headers['content-encoding'] ?? 'identity') !== 'identity';
    const maxBytes = isCompressed ? 0 : this.#maxBytes;
    const received = await this.#receive(request, response, maxBytes);
    if (received === undefined) return { status: 400, line: 'the body broke off' };
    if (isCompressed) return { status: 415, line: 'the body is compressed' };
    if (received.size <= maxBytes) return Buffer.concat(received.parts);
    return { status: 413, line: `the body is larger than ${String(maxBytes)} bytes` };
  }

  /** Returns undefined if the body breaks off. A body of more than `maxBytes` has no parts. */
  async #receive(
    request: IncomingMessage,
    response: ServerResponse,
    maxBytes: number,
  ): Promise<{ readonly size: number; readonly parts: readonly Buffer[] } | undefined> {
    const parts: Buffer[] = [];
    let size = 0;
    let endTurn: (() => void) | undefined;
    const add = (part: Buffer): void => {
      size += part.length;
      if (size <= maxBytes) {
        parts.push(part);
        if (!this.#budget.take(request, part.length + PART_BYTES)) request.destroy();
        return;
      }
      parts.length = 0;
      this.#budget.free(request);
      if (size > maxBytes + MAX_DISCARDED) request.destroy();
    };
    try {
      for await (const part of request as AsyncIterable<Buffer>) {
        add(part);
        if (size > SMALL_BYTES) endTurn ??= await this.#large.take(response);
      }
      return { size, parts };
    } catch {
      return undefined;
    } finally {
      endTurn?.();
    }
  }

  /** The body is at work. `bytes`: what it takes in addition, parsed. Returns false if the memory for bodies is too small. */
  use(request: IncomingMessage, bytes: number): boolean {
    this.#budget.use(request);
    return this.#budget.take(request, bytes);
  }

  /** Frees the body, which is no longer needed. */
  free(request: IncomingMessage): void {
    this.#budget.free(request);
  }
}

/**
 * Reads and drops a body that is not needed, so that its connection can be kept. The rest of a longer one is not read: the server's time for a
 * whole request ends its connection, after the answer.
 */
export function discardBody(request: IncomingMessage): void {
  let bytes = 0;
  request.on('data', (part: Buffer) => {
    bytes += part.length + PART_BYTES;
    if (bytes > MAX_DISCARDED) request.pause();
  });
}
