import type { IncomingMessage, OutgoingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import { eventIn, messageOf } from '../eventing/cloud-events.ts';
import { describeError } from '../kubernetes/errors.ts';
import type { Log } from '../runtime/log.ts';
import { Bodies } from '../server/bodies.ts';
import { isEvent, type Handle } from './function.ts';

/** Resource mode sends whole objects. A larger one (annotations may take 256 KiB) is left to the guard's watchdog. */
const MAX_BODY_BYTES = 256 * 1024;
/** A function may use 256 MiB in all (config/serving/container.yaml). */
const BODIES_BYTES = 16 * 1024 * 1024;
/** Milliseconds within which a whole event must be here: a Trigger's delivery gives up after 10 s. */
export const EVENT_MS = 10_000;

interface HttpAnswer {
  readonly status: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
}

/**
 * The function host: accepts CloudEvents (binary and structured) at POST / and returns the function's answer. Liveness and
 * readiness succeed as long as the process serves: load is no reason for a restart.
 */
export function newListener(handle: Handle, log: Log): RequestListener {
  const bodies = new Bodies({ maxBytes: MAX_BODY_BYTES, budgetBytes: BODIES_BYTES });
  return (request, response) => {
    answer(request, response, { handle, bodies })
      .catch((error: unknown): HttpAnswer => {
        log('error', describeError(error));
        return { status: 503 };
      })
      .then((result) => {
        if (result.status === 400 || result.status === 413) log('warn', result.body ?? '');
        send(response, result);
      })
      .catch((error: unknown) => {
        log('error', `the answer was lost: ${describeError(error)}`);
        // A forged event's id may hold a character that is invalid in a header. Without an answer the connection would stay
        // open.
        if (!response.headersSent) send(response, { status: 500 });
      })
      .finally(() => bodies.free(request));
  };
}

interface Serving {
  readonly handle: Handle;
  readonly bodies: Bodies;
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { handle, bodies }: Serving,
): Promise<HttpAnswer> {
  const path = request.url?.split('?')[0];
  if (path === '/health/liveness' || path === '/health/readiness') return { status: 200, body: 'ok' };
  if (path !== '/') return { status: 404 };
  if (request.method !== 'POST') return { status: 405, headers: { allow: 'POST' } };
  const body = await bodies.read(request, response);
  if (!Buffer.isBuffer(body)) return { status: body.status, body: body.line };
  const event = eventIn(request.headers, body.toString('utf8'));
  if (typeof event === 'string') return { status: 400, body: `no CloudEvent: ${event}` };
  return toHttp(await handle({}, event));
}

function toHttp(result: Awaited<ReturnType<Handle>>): HttpAnswer {
  if (result === undefined) return { status: 204 };
  return isEvent(result)
    ? { status: 200, ...messageOf(result) }
    : { status: result.statusCode, body: result.body };
}

function send(response: ServerResponse, { status, headers, body }: HttpAnswer): void {
  // All headers or none: writeHead checks each of them before it keeps any.
  response.writeHead(status, headers);
  response.end(body);
}
