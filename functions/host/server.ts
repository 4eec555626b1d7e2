import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
} from 'node:http';
import { eventIn, messageOf } from '../eventing/cloud-events.ts';
import { describeError } from '../kubernetes/errors.ts';
import type { Log } from '../runtime/log.ts';
import { isEvent, type Handle } from './function.ts';

/** Resource mode sends whole objects. A larger one (annotations may take 256 KiB) is left to the guard's watchdog. */
const MAX_BODY_BYTES = 256 * 1024;
/** Any pod may post, with one byte in each chunk: 256 KiB then took 65 MiB. A network's packets are larger by far. */
const MAX_CHUNKS = 1_024;

interface HttpAnswer {
  readonly status: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
}

/**
 * The function host: accepts CloudEvents (binary and structured) at POST / and returns the function's answer. Liveness and
 * readiness succeed as long as the process serves: load is no reason for a restart.
 */
export function newServer(handle: Handle, log: Log): Server {
  const server = createServer((request, response) => {
    answer(request, handle)
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
      });
  });
  return server;
}

async function answer(request: IncomingMessage, handle: Handle): Promise<HttpAnswer> {
  const path = request.url?.split('?')[0];
  if (path === '/health/liveness' || path === '/health/readiness') return { status: 200, body: 'ok' };
  if (path !== '/') return { status: 404 };
  if (request.method !== 'POST') return { status: 405, headers: { allow: 'POST' } };
  const body = await readBody(request);
  if (body === undefined) {
    const limits = `${String(MAX_BODY_BYTES)} bytes, or comes in more than ${String(MAX_CHUNKS)} chunks`;
    return { status: 413, body: `the event is larger than ${limits}` };
  }
  const event = eventIn(request.headers, body);
  if (typeof event === 'string') return { status: 400, body: `no CloudEvent: ${event}` };
  return toHttp(await handle({}, event));
}

/**
 * Returns undefined if the body is too large, or in too many chunks. The rest is read and discarded, so that the sender
 * receives the answer.
 */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  let count = 0;
  const isWithin = (): boolean => size <= MAX_BODY_BYTES && count <= MAX_CHUNKS;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    count += 1;
    if (isWithin()) chunks.push(chunk);
  }
  return isWithin() ? Buffer.concat(chunks).toString('utf8') : undefined;
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

/** Resolves with the port once the server listens on `port` (0: any free one). */
export async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, resolve);
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}
