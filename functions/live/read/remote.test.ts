import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startHostileServer, WAYS, type HostileServer } from '../../../test/support/live/hostile.ts';
import { metadata } from '../../../test/support/builders/object.ts';
import type { ApiServer } from '../../kubernetes/cluster.ts';
import { ApiError, Unreachable } from '../../kubernetes/errors.ts';
import { VIRTUAL_MACHINES, VMIMS } from '../../kubernetes/live-resources.ts';
import { systemClock } from '../../runtime/clock.ts';
import { Remotes } from './remote.ts';

const MIB = 1024 * 1024;
const AT = { namespace: 'vms', name: 'web' };
const OBJECT = { metadata: { ...metadata('web'), namespace: 'vms' } };

let server: HostileServer;
beforeAll(async () => {
  server = await startHostileServer();
});
afterAll(async () => {
  await server.stop();
});

const logged: string[] = [];

/** A client of its own, which does not rest yet. */
const connect = (way: string, allowLoopback = true): ApiServer =>
  new Remotes({
    ...{ allowLoopback, maxKeptBytes: 24 * MIB, memoryBytes: 48 * MIB, clock: systemClock },
    isRefused: () => Promise.resolve(false),
    log: (_, message, fields) => void logged.push(`${message} ${JSON.stringify(fields)}`),
  }).at(server.remote(way));

async function watchOne(cluster: ApiServer): Promise<unknown> {
  const from = { namespace: 'vms', resourceVersion: '7' };
  for await (const event of cluster.watch(VMIMS, from, AbortSignal.timeout(60_000)))
    throw new Error(`an event: ${JSON.stringify(event).slice(0, 100)}`);
  return undefined;
}

const VERBS: Readonly<Record<string, (cluster: ApiServer) => Promise<unknown>>> = {
  get: (cluster) => cluster.get(VIRTUAL_MACHINES, AT),
  list: (cluster) => cluster.list(VMIMS, { namespace: 'vms' }),
  create: (cluster) => cluster.create(VMIMS, OBJECT as never),
  replace: (cluster) => cluster.replace(VMIMS, OBJECT as never),
  patch: (cluster) => cluster.patch(VMIMS, AT, { merge: {} }),
  watch: watchOne,
};

const failureOf = (answer: Promise<unknown>): Promise<Error | undefined> =>
  answer.then(
    () => undefined,
    (error: unknown) => error as Error,
  );

describe('a server that answers as no API server does', () => {
  test.each(WAYS.quick)('%s: each verb says no more than that it cannot be reached', async (way) => {
    const failures = await Promise.all(Object.values(VERBS).map((ask) => failureOf(ask(connect(way)))));
    for (const [index, failure] of failures.entries()) {
      const verb = Object.keys(VERBS)[index] ?? '';
      // A watch whose line does not end has ended.
      if (verb === 'watch' && failure === undefined) continue;
      expect([verb, failure?.message]).toEqual([verb, 'the API server cannot be reached']);
      expect(failure).toBeInstanceOf(Unreachable);
      expect(failure?.cause).toBeUndefined();
    }
    expect(logged.join()).not.toContain('canary');
  });

  /** A watch that begins may be silent: follow.ts ends it. */
  test('one that is slow is given up in its time, whatever it sends meanwhile', async () => {
    const began = performance.now();
    const asked = WAYS.slow.flatMap((way) =>
      (['get', 'list', 'create'] as const).map((verb) =>
        failureOf(VERBS[verb]?.(connect(way)) ?? Promise.resolve()),
      ),
    );
    const failures = await Promise.all(asked);
    expect(failures.map((failure) => failure instanceof Unreachable)).toEqual(asked.map(() => true));
    // 10 s for a page. A machine may be slow.
    expect(performance.now() - began).toBeLessThan(60_000);
  });

  test('a list without an end has one', async () => {
    const failure = await failureOf(VERBS['list']?.(connect('pages')) ?? Promise.resolve());
    expect(failure).toBeInstanceOf(Unreachable);
  });
});

test('of what an API server refuses only a short line is kept', async () => {
  const failure = await failureOf(VERBS['get']?.(connect('text')) ?? Promise.resolve());
  if (!(failure instanceof ApiError)) throw new Error('no ApiError');
  const { message, reason, details } = failure.status;
  expect([failure.code, reason, details?.causes]).toEqual([500, 'Reason\\u{7}', []]);
  expect(message).toHaveLength(512);
  expect(message).not.toMatch(/[\p{Cc}]/u);
  expect(failure.message.length).toBeLessThan(700);
});

test('the most that is taken is read', async () => {
  await expect(connect('heavy').get(VIRTUAL_MACHINES, AT)).resolves.toMatchObject({
    object: { metadata: { name: 'web' } },
  });
});

test('no request leaves for an address of this machine', async () => {
  const at = (url: string): ApiServer =>
    new Remotes({
      ...{ allowLoopback: false, maxKeptBytes: MIB, memoryBytes: MIB, clock: systemClock },
      isRefused: () => Promise.resolve(false),
      log: (_, message, fields) => void logged.push(`${message} ${JSON.stringify(fields)}`),
    }).at({ ...server.remote('good'), url });
  const { port } = new URL(server.remote('good').url);
  for (const host of [
    '127.0.0.1',
    'localhost',
    '[::ffff:127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[::127.0.0.1]',
    '0.0.0.0',
  ]) {
    const failure = await failureOf(at(`https://${host}:${port}/good`).get(VIRTUAL_MACHINES, AT));
    expect([host, failure?.message]).toEqual([host, 'the API server cannot be reached']);
    expect(logged.at(-1)).toContain('address of this machine');
  }
});

test('an address is checked again before each connection: another pod may have it by then', async () => {
  const newServer = createServer().listen(0, '127.0.0.1');
  await once(newServer, 'listening');
  let connections = 0;
  newServer.on('connection', (socket) => {
    connections += 1;
    socket.destroy();
  });
  let isRefused = false;
  let now = 0;
  const cluster = new Remotes({
    ...{ allowLoopback: true, maxKeptBytes: MIB, memoryBytes: MIB, log: () => undefined },
    clock: { ...systemClock, elapsed: () => (now += 60_000) },
    isRefused: () => Promise.resolve(isRefused),
  }).at({
    ...server.remote('good'),
    url: `https://127.0.0.1:${String((newServer.address() as AddressInfo).port)}`,
  });
  const ask = (): Promise<unknown> => failureOf(cluster.get(VIRTUAL_MACHINES, AT));
  await ask();
  expect(connections).toBe(1);
  isRefused = true;
  await ask();
  newServer.close();
  expect(connections).toBe(1);
});

describe('the Providers of one namespace', () => {
  const waits: number[] = [];
  const newRemotes = (): Remotes =>
    new Remotes({
      ...{ allowLoopback: true, maxKeptBytes: 48 * MIB, memoryBytes: 48 * MIB, log: () => undefined },
      isRefused: () => Promise.resolve(false),
      clock: { ...systemClock, after: (ms, work) => systemClock.after(Math.min(ms, waits.push(ms)), work) },
    });

  test('take no client of another namespace', () => {
    const remotes = newRemotes();
    const good = remotes.at(server.remote('good'));
    for (let index = 0; index < 300; index += 1)
      remotes.at({ ...server.remote('good'), tenant: 'hostile', token: String(index) });
    expect(remotes.at(server.remote('good'))).toBe(good);
  });

  test('wait for each other’s time, whatever their tokens are, and nobody else does', async () => {
    const remotes = newRemotes();
    const read = (tenant: string, token: string): Promise<unknown> =>
      remotes.at({ ...server.remote('heavy'), tenant, token }).get(VIRTUAL_MACHINES, AT);
    await read('hostile', 'one');
    await read('tenant', 'one');
    expect(waits).toEqual([]);
    await read('hostile', 'two');
    expect(waits.length).toBeGreaterThan(0);
  });
});

test.each(['https://192.0.2.7', 'https://localhost'])(
  'no request leaves for %s where the address is refused',
  async (url) => {
    const asked: string[] = [];
    const cluster = new Remotes({
      ...{ allowLoopback: true, maxKeptBytes: MIB, memoryBytes: MIB, clock: systemClock },
      isRefused: (address) => Promise.resolve(asked.push(address) > 0),
      log: (_, message, fields) => void logged.push(`${message} ${JSON.stringify(fields)}`),
    }).at({ ...server.remote('good'), url });
    const failure = await failureOf(cluster.get(VIRTUAL_MACHINES, AT));
    expect(failure?.message).toBe('the API server cannot be reached');
    expect(logged.at(-1)).toContain('address of this machine or of a pod');
    expect(asked.length).toBeGreaterThan(0);
  },
);

test.each(['[::ffff:192.0.2.7]', '[::192.0.2.7]', '[64:ff9b::192.0.2.7]', '192.0.2.7'])(
  'no request leaves for %s where 192.0.2.7 is refused',
  async (host) => {
    const asked: string[] = [];
    const cluster = new Remotes({
      ...{
        allowLoopback: true,
        maxKeptBytes: MIB,
        memoryBytes: MIB,
        clock: systemClock,
        log: () => undefined,
      },
      isRefused: (address) => Promise.resolve(asked.push(address) > 0),
    }).at({ ...server.remote('good'), url: `https://${host}` });
    await failureOf(cluster.get(VIRTUAL_MACHINES, AT));
    expect(asked).toEqual(['192.0.2.7']);
  },
);
