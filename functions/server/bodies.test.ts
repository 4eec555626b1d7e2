import { once } from 'node:events';
import { createServer, request, type ClientRequest, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Bodies } from './bodies.ts';

const KIB = 1024;
const MAX_BYTES = 800 * KIB;

let server: Server;
/** Ends the work on a body. */
let atWork: (() => void)[];

/** A server without timeouts, whose bodies may use 1 MiB. A body `waits…` is at work until the test ends that, and takes no more memory. */
beforeEach(async () => {
  const bodies = new Bodies({ maxBytes: MAX_BYTES, budgetBytes: KIB * KIB });
  atWork = [];
  server = createServer({ requestTimeout: 0, headersTimeout: 0 }, (incoming, response) => {
    void bodies.read(incoming, response).then(async (body) => {
      const isHere = Buffer.isBuffer(body) && bodies.use(incoming, 0);
      if (isHere && body.subarray(0, 5).toString() === 'waits')
        await new Promise<void>((resolve) => atWork.push(resolve));
      bodies.free(incoming);
      response.writeHead(Buffer.isBuffer(body) ? (isHere ? 200 : 503) : body.status).end();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(() => {
  server.close().closeAllConnections();
});

const post = (
  headers: Readonly<Record<string, string>> = { 'transfer-encoding': 'chunked' },
): ClientRequest =>
  request({
    ...{ port: (server.address() as AddressInfo).port, host: '127.0.0.1', method: 'POST', agent: false },
    headers,
  }).on('error', () => undefined);

/** Sends this in parts, and no end. Resolves when the server has closed the connection. */
function unfinished(sent: string, partBytes = sent.length): Promise<unknown> {
  const slow = post();
  for (let at = 0; at < sent.length; at += partBytes) slow.write(sent.slice(at, at + partBytes));
  return new Promise((resolve) => slow.once('close', resolve));
}

async function answerTo(sent: ClientRequest): Promise<number | undefined> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

const statusOf = (body: string, headers?: Readonly<Record<string, string>>): Promise<number | undefined> =>
  answerTo(post(headers).end(body));

const text = (kib: number, start = ''): string => start + 'x'.repeat(kib * KIB);

describe('the bodies of a server', () => {
  test('the slowest body is dropped where a whole one has no place', async () => {
    const slow = { isDropped: false };
    void unfinished(text(700)).then(() => (slow.isDropped = true));
    // The slow one may arrive later than the first of these.
    while (!slow.isDropped) expect(await statusOf(text(300))).toBe(200);
  });

  test('a body in parts of one byte is as large as the memory that it takes', async () => {
    await unfinished('1'.repeat(8 * KIB), 1);
  });

  test('a body counts until its work is done', async () => {
    const first = statusOf(text(700, 'waits'));
    while (atWork.length === 0) await new Promise(setImmediate);
    await unfinished(text(400));
    expect(await statusOf(text(30))).toBe(200);
    atWork.forEach((end) => end());
    expect(await first).toBe(200);
    expect(await statusOf(text(300))).toBe(200);
  });

  test.each<[string, Readonly<Record<string, string>>, string, number]>([
    ['one of the maximum length', {}, 'x'.repeat(MAX_BYTES), 200],
    ['a longer one', {}, 'x'.repeat(MAX_BYTES + 1), 413],
    ['a longer one of no known length', { 'transfer-encoding': 'chunked' }, 'x'.repeat(MAX_BYTES + 1), 413],
    ['a compressed one', { 'content-encoding': 'gzip' }, 'x', 415],
    ['an empty one', {}, '', 200],
  ])('%s', async (_what, headers, body, status) => {
    expect(await statusOf(body, headers)).toBe(status);
  });

  test('an endless one ends its connection', async () => {
    const endless = post();
    const more = Buffer.alloc(KIB * KIB);
    const write = (): void => {
      while (!endless.destroyed && endless.write(more));
    };
    endless.on('drain', write);
    write();
    await new Promise((resolve) => endless.once('close', resolve));
  });
});
