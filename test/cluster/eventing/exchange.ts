import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HeaderLines, Message } from './cloudevent.ts';

export interface Answer extends Message {
  readonly status: number;
}

export interface Post {
  readonly url: string;
  readonly headers: HeaderLines;
  readonly body: Buffer;
  /** Abandons the request. */
  readonly signal?: AbortSignal;
  /** The whole exchange may take this long; left out: for ever. */
  readonly timeoutMs?: number;
}

/** No answer: the connection failed or broke, or the time was over. */
export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  readonly timedOut: boolean;

  constructor(message: string, timedOut: boolean, options?: ErrorOptions) {
    super(message, options);
    this.timedOut = timedOut;
  }
}

const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** Posts `body`; one connection a request, so that a stopped process has no idle ones. Rejects with NoAnswer. */
export async function post(request: Post): Promise<Answer> {
  const deadline = request.timeoutMs === undefined ? [] : [AbortSignal.timeout(request.timeoutMs)];
  const given = request.signal === undefined ? [] : [request.signal];
  try {
    return await exchange(request, AbortSignal.any([...given, ...deadline]));
  } catch (cause) {
    const timedOut = deadline.some((signal) => signal.aborted) && request.signal?.aborted !== true;
    throw new NoAnswer(goText(request.url, cause as NodeJS.ErrnoException, timedOut), timedOut, { cause });
  }
}

async function exchange(request: Post, signal: AbortSignal): Promise<Answer> {
  const lines = [...request.headers, ['Content-Length', String(request.body.length)] as const];
  const headers = Object.fromEntries(lines);
  const answer = await new Promise<http.IncomingMessage>((resolve, reject) => {
    const sent = http.request(request.url, { method: 'POST', agent: false, headers, signal }, resolve);
    sent.on('error', reject);
    sent.end(request.body);
  });
  return { status: answer.statusCode ?? 0, headers: answer.headers, body: await bodyOf(answer) };
}

/** The text of Go's HTTP client, as it is seen in knativeerrordata (test/recorded/broker-dead-letter-connection-refused). */
function goText(url: string, cause: NodeJS.ErrnoException, timedOut: boolean): string {
  const { hostname, port } = new URL(url);
  const why = timedOut
    ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
    : cause.code === 'ECONNREFUSED'
      ? `dial tcp ${hostname}:${port === '' ? '80' : port}: connect: connection refused`
      : cause.message;
  return `Post "${url}": ${why}`;
}

/** The whole body; rejects when it breaks off or is absurdly large. */
export async function bodyOf(message: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error(`a body of more than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export interface Listener {
  /** http://127.0.0.1:port */
  readonly url: string;
  /** Cuts what is open. */
  readonly close: () => Promise<void>;
}

/** Serves on a free port of 127.0.0.1. */
export async function listen(
  handle: (request: http.IncomingMessage, answer: http.ServerResponse) => void,
): Promise<Listener> {
  // A request may be held as long as a cold start or a chain of deliveries takes.
  const server = http.createServer({ requestTimeout: 0 }, handle);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
