import https from 'node:https';
import { Agent, STATUS_CODES, type ClientRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Access } from './access.ts';
import { ApiError, Unreachable, type Status } from './errors.ts';

export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query. */
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  /** Ends the request early (watches). */
  readonly signal?: AbortSignal;
  /** How long the server may be silent; by default as Access says. */
  readonly silenceMs?: number;
}

export interface Response {
  readonly message: IncomingMessage;
  readonly date: Date;
}

const SILENCE_MS = 4_000;
/** A proof carries a lock of MAX_LOCKED quotas and migrations, each of up to a kilobyte. */
const MAX_ERROR_BYTES = 256 * 1024;

/** The connection to one API server: keep-alive, credentials, typed errors. It knows no objects. */
export class Transport {
  readonly #access: Access;
  readonly #userAgent: string;
  #agent: Agent | undefined;

  constructor(access: Access, userAgent: string) {
    this.#access = access;
    this.#userAgent = userAgent;
  }

  /** The same user at another API server of this cluster, whose certificate must be good for `servername`. */
  at(server: string, servername: string): Transport {
    const { credentials } = this.#access;
    const access = {
      ...this.#access,
      server: new URL(server),
      credentials: async () => ({ ...(await credentials()), servername }),
    };
    return new Transport(access, this.#userAgent);
  }

  /** Resolves once the response headers are there. Rejects with ApiError for 3xx (never followed), 4xx and 5xx, else with Unreachable. */
  async send(request: Request): Promise<Response> {
    const message = await this.#exchange(request);
    const date = new Date(message.headers.date ?? 0);
    const code = message.statusCode ?? 500;
    if (code < 300) return { message, date };
    const text = await readAll(message, MAX_ERROR_BYTES);
    throw new ApiError(`${request.method} ${request.path}`, { ...toStatus(text, code), code }, date);
  }

  async #exchange(request: Request): Promise<IncomingMessage> {
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const options = await this.#options(request, body);
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown): void =>
        reject(
          new Unreachable(`${request.method} ${request.path}: no answer from the API server`, { cause }),
        );
      const sent = https.request(options, resolve);
      sent.on('timeout', () => destroyIfSilent(sent));
      sent.on('error', fail);
      sent.end(body);
    });
  }

  async #options(request: Request, body: string | undefined): Promise<https.RequestOptions> {
    const { server } = this.#access;
    const credentials = await this.#access.credentials();
    this.#agent ??= newAgent(credentials);
    return {
      method: request.method,
      // An IPv6 address is in brackets only in a URL.
      host: server.hostname.replace(/^\[|\]$/g, ''),
      port: server.port === '' ? 443 : server.port,
      path: `${server.pathname.replace(/\/$/, '')}${request.path}`,
      agent: this.#agent,
      // From the beginning of the connection on; `setTimeout` of a request counts from its end.
      timeout: request.silenceMs ?? this.#access.silenceMs ?? SILENCE_MS,
      ...(request.signal === undefined ? {} : { signal: request.signal }),
      headers: {
        ...(credentials.headers as Record<string, string>),
        accept: 'application/json',
        'user-agent': this.#userAgent,
        ...(body === undefined ? {} : bodyHeaders(body, request.contentType)),
      },
    };
  }
}

/** A process that got no CPU time may have an answer waiting: Node runs expired timers before it reads sockets. */
function destroyIfSilent(sent: ClientRequest): void {
  const bytesRead = sent.socket?.bytesRead;
  setImmediate(() => {
    if (sent.socket?.bytesRead === bytesRead) sent.destroy(new Error('silent for too long'));
    else listenAgain(sent);
  });
}

/** Node listens to one timeout of a request's socket, and the server may be silent after a false one. */
function listenAgain(sent: ClientRequest): void {
  const { socket } = sent;
  if (sent.closed || socket === null) return;
  const onTimeout = (): void => destroyIfSilent(sent);
  socket.once('timeout', onTimeout);
  sent.once('close', () => socket.off('timeout', onTimeout));
}

/** Sets the length too: without it Node sends the body of a DELETE unannounced, and the server answers 400. */
const bodyHeaders = (body: string, contentType = 'application/json'): Record<string, string | number> => ({
  'content-type': contentType,
  'content-length': Buffer.byteLength(body),
});

function newAgent(credentials: https.RequestOptions): Agent {
  if (credentials.agent instanceof Agent) return credentials.agent;
  const { ca, cert, key, lookup, rejectUnauthorized, servername } = credentials;
  return new https.Agent({
    keepAlive: true,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(lookup === undefined ? {} : { lookup }),
    ...(rejectUnauthorized === undefined ? {} : { rejectUnauthorized }),
    ...(servername === undefined ? {} : { servername }),
  });
}

/** Reads the whole response as text; rejects with Unreachable when it breaks off. */
export async function readAll(message: IncomingMessage, maxBytes = Infinity): Promise<string> {
  let size = 0;
  const chunks: Buffer[] = [];
  await eachChunk(message, (chunk) => {
    size += chunk.length;
    if (size <= maxBytes) chunks.push(chunk);
    return true;
  });
  return Buffer.concat(chunks).toString('utf8');
}

/**
 * Reads the whole response; undefined as soon as `mayAllocate` refuses more bytes: the rest is not read. While `mayAllocate` waits, the
 * server waits too.
 */
export async function readWithin(
  message: IncomingMessage,
  mayAllocate: (bytes: number) => boolean | Promise<boolean>,
): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  const isWhole = await eachChunk(message, async (chunk) => {
    if (!(await unsilenced(message, mayAllocate(chunk.length)))) return false;
    chunks.push(chunk);
    return true;
  });
  return isWhole ? Buffer.concat(chunks) : undefined;
}

/** A server that has to wait for us is not silent. */
async function unsilenced<T>(message: IncomingMessage, wait: T | Promise<T>): Promise<T> {
  // After its last bytes it has none: another request may have it.
  const socket = message.socket as Socket | null;
  if (socket === null || !(wait instanceof Promise)) return wait;
  const silenceMs = socket.timeout ?? 0;
  socket.setTimeout(0);
  const result = await wait;
  if (message.socket === socket) socket.setTimeout(silenceMs);
  return result;
}

type Accept = (chunk: Buffer) => boolean | Promise<boolean>;

/** Reads until `accept` returns false; then the connection is dropped. */
async function eachChunk(message: IncomingMessage, accept: Accept): Promise<boolean> {
  try {
    for await (const chunk of message as AsyncIterable<Buffer>) if (!(await accept(chunk))) return false;
  } catch (cause) {
    throw new Unreachable('the answer of the API server broke off', { cause });
  }
  return true;
}

/**
 * What is no metav1.Status is of a proxy, or of any server that a Provider names, and is not shown: it may be secret, or another text each
 * time.
 */
function toStatus(text: string, code: number): Status {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && 'kind' in parsed && parsed.kind === 'Status') {
      return parsed as Status;
    }
  } catch {
    // Not JSON: fall through.
  }
  return { code, message: `HTTP ${String(code)} ${STATUS_CODES[code] ?? ''}`.trim() };
}
