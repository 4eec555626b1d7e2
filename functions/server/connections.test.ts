import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from '@jest/globals';
import { boundConnections } from './connections.ts';

let server: Server;
let clients: Socket[];

async function serve(listener: RequestListener): Promise<void> {
  server = createServer(listener);
  boundConnections(server, 3);
  clients = [];
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}

afterEach(() => {
  for (const client of clients) client.destroy();
  server.close().closeAllConnections();
});

/** A connection on which this was sent, once the server has accepted it. */
async function client(sent = ''): Promise<Socket> {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  clients.push(socket.on('error', () => undefined));
  const accepted = once(server, 'connection');
  await Promise.all([once(socket, 'connect'), accepted]);
  socket.write(sent);
  return socket;
}

const GET = 'GET / HTTP/1.1\r\nhost: guard\r\n\r\n';
const SLOW = 'POST / HTTP/1.1\r\nhost: guard\r\ncontent-length: 10\r\n\r\n{';
/** Resolves when the connection is closed, even by a reset. */
const closed = (socket: Socket): Promise<unknown> =>
  new Promise((resolve) => socket.resume().once('close', resolve));
const answerTo = async (socket: Socket): Promise<string> =>
  String((await once(socket, 'data'))[0]).slice(0, 15);

describe('a server whose connections are all in use', () => {
  test('closes the least recently used one for a new one, which is served', async () => {
    await serve((_, response) => void response.end('ok'));
    const first = await client();
    const second = await client();
    const third = await client(SLOW);
    await once(server, 'request');
    first.write(GET);
    await answerTo(first);
    const secondClosed = closed(second);
    expect(await answerTo(await client(GET))).toBe('HTTP/1.1 200 OK');
    await secondClosed;
    const thirdClosed = closed(third);
    expect(await answerTo(await client(GET))).toBe('HTTP/1.1 200 OK');
    await thirdClosed;
    expect([first.destroyed, first.readableEnded]).toEqual([false, false]);
  });

  test('closes none whose client waits for an answer, and then no longer accepts one', async () => {
    const answers: (() => void)[] = [];
    await serve((_, response) => void answers.push(() => response.end('ok')));
    const waiting: Socket[] = [];
    for (let index = 0; index < 3; index += 1) {
      waiting.push(await client(GET));
      await once(server, 'request');
    }
    await closed(await client(GET));
    const answered = waiting.map(answerTo);
    for (const answer of answers) answer();
    expect(await Promise.all(answered)).toEqual(Array(3).fill('HTTP/1.1 200 OK'));
  });

  test('closes a connection with a request before the last answer', async () => {
    let requests = 0;
    await serve(() => void (requests += 1));
    await closed(await client(GET.repeat(50_000)));
    // The requests of one read still arrive.
    expect(requests).toBeLessThan(10_000);
  });

  test('closes those whose clients do not read their answers', async () => {
    const large = Buffer.alloc(12 * 1024 * 1024);
    await serve((request, response) => void response.end(request.url === '/large' ? large : 'ok'));
    const LARGE = GET.replace('/', '/large');
    const unread = await client(LARGE);
    await once(server, 'request');
    const other = await client(LARGE);
    await once(server, 'request');
    expect(await answerTo(await client(GET))).toBe('HTTP/1.1 200 OK');
    await closed(unread);
    expect(unread.bytesRead).toBeLessThan(large.length);
    expect(other.destroyed).toBe(false);
  });

  test('closes the one with the most unread, and no idle one before it', async () => {
    const large = Buffer.alloc(24 * 1024 * 1024);
    await serve((request, response) => void response.end(request.url === '/large' ? large : 'ok'));
    const idle = await client(GET);
    await answerTo(idle);
    const idleClosed = closed(idle);
    const unread = await client(GET.replace('/', '/large'));
    await once(server, 'request');
    expect(await answerTo(await client(GET))).toBe('HTTP/1.1 200 OK');
    await closed(unread);
    idle.write(GET);
    expect(await Promise.race([answerTo(idle), idleClosed])).toBe('HTTP/1.1 200 OK');
  });
});
