import https from 'node:https';
import { Agent, STATUS_CODES, type ClientRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Access } from './access.ts';
import { OWN_BOUNDS, type Bounds, type ValueCounter } from './bounds.ts';
import { ApiError, NoAnswer, shortStatus, Unreachable, type Status } from './errors.ts';

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
  /** Milliseconds for the whole answer; by default as long as for one object. */
  readonly answerMs?: number;
  /** Whether the answer has no end (watches): the time counts until it begins. */
  readonly isEndless?: boolean;
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

  get bounds(): Bounds {
    return this.#access.bounds ?? OWN_BOUNDS;
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

  /**
   * Resolves once the response headers are there. Rejects with ApiError for 3xx (never followed), 4xx and 5xx, else with Unreachable, and
   * so for what is of no API server where a tenant names the server.
   */
  async send(request: Request): Promise<Response> {
    const message = await this.#exchange(request);
    const { isNamedByTenant } = this.bounds;
    const date = new Date(message.headers.date ?? 0);
    if (Number.isNaN(date.getTime())) {
      message.destroy();
      throw new Unreachable('the answer has no date');
    }
    const code = message.statusCode ?? 500;
    if (code < 300) return { message, date };
    const status = toStatus(await readAll(message, MAX_ERROR_BYTES));
    // The API server has no Status for a kind that it does not serve.
    if (isNamedByTenant && status === undefined && code !== 404)
      throw new Unreachable(`the answer ${String(code)} is not of an API server`);
    throw new ApiError(`${request.method} ${request.path}`, this.#shown(status, code), date);
  }

  /**
   * Returns the Status with its code. What is none is of a proxy, or of any server that a Provider names, and is not shown: it may be
   * secret, or another text each time.
   */
  #shown(status: Status | undefined, code: number): Status {
    const { errorText, isNamedByTenant } = this.bounds;
    if (status === undefined)
      return { code, message: `HTTP ${String(code)} ${STATUS_CODES[code] ?? ''}`.trim() };
    return { ...(isNamedByTenant ? shortStatus(status, errorText) : status), code };
  }

  async #exchange(request: Request): Promise<IncomingMessage> {
    const body = request.body === undefined ? undefined : JSON.stringify(request.body);
    const options = await this.#options(request, body);
    return new Promise((resolve, reject) => {
      const fail = (cause: unknown): void =>
        reject(new NoAnswer(`${request.method} ${request.path}: no answer from the API server`, { cause }));
      const sent = https.request(options);
      const endTime = limitTime(sent, request.answerMs ?? this.bounds.objectMs);
      sent.on('response', (message) => {
        if (request.isEndless === true) endTime();
        resolve(message);
      });
      sent.on('timeout', () => destroyIfSilent(sent));
      sent.on('error', fail);
      // After an answer this changes nothing; without one, such as an upgrade, Node has no error.
      sent.on('close', () => fail(new Error('closed')));
      let before = 0;
      sent.on('information', () => {
        before += 1;
        if (before > MAX_INFORMATION) sent.destroy(new Error('too many answers before the answer'));
      });
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

/** Answers 1xx before the answer: the API server sends none. */
const MAX_INFORMATION = 10;
const TICK_MS = 500;

/** Destroys a request whose answer takes too long. Counts ticks, because a process that got no CPU time has not waited. Returns its end. */
function limitTime(sent: ClientRequest, ms: number): () => void {
  if (ms === Infinity) return () => undefined;
  let left = Math.ceil(ms / TICK_MS);
  const timer = setInterval(() => {
    left -= 1;
    if (left <= 0) sent.destroy(new Error('the answer takes too long'));
  }, TICK_MS);
  const end = (): void => clearInterval(timer);
  sent.once('close', end);
  return end;
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

/** Reads the response as text, up to so many bytes: the rest is not read. Rejects with Unreachable when it breaks off. */
export async function readAll(message: IncomingMessage, maxBytes = Infinity): Promise<string> {
  let size = 0;
  const chunks: Buffer[] = [];
  await eachChunk(message, (chunk) => {
    size += chunk.length;
    if (size <= maxBytes) chunks.push(chunk);
    return size <= maxBytes;
  });
  return Buffer.concat(chunks).toString('utf8');
}

/** Bytes of memory of a piece of an answer beside its text: a server may send one byte at a time. */
export const CHUNK_BYTES = 128;

/**
 * Reads the whole response; undefined as soon as `mayAllocate` refuses more bytes: the rest is not read. While `mayAllocate` waits, the
 * server waits too. Rejects with TooManyValues as soon as the counter throws it.
 */
export async function readWithin(
  message: IncomingMessage,
  mayAllocate: (bytes: number) => boolean | Promise<boolean>,
  counter: ValueCounter,
): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  const isWhole = await eachChunk(message, async (chunk) => {
    counter.add(chunk);
    if (!(await unsilenced(message, mayAllocate(chunk.length + CHUNK_BYTES)))) return false;
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

/** Bytes that are received beside the text of an answer, and as often as it again: TLS and HTTP add to each piece. */
const MAX_BESIDE = 64 * 1024;

/** The pieces of an answer. Throws Unreachable where they are so small that most is not text: a piece costs time, whatever is in it. */
export async function* chunksOf(message: IncomingMessage): AsyncIterable<Buffer> {
  const { socket } = message;
  const before = socket.bytesRead;
  let size = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (socket.bytesRead - before > 2 * size + MAX_BESIDE)
      throw new Unreachable('the answer has little text');
    yield chunk;
  }
}

type Accept = (chunk: Buffer) => boolean | Promise<boolean>;

/** Reads until `accept` returns false; then the connection is dropped. */
async function eachChunk(message: IncomingMessage, accept: Accept): Promise<boolean> {
  try {
    for await (const chunk of chunksOf(message)) if (!(await accept(chunk))) return false;
  } catch (cause) {
    if (cause instanceof Unreachable) throw cause;
    throw new Unreachable('the answer of the API server broke off', { cause });
  }
  return true;
}

/** Returns undefined for what is no metav1.Status. */
function toStatus(text: string): Status | undefined {
  try {
    const parsed: unknown = JSON.parse(text);
    const isStatus =
      typeof parsed === 'object' && parsed !== null && 'kind' in parsed && parsed.kind === 'Status';
    return isStatus ? (parsed as Status) : undefined;
  } catch {
    return undefined;
  }
}
