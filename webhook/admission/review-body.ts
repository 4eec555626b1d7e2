import type { IncomingMessage } from 'node:http';
import { Bodies, type BadBody } from '../../functions/server/bodies.ts';
import type { FairTurns } from '../../functions/server/fair-turns.ts';

/** A review's object and oldObject are at most 1.5 MiB each in etcd, and JSON in JSON may double them. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** Memory for bodies, in bytes: the heap's 112 MiB and the container's 256 MiB are never full (config/webhook/deployment.yaml). */
const BUDGET_BYTES = 48 * 1024 * 1024;
/**
 * Maximum number of values in a body, because any pod may post. No object of etcd has so many. The memory of values does not depend on
 * the length of their text.
 */
const MAX_VALUES = 300_000;
/** Bytes of memory for a parsed value: measured with objects of one new key each. */
const VALUE_BYTES = 100;
/** Bytes within which a review says what it is: an encoder writes `kind` and `apiVersion` first. */
const HEAD_BYTES = 512;

/** The bodies of reviews; those of API servers are the last to be dropped. */
export const newReviewBodies = ({ isFirst }: Pick<FairTurns, 'isFirst'>): Bodies =>
  new Bodies({ maxBytes: MAX_BODY_BYTES, budgetBytes: BUDGET_BYTES, isFirst });

/**
 * Parses a body, the cheapest check first: what does not begin as a review gets 400 before its values are counted, and too many values get
 * 413 before they are parsed.
 */
export function parseBody(
  request: IncomingMessage,
  body: Buffer,
  bodies: Bodies,
): { readonly body: unknown } | BadBody {
  if (!body.subarray(0, HEAD_BYTES).includes('AdmissionReview'))
    return { status: 400, line: 'no AdmissionReview' };
  const values = valuesIn(body);
  if (values > MAX_VALUES) return { status: 413, line: 'the body has more values than any object' };
  if (!bodies.use(request, values * VALUE_BYTES))
    return { status: 503, line: 'other bodies use the memory for bodies' };
  try {
    return { body: JSON.parse(body.toString('utf8')) as unknown };
  } catch (error) {
    // A parser's message quotes the body, which may hold any text.
    return { status: 400, line: `the body cannot be read: ${(error as Error).name}` };
  }
}

/** Each value but the first of a list or an object follows one of these. */
const MARKS = /[,[{]/g;
/** Bytes that are counted at a time. */
const PART_BYTES = 256 * 1024;

/**
 * The minimum number of values of a body, or more than MAX_VALUES. The engine's own search takes 10 ms for 140,000 values, and 6 ms for 8 MiB of
 * text; a loop over 8 MiB would take 350 ms, because the guard runs without an optimizing compiler.
 */
function valuesIn(body: Buffer): number {
  let values = 0;
  for (let at = 0; at < body.length && values <= MAX_VALUES; at += PART_BYTES) {
    const part = body.toString('latin1', at, at + PART_BYTES);
    values += part.length - part.replace(MARKS, '').length;
  }
  return values;
}
