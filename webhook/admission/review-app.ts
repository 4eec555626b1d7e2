import { setTimeout as after } from 'node:timers/promises';
import express, { type Express, type Request, type Response } from 'express';
import { SERVICE_ACCOUNT, userOf } from '../../functions/domain/names.ts';
import { systemClock } from '../../functions/runtime/clock.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import type { Log } from '../../functions/runtime/log.ts';
import type { BadBody } from '../../functions/server/bodies.ts';
import {
  type AdmissionRequest,
  type Decision,
  type Denial,
  parseReview,
  toResponse,
  toReview,
} from './admission.ts';
import { REFUSAL } from './messages.ts';
import { addressOf, type FairTurns } from '../../functions/server/fair-turns.ts';
import { newReviewBodies, parseBody } from './review-body.ts';
import type { Reviewed } from '../observability/metrics.ts';

export interface ReviewOptions {
  /** Decides on the request that came from this address. The app refuses the request when this rejects or takes too long. */
  readonly review: (request: AdmissionRequest, from: string) => Promise<Decision>;
  readonly log: Log;
  /** The turns of all requests to this process. */
  readonly turns: FairTurns;
  /** Maximum duration of `review`, in milliseconds. */
  readonly deadlineMs?: number;
  /** The app calls this after every answered review, for the metrics. */
  readonly onReviewed?: (reviewed: Reviewed) => void;
}

/** Timeout of a review, less than the webhooks' timeoutSeconds of 3, so that the client gets our message and not the API server's. */
export const DEADLINE_MS = 2_500;

/**
 * POST /review takes an AdmissionReview and returns it with our response. Any other body gets 400 (too large: 413,
 * compressed: 415) and one line; the API server then refuses by failurePolicy Fail. The app logs each refusal in one line.
 */
export function reviewApp(options: ReviewOptions): Express {
  const app = express();
  const bodies = newReviewBodies(options.turns);
  const answer = async (request: Request, response: Response, body: Buffer | BadBody): Promise<void> => {
    const read = Buffer.isBuffer(body) ? parseBody(request, body, bodies) : body;
    const parsed = 'status' in read ? read : parseReview(read.body);
    if (typeof parsed === 'string' || 'status' in parsed) {
      const { status, line } = typeof parsed === 'string' ? { status: 400, line: parsed } : parsed;
      options.log('warn', 'not a review', { status, why: line });
      response.status(status).type('text/plain').send(`${line}\n`);
      return;
    }
    response.json(toReview(toResponse(parsed.uid, await decide(parsed, addressOf(request), options))));
  };
  app.disable('x-powered-by');
  app.disable('etag');
  app.post('/review', async (request, response) => {
    try {
      const body = await bodies.read(request, response);
      const end = await options.turns.take(response);
      if (end === undefined) return;
      try {
        await answer(request, response, body);
      } finally {
        end();
      }
    } finally {
      bodies.free(request);
    }
  });
  app.use((_, response) => {
    response.status(404).type('text/plain').send('only POST /review is served here\n');
  });
  return app;
}

/** Decides on the request. Never rejects: every error becomes a refusal. */
async function decide(request: AdmissionRequest, from: string, options: ReviewOptions): Promise<Decision> {
  let decision: Decision = unavailable(request);
  let failure: string | undefined;
  const startedAt = systemClock.elapsed();
  try {
    decision = await inTime(options.review(request, from), options.deadlineMs ?? DEADLINE_MS);
  } catch (error) {
    failure = describeError(error);
  }
  options.onReviewed?.({
    resource: request.resource.resource,
    outcome: failure === undefined ? outcomeOf(decision) : 'failed',
    seconds: (systemClock.elapsed() - startedAt) / 1_000,
  });
  if (!decision.allowed) logDenial(options.log, { request, denial: decision, failure });
  return decision;
}

const outcomeOf = ({ allowed }: Decision): 'allowed' | 'refused' => (allowed ? 'allowed' : 'refused');

async function inTime<T>(work: Promise<T>, milliseconds: number): Promise<T> {
  const answered = new AbortController();
  const late = after(milliseconds, undefined, { signal: answered.signal }).then(() => {
    throw new Error(`no decision after ${milliseconds} ms`);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    answered.abort();
  }
}

const unavailable = ({ namespace = '(none)', operation, resource }: AdmissionRequest): Denial => ({
  allowed: false,
  code: 503,
  reason: 'ServiceUnavailable',
  message: REFUSAL.unavailable.text({ operation, resource: resource.resource, namespace }),
});

interface DeniedReview {
  readonly request: AdmissionRequest;
  readonly denial: Denial;
  readonly failure: string | undefined;
}

/** Logs the request and its user, never the objects: their content is arbitrary. */
function logDenial(log: Log, { request, denial, failure }: DeniedReview): void {
  const { uid, operation, resource, subResource, namespace, name, dryRun } = request;
  // A refusal is what `raise` asks for, at each API server in each cycle.
  const isProof = dryRun && request.userInfo.username === userOf(SERVICE_ACCOUNT.raise);
  const refusedAs = isProof ? 'debug' : 'info';
  log(failure === undefined ? refusedAs : 'error', 'refused', {
    namespace,
    uid,
    operation,
    resource: [resource.resource, subResource].filter((part) => part !== undefined && part !== '').join('/'),
    name,
    user: request.userInfo.username,
    dryRun,
    code: denial.code,
    reason: denial.reason,
    why: denial.message,
    failure,
  });
}
