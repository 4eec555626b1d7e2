import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { CloudEvent, HTTP, type Headers } from 'cloudevents';
import { describeError } from '../kubernetes/errors.ts';
import type { Log } from '../runtime/log.ts';
import type { Handle } from './function.ts';

/** Resource mode sends whole objects: up to etcd's 1.5 MiB and what JSON adds. */
const MAX_BODY_BYTES = 2 * 1024 * 1024;

interface HttpAnswer {
  readonly status: number;
  readonly headers?: Headers;
  readonly body?: string;
}

/**
 * The function host: CloudEvents in (binary and structured) at POST /, the function's answer out, health beside it.
 * Liveness and readiness answer as long as the process serves: a busy moment is no reason to be killed.
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
      .catch((error: unknown) => log('error', `the answer was lost: ${describeError(error)}`));
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
    return { status: 413, body: `the event is larger than ${String(MAX_BODY_BYTES)} bytes` };
  }
  const event = parseEvent(request, body);
  if (!(event instanceof CloudEvent)) return { status: 400, body: `no CloudEvent: ${event}` };
  return toHttp(await handle({}, event));
}

/** undefined: too large; the rest is read and thrown away, so that the sender gets to see the answer. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size <= MAX_BODY_BYTES) chunks.push(chunk);
  }
  return size > MAX_BODY_BYTES ? undefined : Buffer.concat(chunks).toString('utf8');
}

/** The event, or why there is none. */
function parseEvent(request: IncomingMessage, body: string): CloudEvent<unknown> | string {
  try {
    const parsed = HTTP.toEvent({ headers: request.headers, body });
    if (Array.isArray(parsed)) return 'a batch';
    // The SDK reads whatever comes; only now does it say what is missing. (Of other versions it says nothing.)
    const event = new CloudEvent<unknown>(parsed, false);
    return event.validate() ? event : `specversion ${event.specversion}`;
  } catch (error) {
    return describeError(error);
  }
}

function toHttp(result: Awaited<ReturnType<Handle>>): HttpAnswer {
  if (result === undefined) return { status: 204 };
  if (!(result instanceof CloudEvent)) return { status: result.statusCode, body: result.body };
  const { headers, body } = HTTP.binary(result);
  return { status: 200, headers, body: body as string };
}

function send(response: ServerResponse, { status, headers, body }: HttpAnswer): void {
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (value !== undefined) response.setHeader(name, value);
  }
  response.statusCode = status;
  response.end(body);
}

/** Resolves once it listens on `port` (0: any free one); answers the port. */
export async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, resolve);
  });
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : port;
}
