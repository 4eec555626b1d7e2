import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { CloudEvent, HTTP } from 'cloudevents';

/** Takes an event; resolves with the next one, or none. The Broker sends it again after any error but BadEvent. */
export type Handle = (event: CloudEvent<unknown>) => Promise<CloudEvent<unknown> | undefined>;

/** An event that is never sent again: this function cannot use it. */
export class BadEvent extends Error {}

const MAX_BYTES = 256 * 1024;

/** Serves events at `POST /`, as the Broker sends them, and health at `GET`. */
export function serve(handle: Handle, port: number): Server {
  const server = createServer((request, response) => {
    respond(request, response, handle).catch((error: unknown) => {
      const why = error instanceof Error ? error.message : String(error);
      log(why);
      response.writeHead(error instanceof BadEvent ? 400 : 503).end(`${why}\n`);
    });
  });
  process.once('SIGTERM', () => void server.close());
  return server.listen(port);
}

async function respond(request: IncomingMessage, response: ServerResponse, handle: Handle): Promise<void> {
  if (request.method !== 'POST') {
    response.end('ok\n');
    return;
  }
  const next = await handle(eventOf(request, await bodyOf(request)));
  // The Broker takes any other 2xx answer with a body for a failure.
  if (next === undefined) {
    response.writeHead(204).end();
    return;
  }
  const { headers, body } = HTTP.binary(next);
  response.writeHead(200, headers as Record<string, string>).end(body);
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8') as AsyncIterable<string>) {
    text += chunk;
    if (text.length > MAX_BYTES) throw new BadEvent('the event is too large');
  }
  return text;
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
