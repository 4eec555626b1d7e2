import { once } from 'node:events';
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest, type RequestOptions as TlsOptions } from 'node:https';
import { connect as dial, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as dialTls, type TLSSocket } from 'node:tls';
import { FairTurns } from '../../functions/server/fair-turns.ts';
import Gauge from 'prom-client/lib/gauge.js';
import Registry from 'prom-client/lib/registry.js';
import { afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Fields, Level } from '../../functions/runtime/log.ts';
import type { AdmissionRequest, Decision } from './admission.ts';
import { newDeadLetters } from '../observability/dead-letter.ts';
import { healthApp } from '../observability/health-app.ts';
import { METRIC } from '../observability/metric-names.ts';
import type { Reviewed } from '../observability/metrics.ts';
import { reviewApp } from './review-app.ts';
import { listen, type GuardServer } from './server.ts';
import type { KeyPair } from '../../functions/server/serve.ts';
import { issueAuthority, issueServing } from '../tls/x509.ts';

const SERVERNAME = 'mtq-guard.mtq-system.svc';
const VALIDITY = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3_600_000) };
const authority = issueAuthority(VALIDITY);
const newCertificate = (signer = authority): KeyPair => issueServing([SERVERNAME], VALIDITY, signer);

interface Answer {
  readonly status: number | undefined;
  readonly body: string;
  readonly headers: IncomingMessage['headers'];
}

interface Guard {
  readonly server: GuardServer;
  readonly lines: { level: Level; message: string; fields: Fields }[];
  /** The calls of `onReviewed`. */
  readonly reviewed: Reviewed[];
  /** POST /review over TLS, with the API server's certificate checks. */
  review(body: string | Buffer, options?: TlsOptions): Promise<Answer>;
  http(method: string, path: string, body?: string | Buffer): Promise<Answer>;
}

let running: GuardServer[] = [];
afterEach(async () => {
  await Promise.all(running.map((server) => server.close()));
  running = [];
});

interface Stubs {
  readonly review?: (request: AdmissionRequest) => Promise<Decision>;
  readonly ready?: () => string | undefined;
  readonly deadlineMs?: number;
}

async function start({ review, ready, deadlineMs }: Stubs): Promise<Guard> {
  const lines: Guard['lines'] = [];
  const log = (level: Level, message: string, fields: Fields = {}): void =>
    void lines.push({ level, message, fields });
  const reviewed: Reviewed[] = [];
  const metrics = new Registry();
  new Gauge({ ...METRIC.ready, registers: [metrics] }).set(1);
  const server = await listen({
    reviewApp: reviewApp({
      turns: new FairTurns(),
      review: review ?? (() => Promise.resolve({ allowed: true })),
      log,
      onReviewed: (one) => reviewed.push(one),
      ...(deadlineMs === undefined ? {} : { deadlineMs }),
    }),
    healthApp: healthApp({
      turns: new FairTurns(),
      ready: ready ?? (() => undefined),
      deadLetters: newDeadLetters(log),
      metrics,
    }),
    tlsPort: 0,
    port: 0,
    certificate: newCertificate(),
  });
  running.push(server);
  const json = { 'content-type': 'application/json' };
  return {
    server,
    lines,
    reviewed,
    review: (body, options = {}) => {
      const tls = { port: server.tlsPort, ca: authority.cert, servername: SERVERNAME, agent: false } as const;
      return answerOf(
        httpsRequest({ method: 'POST', path: '/review', headers: json, ...tls, ...options }),
        body,
      );
    },
    http: (method, path, body = '') => answerOf(httpRequest({ method, path, port: server.port }), body),
  };
}

async function answerOf(request: ReturnType<typeof httpRequest>, body: string | Buffer): Promise<Answer> {
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  const { statusCode: status, headers } = response;
  return { status, headers, body: Buffer.concat(chunks).toString('utf8') };
}

const reviewOf = (changed: object = {}): string =>
  JSON.stringify({
    apiVersion: 'admission.k8s.io/v1',
    kind: 'AdmissionReview',
    request: {
      uid: 'u1',
      kind: { group: '', version: 'v1', kind: 'Pod' },
      resource: { group: '', version: 'v1', resource: 'pods' },
      subResource: 'resize',
      name: 'launcher',
      namespace: 'tenant',
      operation: 'UPDATE',
      userInfo: { username: 'alice', groups: [] },
      object: { metadata: { annotations: { secret: 'hunter2' } } },
      oldObject: { metadata: {} },
      ...changed,
    },
  });
const answered = (response: object): object => ({
  apiVersion: 'admission.k8s.io/v1',
  kind: 'AdmissionReview',
  response: { uid: 'u1', ...response },
});

type Sent = TlsOptions & { body?: string };

interface DeniedReview {
  readonly status: number;
  readonly line: string;
}

describe('POST /review', () => {
  test('answers an allowed request without a log line', async () => {
    const guard = await start({});
    const { status, body, headers } = await guard.review(reviewOf());
    expect(status).toBe(200);
    expect(headers['content-type']).toMatch('application/json');
    expect(JSON.parse(body)).toEqual(answered({ allowed: true }));
    expect(guard.lines).toEqual([]);
  });

  test('answers a refused request with its causes, and logs one line without the object', async () => {
    const causes = [{ reason: 'locked.mtq.kubevirt.io', message: 'token-1' }];
    const denial = { allowed: false, code: 403, reason: 'Forbidden', message: 'wait', causes } as const;
    const guard = await start({ review: () => Promise.resolve(denial) });

    const { status, body } = await guard.review(reviewOf());
    expect(status).toBe(200);
    expect(JSON.parse(body)).toEqual(
      answered({
        allowed: false,
        status: { code: 403, reason: 'Forbidden', message: 'wait', details: { causes } },
      }),
    );
    expect(guard.lines).toEqual([
      {
        level: 'info',
        message: 'refused',
        fields: {
          namespace: 'tenant',
          uid: 'u1',
          operation: 'UPDATE',
          resource: 'pods/resize',
          name: 'launcher',
          user: 'alice',
          dryRun: false,
          code: 403,
          reason: 'Forbidden',
          why: 'wait',
          failure: undefined,
        },
      },
    ]);
  });

  const unavailable = {
    code: 503,
    reason: 'ServiceUnavailable',
    message: expect.stringMatching(/could not read namespace tenant.*try again/),
  };

  test.each<[string, () => Promise<Decision>]>([
    ['rejects', () => Promise.reject(new Error('no answer from the API server'))],
    [
      'throws',
      () => {
        throw new Error('no answer from the API server');
      },
    ],
  ])('refuses when the review %s', async (_, review) => {
    const guard = await start({ review });
    const { status, body } = await guard.review(reviewOf());
    expect(status).toBe(200);
    expect(JSON.parse(body)).toEqual(answered({ allowed: false, status: unavailable }));
    expect(guard.lines).toMatchObject([
      { level: 'error', message: 'refused', fields: { failure: 'Error: no answer from the API server' } },
    ]);
  });

  test('refuses with our message when the review takes too long', async () => {
    const guard = await start({ review: () => new Promise(() => undefined), deadlineMs: 20 });
    const { body } = await guard.review(reviewOf());
    expect(JSON.parse(body)).toEqual(answered({ allowed: false, status: unavailable }));
    expect(guard.lines).toMatchObject([{ fields: { failure: 'Error: no decision after 20 ms' } }]);
  });

  test.each<[string, Sent, DeniedReview]>([
    [
      'half a document',
      { body: '{"kind":"AdmissionReview","apiVersion":' },
      { status: 400, line: 'the body cannot be read: SyntaxError' },
    ],
    ['nothing', { body: '' }, { status: 400, line: 'no AdmissionReview' }],
    ['another kind', { body: '{"kind":"Pod"}' }, { status: 400, line: 'no AdmissionReview' }],
    [
      'another version',
      { body: '{"kind":"AdmissionReview","apiVersion":"v1"}' },
      { status: 400, line: 'no admission.k8s.io/v1 AdmissionReview' },
    ],
    [
      'compressed',
      { headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } },
      { status: 415, line: 'the body is compressed' },
    ],
    [
      'too large',
      { body: JSON.stringify('x'.repeat(8 * 1024 * 1024)) },
      { status: 413, line: 'larger than 8388608 bytes' },
    ],
    [
      'two million empty objects, which would fill the memory',
      { body: `{"kind":"AdmissionReview","request":[${'{},'.repeat(2_000_000)}{}]}` },
      { status: 413, line: 'more values than any object' },
    ],
    [
      'a million numbers',
      { body: `{"kind":"AdmissionReview","request":[${'1,'.repeat(1_000_000)}1]}` },
      { status: 413, line: 'more values than any object' },
    ],
    [
      'a hundred thousand groups that are no texts: one short line',
      {
        body: reviewOf({ userInfo: { username: 'alice', groups: Array.from({ length: 100_000 }, Number) } }),
      },
      { status: 400, line: 'request.userInfo.groups' },
    ],
    ['another path', { path: '/' }, { status: 404, line: 'only POST /review' }],
    ['GET', { method: 'GET', body: '' }, { status: 404, line: 'only POST /review' }],
  ])('%s: answers with a line, and serves the next request', async (_, sent, want) => {
    const guard = await start({});
    const { body = reviewOf(), ...options } = sent;
    const answer = await guard.review(body, options);
    expect(answer.status).toBe(want.status);
    expect(answer.body).toContain(want.line);
    expect(answer.body.trimEnd()).not.toContain('\n');
    expect(answer.body.length).toBeLessThan(600);
    expect((await guard.review(reviewOf())).status).toBe(200);
  });

  test('logs the refusal that proves a lock at debug: each API server asks for one in each cycle', async () => {
    const denial = { allowed: false, code: 403, reason: 'Forbidden', message: 'proof' } as const;
    const guard = await start({ review: () => Promise.resolve(denial) });
    const userInfo = { username: 'system:serviceaccount:mtq-system:mtq-raise' };
    await guard.review(reviewOf({ userInfo, dryRun: true }));
    await guard.review(reviewOf({ userInfo }));
    expect(guard.lines.map(({ level }) => level)).toEqual(['debug', 'info']);
  });

  test('accepts the largest possible review', async () => {
    const padding = 'x'.repeat(3_900_000);
    const large = { metadata: { annotations: { padding } } };
    const guard = await start({});
    expect((await guard.review(reviewOf({ object: large, oldObject: large }))).status).toBe(200);
  });
});

describe('health and dead letters', () => {
  const LETTER = { 'ce-type': 'a' };

  test('liveness is always 200, readiness depends on `ready`', async () => {
    let reason: string | undefined = 'the certificate is not there yet';
    const guard = await start({ ready: () => reason });
    expect(await guard.http('GET', '/health/readiness')).toMatchObject({
      status: 503,
      body: 'the certificate is not there yet\n',
    });
    expect((await guard.http('GET', '/health/liveness')).status).toBe(200);
    reason = undefined;
    expect((await guard.http('GET', '/health/readiness')).status).toBe(200);
    expect((await guard.http('GET', '/review')).status).toBe(404);
  });

  test('the dead letter sink always answers 204, on the same connection', async () => {
    const guard = await start({});
    const agent = new HttpAgent({ keepAlive: true, maxSockets: 1 });
    const { port } = guard.server;
    const sockets = new Set<unknown>();
    // Not as large as it may be: the guard waits 3 s for a body, and a starved process may need longer for 8 MiB.
    for (const body of ['{"x": 1}', '', Buffer.alloc(256 * 1024), '{']) {
      const request = httpRequest({ method: 'POST', path: '/dead-letter', port, agent, headers: LETTER });
      request.once('socket', (socket) => sockets.add(socket));
      expect(await answerOf(request, body)).toMatchObject({ status: 204, body: '' });
    }
    expect(sockets.size).toBe(1);
    agent.destroy();
    expect(guard.lines.map(({ message, fields }) => [message, fields['type'], fields['count']])).toEqual(
      [1, 2, 3, 4].map((count) => ['dead letter', 'a', count]),
    );
  });

  test('the guard survives a broken request and a broken handshake', async () => {
    const guard = await start({});
    for (const port of [guard.server.port, guard.server.tlsPort]) {
      const socket = dial(port);
      socket.resume().end('no HTTP, no TLS\r\n\r\n');
      await once(socket, 'close');
    }
    expect((await guard.review(reviewOf())).status).toBe(200);
  });
});

describe('slow clients and many clients', () => {
  /** The guard closes after 3 s and checks twice a second; Node's defaults are 60 s and every 30 s. */
  const CUT_OFF_MS = 25_000;
  const PORTS = ['tlsPort', 'port'] as const;
  type Port = (typeof PORTS)[number];
  const CONNECTED = { tlsPort: 'secureConnect', port: 'connect' } as const;

  const dialTo = ({ server }: Guard, port: Port): Socket =>
    port === 'tlsPort'
      ? dialTls({ port: server.tlsPort, ca: authority.cert, servername: SERVERNAME })
      : dial(server.port);

  interface Exchange {
    readonly sent: string;
    /** The status of the first response. */
    readonly status: number;
  }

  /** Sends this text and no more. Resolves with all that came back until the guard closed the connection. */
  async function ended(socket: Socket, sent: string | Buffer): Promise<string> {
    const chunks: Buffer[] = [];
    const { promise: closed, resolve } = Promise.withResolvers<unknown>();
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    // A reset closes the connection too.
    socket.on('error', () => undefined).on('close', resolve);
    socket.write(sent);
    await closed;
    return Buffer.concat(chunks).toString('utf8');
  }

  const head = (path: string): string =>
    `POST ${path} HTTP/1.1\r\nhost: guard\r\ncontent-type: application/json\r\n`;
  const bodyOf = (length: number): string => `content-length: ${length}\r\n\r\n`;

  const NEVER_ENDING: readonly [string, Port, Exchange][] = [
    [
      'a review that never ends',
      'tlsPort',
      { sent: `${head('/review')}${bodyOf(1000)}{"apiVersion":`, status: 408 },
    ],
    ['headers that never end', 'tlsPort', { sent: head('/review'), status: 408 }],
    ['headers that never end', 'port', { sent: head('/dead-letter'), status: 408 }],
    // The Broker has its answer, so it does not retry.
    [
      'a dead letter that never ends',
      'port',
      { sent: `${head('/dead-letter')}${bodyOf(1000)}{`, status: 204 },
    ],
    [
      'an unexpected body that never ends',
      'port',
      { sent: `${head('/health/liveness')}${bodyOf(1000)}{`, status: 404 },
    ],
  ];

  /** Each case waits for a timeout of the guard, so all run at once, each with its own guard. */
  let attempts: ReadonlyMap<string, PromiseSettledResult<void>>;
  beforeAll(async () => {
    const works = new Map([
      ...NEVER_ENDING.map((row) => [`${row[0]} ${row[1]}`, cutOff(row)] as const),
      ...PORTS.map((port) => [port, cutOffSilent(port)] as const),
    ]);
    const results = await Promise.allSettled(works.values());
    attempts = new Map(
      [...works.keys()].flatMap((name, index) =>
        results.slice(index, index + 1).map((result) => [name, result]),
      ),
    );
  });

  async function cutOff([, port, { sent, status }]: (typeof NEVER_ENDING)[number]): Promise<void> {
    const guard = await start({});
    const since = performance.now();
    const ends: Promise<string>[] = [];
    for (let client = 0; client < 50; client += 1) {
      const socket = dialTo(guard, port);
      // One after another: the guard closes a handshake of more than 3 s without an answer.
      await once(socket, CONNECTED[port]);
      ends.push(ended(socket, sent));
    }
    expect((await guard.review(reviewOf())).status).toBe(200);
    expect((await guard.http('GET', '/health/readiness')).status).toBe(200);
    for (const end of await Promise.all(ends)) expect(end).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(performance.now() - since).toBeLessThan(CUT_OFF_MS);
    expect((await guard.review(reviewOf())).status).toBe(200);
  }

  async function cutOffSilent(port: Port): Promise<void> {
    const guard = await start({});
    const since = performance.now();
    const sockets = Array.from({ length: 200 }, () => dial(guard.server[port]).on('error', () => undefined));
    // On a slow machine the guard has closed the first ones before the last is connected.
    const closed = Promise.all(sockets.map((socket) => once(socket.resume(), 'close')));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    expect((await guard.review(reviewOf())).status).toBe(200);
    expect((await guard.http('GET', '/health/readiness')).status).toBe(200);
    // The guard closes them too, without a handshake or headers.
    await closed;
    expect(performance.now() - since).toBeLessThan(CUT_OFF_MS);
  }

  test.each(NEVER_ENDING)(
    '%s (%s): the guard closes the connection, and serves other clients meanwhile',
    (what, port) => {
      expect(attempts.get(`${what} ${port}`)).toEqual({ status: 'fulfilled', value: undefined });
    },
  );

  test.each(PORTS)('200 silent connections (%s): the guard still answers other clients', (port) => {
    expect(attempts.get(port)).toEqual({ status: 'fulfilled', value: undefined });
  });

  test.each(PORTS)(
    '300 idle connections (%s): the guard closes the first ones, and answers',
    async (port) => {
      const guard = await start({});
      const sockets: Socket[] = [];
      for (let client = 0; client < 300; client += 1) {
        const socket = dialTo(guard, port).on('error', () => undefined);
        socket.write('GET / HTTP/1.1\r\nhost: guard\r\n\r\n');
        await once(socket, 'data');
        sockets.push(socket.resume());
      }
      // An idle connection is not too slow, so no timeout of this test's time closes it.
      while (sockets.filter(({ destroyed }) => destroyed).length < 300 - 256) await delay(20);
      expect(sockets.at(-1)?.destroyed).toBe(false);
      expect((await guard.review(reviewOf())).status).toBe(200);
      for (const socket of sockets) socket.destroy();
    },
  );

  test.each<[string, number]>([
    ['/dead-letter', 204],
    ['/elsewhere', 404],
  ])('an endless body for %s: the guard answers %d, then closes the connection', async (path, status) => {
    const guard = await start({});
    const socket = dial(guard.server.port);
    // Writes without a pause while the connection is open, so no timeout applies.
    const more = Buffer.alloc(1024 * 1024);
    const write = (): void => {
      while (!socket.destroyed && socket.write(more));
    };
    socket.on('drain', write);
    const since = performance.now();
    const end = ended(socket, `${head(path)}${bodyOf(2 ** 40)}`);
    write();
    expect(await end).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(performance.now() - since).toBeLessThan(CUT_OFF_MS);
    // What the system's buffers hold, and no more.
    expect(socket.bytesWritten).toBeLessThan(64 * 1024 * 1024);
  });
});

describe('metrics', () => {
  test("GET /metrics answers in Prometheus' text format", async () => {
    const { status, body, headers } = await (await start({})).http('GET', '/metrics');
    expect(status).toBe(200);
    expect(body.split('\n')).toContain('mtq_ready 1');
    expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  test('GET /metrics is 404 on the review port, and without a registry', async () => {
    const guard = await start({});
    expect((await guard.review('', { method: 'GET', path: '/metrics' })).status).toBe(404);
    const app = healthApp({
      turns: new FairTurns(),
      ready: () => undefined,
      deadLetters: newDeadLetters(() => undefined),
    });
    const server = await listen({ reviewApp: app, healthApp: app, tlsPort: 0, port: 0 });
    running.push(server);
    const answer = await answerOf(httpRequest({ path: '/metrics', port: server.port }), '');
    expect(answer.status).toBe(404);
  });

  const REFUSAL = { allowed: false, code: 403, reason: 'Forbidden', message: 'wait' } as const;

  test.each<[Reviewed['outcome'], () => Promise<Decision>]>([
    ['allowed', () => Promise.resolve({ allowed: true })],
    ['refused', () => Promise.resolve(REFUSAL)],
    ['failed', () => Promise.reject(new Error('no API server'))],
  ])('counts a review that is %s once', async (outcome, review) => {
    const guard = await start({ review });
    await guard.review(reviewOf());
    expect(guard.reviewed).toMatchObject([{ resource: 'pods', outcome }]);
    expect(guard.reviewed[0]?.seconds).toBeGreaterThanOrEqual(0);
  });

  test('does not count a body that is no review', async () => {
    const guard = await start({});
    expect((await guard.review('{}')).status).toBe(400);
    expect(guard.reviewed).toEqual([]);
  });
});

describe('certificates', () => {
  test('without a certificate handshakes fail and health says why, until it gets one', async () => {
    const app = healthApp({
      turns: new FairTurns(),
      ready: () => 'no certificate',
      deadLetters: newDeadLetters(() => undefined),
    });
    const server = await listen({ reviewApp: app, healthApp: app, tlsPort: 0, port: 0 });
    running.push(server);
    const get = (): Promise<Answer> =>
      answerOf(
        httpsRequest({ port: server.tlsPort, ca: authority.cert, servername: SERVERNAME, agent: false }),
        '',
      );
    await expect(get()).rejects.toThrow();
    server.useCertificate(newCertificate());
    expect((await get()).status).toBe(404);
  });

  test('only a client that trusts our authority and uses the name of the Service can connect', async () => {
    const guard = await start({});
    await expect(guard.review(reviewOf(), { servername: 'elsewhere.svc' })).rejects.toThrow(
      "does not match certificate's altnames",
    );
    const podOutsideLock = { ca: issueAuthority(VALIDITY).cert };
    await expect(guard.review(reviewOf(), podOutsideLock)).rejects.toThrow(/certificate/);
  });

  test('after a change at run time open connections continue, and new ones get the new certificate', async () => {
    const guard = await start({});
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    try {
      expect((await guard.review(reviewOf(), { agent })).status).toBe(200);
      const next = issueAuthority(VALIDITY);
      guard.server.useCertificate(newCertificate(next));

      expect((await guard.review(reviewOf(), { agent })).status).toBe(200);
      await expect(guard.review(reviewOf())).rejects.toThrow(/certificate/);
      // Both are in the bundle, as during a rotation: the client must not confuse two authorities of the same name.
      for (const ca of [next.cert + authority.cert, authority.cert + next.cert]) {
        expect((await guard.review(reviewOf(), { ca })).status).toBe(200);
      }
    } finally {
      agent.destroy();
    }
  });

  test('rejects a certificate without its key, and keeps the previous one', async () => {
    const guard = await start({});
    const { cert } = newCertificate();
    expect(() => guard.server.useCertificate({ cert, key: authority.key })).toThrow(/key values mismatch/);
    expect((await guard.review(reviewOf())).status).toBe(200);
  });
});

describe('close', () => {
  test('finishes the running requests, then closes every connection', async () => {
    let decide: (decision: Decision) => void = () => undefined;
    const arrived = Promise.withResolvers<undefined>();
    const guard = await start({
      review: () => {
        arrived.resolve(undefined);
        return new Promise((resolve) => (decide = resolve));
      },
    });
    const idle = await idleConnection(guard.server.tlsPort);
    const agent = new Agent({ keepAlive: true });
    const answer = guard.review(reviewOf(), { agent });
    await arrived.promise;

    const closed = guard.server.close();
    await once(idle, 'close');
    await expect(guard.http('GET', '/health/liveness')).rejects.toThrow('ECONNREFUSED');
    decide({ allowed: true });
    expect(await answer).toMatchObject({ status: 200, headers: { connection: 'close' } });
    await closed;
    await guard.server.close();
    agent.destroy();
  });

  test('a port in use: `listen` rejects and leaves no port open', async () => {
    const { server } = await start({});
    const app = healthApp({
      turns: new FairTurns(),
      ready: () => undefined,
      deadLetters: newDeadLetters(() => undefined),
    });
    const options = { reviewApp: app, healthApp: app, tlsPort: 0, certificate: newCertificate() };
    await expect(listen({ ...options, port: server.port })).rejects.toThrow('EADDRINUSE');
  });
});

/** A connection that has its response and remains open (keep-alive). */
async function idleConnection(port: number): Promise<TLSSocket> {
  const socket = dialTls({ port, ca: authority.cert, servername: SERVERNAME });
  socket.write('GET / HTTP/1.1\r\nhost: guard\r\n\r\n');
  await once(socket, 'data');
  return socket.resume();
}
