import { once } from 'node:events';
import { createServer, request, type ClientRequest, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { BodyBudget } from './body-budget.ts';
import { ReviewBodies } from './review-body.ts';

const KIB = 1024;

let server: Server;
/** Ends a review that is under way. */
let reviewed: (() => void)[];

/** Starts a server without timeouts, whose bodies may use 1 MiB. A body `"waits…"` is reviewed until the test ends that. */
beforeEach(async () => {
  const bodies = new ReviewBodies(new BodyBudget(KIB * KIB));
  reviewed = [];
  const app = express().post('/', async (incoming, response) => {
    try {
      const read = await bodies.read(incoming, response);
      const body = 'body' in read ? read.body : undefined;
      if (typeof body === 'string' && body.startsWith('waits'))
        await new Promise<void>((resolve) => reviewed.push(resolve));
      response.status('status' in read ? read.status : 200).end();
    } finally {
      bodies.answered(incoming);
    }
  });
  server = createServer({ requestTimeout: 0, headersTimeout: 0 }, app);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

afterEach(() => {
  server.close().closeAllConnections();
});

const post = (): ClientRequest =>
  request({
    ...{ port: (server.address() as AddressInfo).port, host: '127.0.0.1', method: 'POST', agent: false },
    headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
  }).on('error', () => undefined);

/** Sends this in parts, and no end. Resolves when the server has closed the connection. */
function unfinished(sent: string, partBytes = sent.length): Promise<unknown> {
  const slow = post();
  for (let at = 0; at < sent.length; at += partBytes) slow.write(sent.slice(at, at + partBytes));
  return new Promise((resolve) => slow.once('close', resolve));
}

async function statusOf(body: string): Promise<number | undefined> {
  const sent = post();
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

const text = (kib: number, start = ''): string => JSON.stringify(start + 'x'.repeat(kib * KIB));

describe('the bodies of a server', () => {
  test('the slowest body is dropped where a whole one has no place', async () => {
    const slow = { isDropped: false };
    void unfinished(text(700).slice(0, -1)).then(() => (slow.isDropped = true));
    // The slow one may arrive later than the first of these.
    while (!slow.isDropped) expect(await statusOf(text(300))).toBe(200);
  });

  test('a body in parts of one byte is as large as the memory that it takes', async () => {
    await unfinished('1'.repeat(8 * KIB), 1);
  });

  test('a body whose values take more memory than its text is refused, and the next one is not', async () => {
    expect(await statusOf(`[${'{},'.repeat(6_000)}{}]`)).toBe(503);
    expect(await statusOf(`[${'{},'.repeat(2_000)}{}]`)).toBe(200);
    expect(await statusOf(`[${'{},'.repeat(2_000)}{}]`)).toBe(200);
  });

  test('a body counts until its review is answered', async () => {
    const first = statusOf(text(260, 'waits'));
    while (reviewed.length === 0) await new Promise(setImmediate);
    expect(await statusOf(text(260))).toBe(503);
    expect(await statusOf(text(30))).toBe(200);
    reviewed.forEach((end) => end());
    expect(await first).toBe(200);
    expect(await statusOf(text(260))).toBe(200);
  });
});
