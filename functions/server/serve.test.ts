import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, test } from '@jest/globals';
import { newClientCertificate, newServingCertificate } from '../../test/cluster/serving-certificate.ts';
import { serve, type KeyPair, type Serving, type ServerOptions } from './serve.ts';

let serving: Serving | undefined;
afterEach(async () => {
  await serving?.close();
  serving = undefined;
});

async function start(options: Partial<ServerOptions> = {}): Promise<Serving> {
  serving = await serve({
    listener: (request, response) => void request.resume().on('end', () => response.end('ok')),
    port: 0,
    requestMs: 500,
    ...options,
  });
  return serving;
}

const closed = (socket: Socket): Promise<unknown> =>
  new Promise((resolve) =>
    socket
      .on('error', () => undefined)
      .resume()
      .once('close', resolve),
  );

test.each([
  ['headers that never end', 'POST / HTTP/1.1\r\nhost: x\r\n'],
  ['a body that never ends', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n{'],
])('a client with %s loses its connection', async (_what, sent) => {
  const { port } = await start();
  const socket = connect(port, '127.0.0.1');
  socket.write(sent);
  await closed(socket);
});

test.each([
  ['refuses', 404],
  ['ignores', 200],
])('a body that the listener %s ends its connection with the answer', async (_what, status) => {
  const { port } = await start({
    listener: (_, response) => void response.writeHead(status).end(),
    requestMs: 60_000,
  });
  const socket = connect(port, '127.0.0.1');
  const more = Buffer.alloc(1024 * 1024);
  const write = (): void => {
    while (!socket.destroyed && socket.write(more));
  };
  socket.on('drain', write);
  const ended = closed(socket);
  socket.write(`POST /x HTTP/1.1\r\nhost: x\r\ncontent-length: ${String(2 ** 40)}\r\n\r\n`);
  write();
  await ended;
  // What the system's buffers hold, and no more.
  expect(socket.bytesWritten).toBeLessThan(64 * 1024 * 1024);
});

const GET = 'GET /x HTTP/1.1\r\nhost: x\r\n\r\n';
const PIPELINED = [
  ['requests', GET],
  ['requests with a body', GET.replace('GET', 'POST').replace('\r\n\r\n', '\r\ncontent-length: 1\r\n\r\nx')],
  ['requests with many headers', GET.replace('host', `${'a:\r\n'.repeat(1_900)}host`)],
  ['requests with an expectation', GET.replace('host', 'expect: x\r\nhost')],
  ['requests without a host', GET.replace('host: x\r\n', '')],
  ['requests of HTTP/1.0', GET.replace('1.1', '1.0').replace('host', 'connection: keep-alive\r\nhost')],
  ['upgrades', GET.replace('host', 'connection: upgrade\r\nupgrade: h2c\r\nhost')],
] as const;

describe.each([
  ['HTTP', undefined],
  ['HTTPS', { certificate: newServingCertificate().serving }],
])('over %s', (_protocol, tls) => {
  test.each(PIPELINED)('%s before the first answer end their connection', async (_what, sent) => {
    let parsed = 0;
    let served = 0;
    const count = (): void => void (parsed += 1);
    subscribe('http.server.request.start', count);
    const { port } = await start({
      listener: (_, response) => {
        served += 1;
        response.writeHead(404).end();
      },
      ...(tls === undefined ? {} : { tls }),
    });
    const socket =
      tls === undefined ? connect(port, '127.0.0.1') : connectTls({ port, rejectUnauthorized: false });
    socket.write(sent.repeat(5_000));
    await closed(socket);
    unsubscribe('http.server.request.start', count);
    // The first one of a read, and one more of the next.
    expect(Math.max(parsed, served)).toBeLessThanOrEqual(2);
  });
});

test('a body of very many small parts ends each connection of its client that waits for no answer', async () => {
  const { port } = await start({
    listener: (request, response) => {
      if (request.method === 'POST') request.resume();
      else response.end();
    },
  });
  const head = GET.replace('GET', 'POST').replace('\r\n\r\n', '\r\ntransfer-encoding: chunked\r\n\r\n');
  const sockets = Array.from({ length: 8 }, () => connect(port, '127.0.0.1'));
  const other = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' });
  const answered = (socket: Socket): Promise<unknown> => {
    socket.write(GET);
    return once(socket, 'data');
  };
  await Promise.all([...sockets, other].map(answered));
  const ended = sockets.map(closed);
  sockets[0]?.write(`${head}${'1\r\nx\r\n'.repeat(2_000)}`);
  await Promise.all(ended);
  await answered(other);
  other.destroy();
});

test('a request to upgrade is answered as any other, and is the last one', async () => {
  const { port } = await start();
  const socket = connect(port, '127.0.0.1');
  socket.write(GET.replace('host', 'connection: upgrade\r\nupgrade: h2c\r\nhost'));
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /);
  await closed(socket);
});

test('a request without a body keeps its connection', async () => {
  const { port } = await start({ listener: (_, response) => void response.writeHead(404).end() });
  const socket = connect(port, '127.0.0.1');
  for (let asked = 0; asked < 2; asked += 1) {
    socket.write('GET /x HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(String((await once(socket, 'data'))[0])).toMatch(/^HTTP\/1\.1 404 /);
  }
  socket.destroy();
});

test('a port in use: rejects', async () => {
  const { port } = await start();
  await expect(serve({ listener: () => undefined, port, requestMs: 500 })).rejects.toMatchObject({
    code: 'EADDRINUSE',
  });
});

describe('with an authority for clients', () => {
  const { client, ca } = newClientCertificate();

  async function statusFor(certificate: KeyPair | undefined): Promise<number | undefined> {
    const { port, useCertificate } = await start({ tls: { clientCa: ca } });
    useCertificate(newServingCertificate().serving);
    const request = httpsRequest({ port, rejectUnauthorized: false, agent: false, ...certificate });
    request.end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    response.resume();
    return response.statusCode;
  }

  test.each([
    ['without a certificate', undefined],
    ['with one of another authority', newClientCertificate().client],
  ])('a client %s is not served', async (_what, certificate) => {
    await expect(statusFor(certificate)).rejects.toHaveProperty('code');
  });

  test('a client with one of it is served', async () => {
    expect(await statusFor(client)).toBe(200);
  });
});

test('without TLS: HTTP', async () => {
  const { port } = await start();
  const request = httpRequest({ port, agent: false });
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.resume();
  expect(response.statusCode).toBe(200);
});
