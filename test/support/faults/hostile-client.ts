/**
 * A process of its own, as a hostile pod is: `hostile-client.ts PORT SHAPE CONNECTIONS PER_SECOND`. It sends requests of the shape until it is
 * stopped: each connection one after the other, PER_SECOND in all (0: as fast as answers come).
 */
import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';

/** The client's address: not the API server's. */
const LOCAL = '127.0.0.2';
const MIB = 1024 * 1024;

/** An AdmissionReview of a new pod, as the API server writes it. */
export const reviewOf = (object: string, namespace = 'hostile'): string =>
  `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","kind":{"group":"","version":"v1",` +
  `"kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},"name":"x","namespace":"${namespace}",` +
  `"operation":"CREATE","userInfo":{"username":"system:serviceaccount:kubevirt:kubevirt-controller","groups":[]},` +
  `"object":${object},"oldObject":null}}`;

interface Shape {
  readonly method?: string;
  readonly path: string;
  readonly body?: string;
  /** The body is not ended. */
  readonly isUnfinished?: boolean;
  /** The body is sent again and again, as long as the connection is open. */
  readonly isEndless?: boolean;
  /** A new connection for each request. */
  readonly isNew?: boolean;
  /** Requests without a body are sent one after the other, as long as the connection is open, and no answer is waited for. */
  readonly isPipelined?: boolean;
  /** The body comes in chunks of one byte, without an end. */
  readonly isScattered?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

const POST = { method: 'POST', path: '/review' } as const;
const ELSEWHERE = { method: 'POST', path: '/elsewhere', isEndless: true, body: 'x'.repeat(MIB) } as const;
const LETTER = { method: 'POST', path: '/dead-letter', headers: { 'ce-type': 'x'.repeat(8_000) } } as const;

/** As many headers as Node takes, but for those that a client adds. */
const MANY_HEADERS = Object.fromEntries(
  Array.from({ length: 1_900 }, (_, index) => [`x${index.toString(36)}`, '']),
);
const PROBE = { path: '/health/liveness' } as const;
const OF_PROBES = {
  'pipelined probes': { ...PROBE, isPipelined: true },
  'probes with many headers': { ...PROBE, headers: MANY_HEADERS },
} as const;

/** What any pod may send to the port for reviews. */
export const TO_REVIEWS = {
  'empty objects': { ...POST, body: `[${'{},'.repeat(140_000)}{}]` },
  reviews: { ...POST, body: reviewOf('{"metadata":{}}') },
  'reviews with many values': { ...POST, body: reviewOf(`{"metadata":{},"x":[${'{},'.repeat(149_000)}{}]}`) },
  'reviews of 7 MiB': { ...POST, body: reviewOf(`{"metadata":{"x":"${'x'.repeat(7 * MIB)}"}}`) },
  'reviews on new connections': { ...POST, isNew: true, body: reviewOf('{"metadata":{}}') },
  'endless bodies to no path of reviews': ELSEWHERE,
  'pipelined requests to no path': { path: '/elsewhere', isPipelined: true },
  'reviews in parts of a byte': { ...POST, isScattered: true },
  'reviews with many headers': { ...POST, headers: MANY_HEADERS, body: reviewOf('{"metadata":{}}') },
  'unfinished reviews': { ...POST, isUnfinished: true, body: 'x'.repeat(200 * 1024) },
} as const satisfies Record<string, Shape>;

/** What any pod may send to the port for health. */
export const TO_HEALTH = {
  ...OF_PROBES,
  metrics: { path: '/metrics' },
  views: { path: '/view?namespace=hostile' },
  maintenances: { path: '/maintenance?kind=Upgrade' },
  readiness: { path: '/health/readiness' },
  'endless bodies to no path of health': ELSEWHERE,
  'dead letters': LETTER,
  'dead letters in parts of a byte': { ...LETTER, isScattered: true },
  'bodies in parts of a byte to no path of health': { ...ELSEWHERE, isEndless: false, isScattered: true },
  'dead letters of 8 MiB': { ...LETTER, body: 'x'.repeat(8 * MIB) },
} as const satisfies Record<string, Shape>;

const EVENT = {
  method: 'POST',
  path: '/',
  headers: {
    'ce-specversion': '1.0',
    'ce-id': 'x',
    'ce-source': '/x',
    'ce-type': 'io.kubevirt.mtq.migration.feasible',
  },
} as const;

/** What any pod may send to a function. */
export const TO_FUNCTIONS = {
  ...OF_PROBES,
  events: { ...EVENT, body: '{"namespace":"hostile"}' },
  'events with many values': { ...EVENT, body: `[${'{},'.repeat(85_000)}{}]` },
  'events in parts of a byte': { ...EVENT, isScattered: true },
  'events of 8 MiB': { ...EVENT, body: 'x'.repeat(8 * MIB) },
  'unfinished events': { ...EVENT, isUnfinished: true, body: 'x'.repeat(250 * 1024) },
  'endless bodies to no path of a function': ELSEWHERE,
  'endless bodies to a probe': { ...ELSEWHERE, path: '/health/liveness' },
  'no events': { method: 'POST', path: '/', body: '{}' },
} as const satisfies Record<string, Shape>;

const SHAPES: Readonly<Record<string, Shape>> = { ...TO_REVIEWS, ...TO_HEALTH, ...TO_FUNCTIONS };

interface Flood {
  readonly head: string;
  /** What is sent again and again, as long as the connection is open. */
  readonly part: string;
}

/** What Node parses at once. */
const READ_BYTES = 64 * 1024;

/** The bytes of a shape that Node's client would not send; undefined: it would. */
function floodOf({ path, headers = {}, isPipelined, isScattered }: Shape): Flood | undefined {
  if (isPipelined === true) return { head: '', part: `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n` };
  if (isScattered !== true) return undefined;
  const lines = Object.entries({ host: 'x', 'transfer-encoding': 'chunked', ...headers });
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return { head: `POST ${path} HTTP/1.1\r\n${head}\r\n`, part: '1\r\nx\r\n' };
}

async function attack(port: number, name: string, { connections, perSecond }: Attack): Promise<void> {
  const shape = SHAPES[name];
  if (shape === undefined) throw new Error(`no shape ${name}`);
  const isTls = name in TO_REVIEWS;
  const options = { keepAlive: shape.isNew !== true, maxSockets: connections, localAddress: LOCAL };
  const agent = isTls ? new Agent({ ...options, rejectUnauthorized: false }) : new HttpAgent(options);
  const start = isTls ? httpsRequest : httpRequest;
  const send = async ({ method = 'GET', path, body, headers = {}, ...more }: Shape): Promise<void> => {
    const { isUnfinished = false, isEndless = false } = more;
    const whole = body === undefined ? 0 : Buffer.byteLength(body) + (isUnfinished ? 1 : 0);
    const length = isEndless ? 2 ** 40 : whole;
    const request = start({
      ...{ host: '127.0.0.1', port, method, path, agent },
      headers: { ...headers, 'content-type': 'application/json', 'content-length': length },
    });
    const closed = new Promise<void>((resolve) => {
      request.on('error', () => resolve()).on('close', resolve);
    });
    request.on('response', (response) => response.resume());
    const writeOn = (): void => {
      while (!request.destroyed && request.write(body));
    };
    if (isEndless) request.on('drain', writeOn).on('socket', writeOn);
    else if (isUnfinished) request.write(body);
    else request.end(body);
    await closed;
  };
  const flood = async ({ head, part }: Flood): Promise<void> => {
    const to = { host: '127.0.0.1', port, localAddress: LOCAL };
    const socket = isTls ? connectTls({ ...to, rejectUnauthorized: false }) : connect(to);
    const parts = Buffer.from(part.repeat(Math.ceil(READ_BYTES / part.length)));
    const writeOn = (): void => {
      while (!socket.destroyed && socket.write(parts));
    };
    socket.on('drain', writeOn).on('error', () => undefined);
    const closed = new Promise((resolve) => socket.resume().once('close', resolve));
    socket.write(head);
    writeOn();
    await closed;
  };
  const raw = floodOf(shape);
  const pauseMs = perSecond === 0 ? 0 : (1_000 * connections) / perSecond;
  const one = async (index: number): Promise<void> => {
    await delay((pauseMs * index) / connections);
    for (;;) {
      const next = delay(pauseMs);
      await Promise.all([raw === undefined ? send(shape) : flood(raw), next]);
    }
  };
  await Promise.all(Array.from({ length: connections }, (_, index) => one(index)));
}

interface Attack {
  readonly connections: number;
  readonly perSecond: number;
}

if (import.meta.main) {
  const [port, shape = '', connections, perSecond] = process.argv.slice(2);
  process.stdout.write('attacking\n');
  await attack(Number(port), shape, { connections: Number(connections), perSecond: Number(perSecond) });
}
