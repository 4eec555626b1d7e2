import express, { type Request, type RequestHandler, type Response } from 'express';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { MAX_BODY_BYTES } from '../observability/body-limit.ts';
import { BodyBudget } from './body-budget.ts';

/** The reason why a body is not used. */
export interface BadBody {
  readonly status: number;
  readonly line: string;
}

/**
 * Maximum number of values in a body, because any pod may post. No object of etcd has so many. The memory of values does not depend on
 * the length of their text.
 */
const MAX_VALUES = 300_000;
/** Bytes of memory for a parsed value: measured with objects of one new key each. */
const VALUE_BYTES = 100;
/** Bytes of memory for a part of a body, beside its text: a client may send one byte in each. */
const PART_BYTES = 300;

const raw: RequestHandler = express.raw({ type: 'application/json', limit: MAX_BODY_BYTES, inflate: false });

/** Reads the JSON bodies of one server. */
export class ReviewBodies {
  readonly #budget: BodyBudget;

  constructor(budget = new BodyBudget()) {
    this.#budget = budget;
  }

  /**
   * Reads and parses the body. A body that is too large gets 413, a compressed one 415, and a body that is no JSON 400. It counts
   * until `answered`.
   */
  async read(request: Request, response: Response): Promise<{ readonly body: unknown } | BadBody> {
    const weigh = (chunk: Buffer): void => void this.#budget.take(request, chunk.length + PART_BYTES);
    request.on('data', weigh);
    try {
      await received(request, response);
      return this.#parsed(request);
    } catch (error) {
      // body-parser throws http-errors, which carry the HTTP status.
      const status = error instanceof Error && 'status' in error ? Number(error.status) : 400;
      return { status, line: `the body cannot be read: ${describeError(error)}` };
    } finally {
      // The rest of a body that is not read is discarded.
      request.off('data', weigh);
    }
  }

  /** Frees the body, which is no longer needed. */
  answered(request: Request): void {
    this.#budget.free(request);
  }

  #parsed(request: Request): { readonly body: unknown } | BadBody {
    const body: unknown = request.body;
    // Otherwise an idle connection would keep it.
    request.body = undefined;
    if (!Buffer.isBuffer(body) || body.length === 0) return { body: undefined };
    const values = valuesIn(body);
    if (values > MAX_VALUES) return { status: 413, line: 'the body has more values than any object' };
    if (!this.#budget.take(request, body.length + values * VALUE_BYTES))
      return { status: 503, line: 'other bodies use the memory for bodies' };
    return parsed(body);
  }
}

const received = (request: Request, response: Response): Promise<void> =>
  new Promise((resolve, reject) => {
    void raw(request, response, (error?: unknown) => {
      if (error === undefined) resolve();
      else reject(error instanceof Error ? error : new Error('unreadable', { cause: error }));
    });
  });

function parsed(body: Buffer): { readonly body: unknown } | BadBody {
  try {
    return { body: JSON.parse(body.toString('utf8')) as unknown };
  } catch (error) {
    // A parser's message quotes the body, which may hold any text.
    return { status: 400, line: `the body cannot be read: ${(error as Error).name}` };
  }
}

/** Each value but the first of a list or an object follows one of these. */
const MARKS = [',', '[', '{'] as const;

/** The minimum number of values of a body, or more than MAX_VALUES. It uses Node's own search: a loop over 8 MiB would take 330 ms. */
function valuesIn(body: Buffer): number {
  let values = 0;
  for (const mark of MARKS) {
    for (let at = body.indexOf(mark); at >= 0 && values <= MAX_VALUES; at = body.indexOf(mark, at + 1))
      values += 1;
  }
  return values;
}
