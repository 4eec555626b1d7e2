import express, { type Request, type RequestHandler, type Response } from 'express';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { MAX_BODY_BYTES } from '../observability/body-limit.ts';

/** Why a body is not used. */
export interface BadBody {
  readonly status: number;
  readonly line: string;
}

/** Any pod may post. More values than in any object of etcd: their memory does not depend on the length of their text. */
const MAX_VALUES = 600_000;
/** Larger than nearly every review. So few are read at once that their bodies fit in the container. */
const LARGE = { bytes: 256 * 1024, atOnce: 8 } as const;

const raw: RequestHandler = express.raw({ type: 'application/json', limit: MAX_BODY_BYTES, inflate: false });

/** Reads the JSON bodies of one server. */
export class ReviewBodies {
  #large = 0;

  /** The parsed body. One that is too large gets 413, a compressed one 415, and what is no JSON 400. */
  async read(request: Request, response: Response): Promise<{ readonly body: unknown } | BadBody> {
    const isLarge = !(Number(request.headers['content-length']) <= LARGE.bytes);
    if (isLarge && this.#large >= LARGE.atOnce)
      return { status: 503, line: `${String(LARGE.atOnce)} large bodies are being read already` };
    this.#large += isLarge ? 1 : 0;
    try {
      await received(request, response);
      return parsed(request.body);
    } catch (error) {
      // body-parser throws http-errors, which carry the HTTP status.
      const status = error instanceof Error && 'status' in error ? Number(error.status) : 400;
      return { status, line: `the body cannot be read: ${describeError(error)}` };
    } finally {
      this.#large -= isLarge ? 1 : 0;
    }
  }
}

const received = (request: Request, response: Response): Promise<void> =>
  new Promise((resolve, reject) => {
    void raw(request, response, (error?: unknown) => {
      if (error === undefined) resolve();
      else reject(error instanceof Error ? error : new Error('unreadable', { cause: error }));
    });
  });

function parsed(body: unknown): { readonly body: unknown } | BadBody {
  if (!Buffer.isBuffer(body) || body.length === 0) return { body: undefined };
  if (hasTooManyValues(body)) return { status: 413, line: 'the body has more values than any object' };
  try {
    return { body: JSON.parse(body.toString('utf8')) as unknown };
  } catch (error) {
    // A parser's message quotes the body, which may hold any text.
    return { status: 400, line: `the body cannot be read: ${(error as Error).name}` };
  }
}

/** Each value but the first of a list or an object follows one of these. */
const MARKS = [',', '[', '{'] as const;

/** By the search of Node itself: a loop over 8 MiB would take 330 ms without the optimizing compiler. */
function hasTooManyValues(body: Buffer): boolean {
  if (body.length <= MAX_VALUES) return false;
  let values = 0;
  for (const mark of MARKS) {
    for (let at = body.indexOf(mark); at >= 0 && values <= MAX_VALUES; at = body.indexOf(mark, at + 1))
      values += 1;
  }
  return values > MAX_VALUES;
}
