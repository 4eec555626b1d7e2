import type { IncomingMessage, ServerResponse } from 'node:http';
import { CloudEvent, HTTP } from 'cloudevents';
import { Bodies } from '../functions/server/bodies.ts';
import { serve as serveHttp, type Serving } from '../functions/server/serve.ts';

/** Takes an event; resolves with the next one, or none. The Broker sends it again after any error but BadEvent. */
export type Handle = (event: CloudEvent<unknown>) => Promise<CloudEvent<unknown> | undefined>;

/** An event that is never sent again: this function cannot use it. */
export class BadEvent extends Error {}

/** An event may have 256 KiB, and all that are here together 16 MiB. */
const bodies = new Bodies({ maxBytes: 256 * 1024, budgetBytes: 16 * 1024 * 1024 });
const REQUEST_MS = 10_000;

/** Serves events at `POST /`, as the Broker sends them, and health at `GET`; with the bounds that the functions have. */
export async function serve(handle: Handle, port: number): Promise<Serving> {
  const serving = await serveHttp({
    listener: (request, response) => {
      respond(request, response, handle)
        .catch((error: unknown) => {
          const why = error instanceof Error ? error.message : String(error);
          log(why);
          response.writeHead(error instanceof BadEvent ? 400 : 503).end(`${why}\n`);
        })
        .finally(() => bodies.free(request));
    },
    port,
    requestMs: REQUEST_MS,
  });
  process.once('SIGTERM', () => void serving.close());
  return serving;
}

async function respond(request: IncomingMessage, response: ServerResponse, handle: Handle): Promise<void> {
  if (request.method !== 'POST') {
    response.end('ok\n');
    return;
  }
  const body = await bodies.read(request, response);
  if (!Buffer.isBuffer(body)) throw new BadEvent(body.line);
  const next = await handle(eventOf(request, body.toString('utf8')));
  // The Broker takes any other 2xx answer with a body for a failure.
  if (next === undefined) {
    response.writeHead(204).end();
    return;
  }
  const answer = HTTP.binary(next);
  response.writeHead(200, answer.headers as Record<string, string>).end(answer.body);
}

function eventOf({ headers }: IncomingMessage, body: string): CloudEvent<unknown> {
  try {
    const parsed = HTTP.toEvent({ headers, body });
    if (!Array.isArray(parsed)) return new CloudEvent<unknown>(parsed);
  } catch (error) {
    throw new BadEvent('no CloudEvent', { cause: error });
  }
  throw new BadEvent('a batch');
}

export function log(message: string): void {
  process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), message })}\n`);
}
