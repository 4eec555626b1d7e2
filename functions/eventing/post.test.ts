import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { OurEvent } from '../domain/events.ts';
import { EVENT } from '../domain/names.ts';
import { postEvent, silentAmong } from './post.ts';

const unlocked: OurEvent = {
  type: EVENT.namespaceUnlocked,
  from: 'unlock',
  namespace: 'tenant',
  token: 'token-1',
};

let servers: Server[] = [];
afterEach(async () => {
  await Promise.all(
    servers.map(async (server) => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    }),
  );
  servers = [];
});

interface Creator {
  readonly url: string;
  readonly requests: { method: string | undefined; headers: IncomingMessage['headers']; body: string }[];
}

/** A server that answers everything with this status, after `ready`; undefined: never. */
async function answering(status: number | undefined, ready = Promise.resolve()): Promise<Creator> {
  const requests: Creator['requests'] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method, headers } = request;
      requests.push({ method, headers, body: Buffer.concat(chunks).toString('utf8') });
      if (status !== undefined) void ready.then(() => response.writeHead(status).end());
    });
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`, requests };
}

/** A URL where no server listens any more. */
async function unusedUrl(): Promise<string> {
  const { url } = await answering(200);
  const server = servers.pop();
  server?.close();
  return url;
}

describe('postEvent', () => {
  test.each([200, 202, 204])('resolves when the Broker accepts it: %d', async (status) => {
    const { url, requests } = await answering(status);
    await postEvent({ url }, unlocked);
    expect(requests).toMatchObject([
      {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'ce-type': EVENT.namespaceUnlocked,
          'ce-source': '/mtq/unlock',
          'ce-id': 'unlock/namespace.unlocked/tenant/token-1',
          'ce-mtqtoken': 'token-1',
        },
        body: JSON.stringify({ namespace: 'tenant', token: 'token-1' }),
      },
    ]);
  });

  test('sends the newest token, where there is one', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'mtq-token-'));
    try {
      const tokenFile = join(folder, 'token');
      const { url, requests } = await answering(202);
      for (const token of ['one', 'two']) {
        await writeFile(tokenFile, `${token}\n`);
        await postEvent({ url, tokenFile }, unlocked);
      }
      await postEvent({ url }, unlocked);
      const said = requests.map(({ headers }) => headers.authorization);
      expect(said).toEqual(['Bearer one', 'Bearer two', undefined]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test.each([302, 400, 404, 500, 503])('rejects when it does not: %d', async (status) => {
    const { url } = await answering(status);
    await expect(postEvent({ url }, unlocked)).rejects.toThrow(
      `the Broker answered ${String(status)} to ${EVENT.namespaceUnlocked}`,
    );
  });

  test('rejects when there is no Broker', async () => {
    await expect(postEvent({ url: await unusedUrl() }, unlocked)).rejects.toThrow('ECONNREFUSED');
  });
});

describe('silentAmong', () => {
  const SOON_MS = 50;
  const LONG_MS = 60_000;

  test('requests all at once, and resolves with those that refuse or are not there when all have ended', async () => {
    const resume = Promise.withResolvers<undefined>();
    const late = await answering(200, resume.promise.then());
    const refusing = await answering(503);
    const unused = await unusedUrl();
    const asking = silentAmong([late.url, refusing.url, unused], LONG_MS);
    let isOver = false;
    void asking.then(() => (isOver = true));
    while (refusing.requests.length === 0 || late.requests.length === 0) await new Promise(setImmediate);
    expect(isOver).toBe(false);
    resume.resolve(undefined);
    expect(await asking).toEqual([refusing.url, unused]);
    expect([...late.requests, ...refusing.requests].map(({ method }) => method)).toEqual(['GET', 'GET']);
  });

  test('waits no longer than the given time', async () => {
    const { url } = await answering(undefined);
    expect(await silentAmong([url], SOON_MS)).toEqual([url]);
  });

  test.each([200, 302, 404])('a status of %d is an answer', async (status) => {
    expect(await silentAmong([(await answering(status)).url], LONG_MS)).toEqual([]);
  });

  test('has nothing to do without a URL', async () => {
    expect(await silentAmong([], LONG_MS)).toEqual([]);
  });
});
