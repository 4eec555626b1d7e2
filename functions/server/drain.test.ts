import { once } from 'node:events';
import { Agent, createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { drainable } from './drain.ts';

let server: Server;
let agent: Agent;
afterEach(() => {
  agent.destroy();
  server.close();
  server.closeAllConnections();
});

interface Draining {
  readonly close: (lingerMs?: number) => Promise<void>;
  /** Resolves when the server has the request. */
  readonly arrived: Promise<unknown>;
  readonly resume: () => void;
}

/** A server whose answers wait until the test lets them go, unless the path is /quick. */
async function start(withinMs?: number): Promise<Draining> {
  const resumed = Promise.withResolvers<undefined>();
  const arrived = Promise.withResolvers<undefined>();
  server = createServer((request, response) => {
    const answer = (): unknown => response.end('done');
    if (request.url === '/quick') answer();
    else void resumed.promise.then(answer);
    arrived.resolve(undefined);
  });
  agent = new Agent({ keepAlive: true });
  const close = drainable(server, withinMs);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { close, arrived: arrived.promise, resume: () => resumed.resolve(undefined) };
}

/** Resolves to the whole answer; rejects when the connection is cut or refused. */
async function get(path: string): Promise<{ body: string; headers: IncomingMessage['headers'] }> {
  const { port } = server.address() as AddressInfo;
  const request = httpRequest({ host: '127.0.0.1', port, path, agent });
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return { body: Buffer.concat(chunks).toString('utf8'), headers: response.headers };
}

/** Waits long enough to notice a cut connection. */
const underWay = (): Promise<string> =>
  new Promise((resolve) => setTimeout(() => resolve('still under way'), 2_000).unref());

const LONG_MS = 60_000;

describe('a close', () => {
  test('that lingers: answers new requests meanwhile, and closes their connections', async () => {
    const { close } = await start(LONG_MS);
    expect(await get('/quick')).toMatchObject({ headers: { connection: 'keep-alive' } });
    const closing = close(1_000);
    const during = await Promise.all([get('/quick'), get('/quick')]);
    expect(during.map(({ headers }) => headers.connection)).toEqual(['close', 'close']);
    await closing;
    expect(server.listening).toBe(false);
  });

  test('waits for the requests under way, and ends each connection with its answer', async () => {
    const { close, arrived, resume } = await start(LONG_MS);
    const answer = get('/');
    answer.catch(() => undefined); // If this test fails, no code awaits it.
    await arrived;
    let closed = false;
    const closing = close().then(() => (closed = true));
    await new Promise(setImmediate);
    expect(closed).toBe(false);
    resume();
    expect(await answer).toMatchObject({ body: 'done', headers: { connection: 'close' } });
    await closing;
  });

  test('takes no more connections at once', async () => {
    const { close, arrived, resume } = await start(LONG_MS);
    const answer = get('/');
    await arrived;
    const { port } = server.address() as AddressInfo;
    const closing = close();
    const late = httpRequest({ host: '127.0.0.1', port, path: '/quick', agent: false });
    late.end();
    await expect(once(late, 'response').then(() => 'an answer')).rejects.toThrow('ECONNREFUSED');
    resume();
    await answer;
    await closing;
  });

  test('does not wait for an idle connection', async () => {
    const { close } = await start(LONG_MS);
    expect((await get('/quick')).headers.connection).toBe('keep-alive');
    await close();
  });

  test('waits no longer than the given time, and cuts what is left', async () => {
    const { close, arrived } = await start(50);
    const answer = get('/');
    await arrived;
    const cut = answer.catch(String);
    await close();
    expect(await Promise.race([cut, underWay()])).toBe('Error: socket hang up');
  });

  test('does nothing for a server that never listened, or is closed already', async () => {
    agent = new Agent();
    server = createServer();
    const close = drainable(server);
    await close();
    await close();
  });
});
