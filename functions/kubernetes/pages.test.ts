import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { ServerResponse } from 'node:http';
import { afterEach, expect, test } from '@jest/globals';
import { metadata } from '../../test/support/builders/object.ts';
import { newServingCertificate } from '../../test/cluster/serving-certificate.ts';
import type { KubernetesObject, Pod } from '../domain/objects.ts';
import { Client } from './api-client.ts';
import type { ListedType } from './cluster.ts';
import { isGone, TooMuch, Unreachable } from './errors.ts';
import { PODS, RESOURCE_QUOTAS } from './resources.ts';
import { Transport } from './transport.ts';

const KIB = 1024;
const { serving: certificate, ca } = newServingCertificate();
const REVISION = '7';
const PAGE = 4_000;

/** Pods without annotations and containers. */
const NAMED_PODS: ListedType<Pod> = {
  ...PODS,
  trim: ({ metadata: { annotations, ...kept } }) => ({
    object: { metadata: kept, spec: { containers: [] } },
    size: 200,
  }),
};

let servers: Server[] = [];
afterEach(() => {
  for (const server of servers) {
    server.close();
    server.closeAllConnections();
  }
  servers = [];
});

interface Stored {
  /** Items as text, so that what is large is made once. */
  readonly items: readonly string[];
  /** Returns everything at once for resourceVersion 0. */
  readonly ignoresLimit?: boolean;
  /** The first so many requests get no answer. */
  readonly dead?: number;
  /** Number of times that a later page is gone. */
  readonly expires?: number;
}

interface Fake {
  readonly client: Client;
  /** The query of each request. */
  readonly asked: string[];
  /** Requests for less than a whole page at the same time, at most. */
  readonly maxAlone: () => number;
}

/** A list of an API server, by limit and continue. */
async function serving(
  { items, ignoresLimit = false, expires = 0, dead = 0 }: Stored,
  maxKeptBytes?: number,
): Promise<Fake> {
  const asked: string[] = [];
  let [alone, max, left, silent] = [0, 0, expires, dead];
  const server = createServer(certificate, (request, response) => {
    const query = new URL(request.url ?? '', 'https://localhost').searchParams;
    asked.push(query.toString());
    if (silent > 0) {
      silent -= 1;
      request.socket.destroy();
      return;
    }
    const limit = Number(query.get('limit'));
    if (limit < PAGE) {
      max = Math.max(max, (alone += 1));
      response.on('close', () => (alone -= 1));
    }
    const from = Number(query.get('continue') ?? 0);
    if (from > 0 && left > 0) {
      left -= 1;
      send(response, 410, JSON.stringify({ kind: 'Status', code: 410, reason: 'Expired' }));
      return;
    }
    const isAll = ignoresLimit && query.get('resourceVersion') === '0';
    const to = isAll ? items.length : from + limit;
    const next = to < items.length ? String(to) : '';
    const about = JSON.stringify({ resourceVersion: REVISION, continue: next });
    send(response, 200, `{"metadata":${about},"items":[${items.slice(from, to).join()}]}`);
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const where = new URL(`https://localhost:${port}`);
  const access = {
    server: where,
    credentials: () => Promise.resolve({ ca, headers: {}, family: 4 }),
  };
  return {
    client: new Client(new Transport(access, 'test'), 'test', maxKeptBytes),
    asked,
    maxAlone: () => max,
  };
}

function send(response: ServerResponse, status: number, body: string): void {
  response.writeHead(status, { date: new Date(0).toUTCString() });
  response.end(body);
}

const podText = (name: string, more: object = {}): string =>
  JSON.stringify({ metadata: { ...metadata(name), ...more }, spec: { containers: [] } });

const pods = (count: number, kib: number): string[] => {
  const annotations = { theirs: 'x'.repeat(kib * KIB) };
  return Array.from({ length: count }, (_, index) => podText(`pod-${index}`, { annotations }));
};

const names = (items: readonly KubernetesObject[]): string[] => items.map(({ metadata: { name } }) => name);
const wanted = (count: number): string[] => Array.from({ length: count }, (_, index) => `pod-${index}`);

const limits = (asked: readonly string[]): number[] =>
  asked.map((query) => Number(new URLSearchParams(query).get('limit')));

test.each<[string, readonly string[], readonly number[]]>([
  ['what is usual is one request', pods(500, 10), [4_000]],
  ['many are pages', pods(9_000, 0), [4_000, 4_000, 4_000]],
  ['large ones are asked for again, fewer at a time', pods(80, 120), [4_000, 500, 63, 63]],
  [
    'small ones after large ones are more at a time again',
    [...pods(20, 500), ...pods(180, 1)],
    [4_000, 500, 63, 8, 8, 8, 16, 128, 1_024],
  ],
  [
    'one that is larger than a page comes alone',
    [...pods(1, 9 * KIB), ...pods(1, 1)],
    [4_000, 500, 63, 8, 1, 1],
  ],
])('%s', async (_what, items, want) => {
  const { client, asked } = await serving({ items });
  const list = await client.list(NAMED_PODS, { namespace: 'tenant' });
  expect(names(list.items)).toEqual(items.map((text) => /pod-\d+/.exec(text)?.[0]));
  expect(list).toMatchObject({ resourceVersion: REVISION, date: new Date(0) });
  expect(limits(asked)).toEqual(want);
});

test('a page of many tiny parts is as large as one of many bytes', async () => {
  const parts = `[${Array.from({ length: 200_000 }, () => '{}').join()}]`;
  const items = wanted(4).map(
    (name) => `{"metadata":${JSON.stringify(metadata(name))},"spec":{"imagePullSecrets":${parts}}}`,
  );
  const { client, asked } = await serving({ items });
  expect(names((await client.list(NAMED_PODS, {})).items)).toEqual(wanted(4));
  // It is little text: more are tried each time.
  expect(limits(asked)).toEqual([4_000, 500, 63, 8, 1, 6, 1, 6, 1, 6]);
});

test('a list from the watch cache may come all at once: then the current state is read in pages', async () => {
  const { client, asked } = await serving({ items: pods(80, 120), ignoresLimit: true });
  const { items } = await client.list(NAMED_PODS, {}, { resourceVersion: '0' });
  expect(names(items)).toEqual(wanted(80));
  expect(asked).toEqual(['resourceVersion=0&limit=4000', 'limit=500', 'limit=63', 'continue=63&limit=63']);
});

test('a later page that is no longer there: the list starts again', async () => {
  const { client, asked } = await serving({ items: pods(4_100, 0), expires: 2 });
  expect(names((await client.list(NAMED_PODS, {})).items)).toEqual(wanted(4_100));
  expect(asked).toHaveLength(6);
});

test('a list starts again only a few times', async () => {
  const { client, asked } = await serving({ items: pods(4_100, 0), expires: 10 });
  const error = await client.list(NAMED_PODS, {}).catch((thrown: unknown) => thrown);
  expect(isGone(error)).toBe(true);
  expect(asked).toHaveLength(6);
});

test('a list without an answer is read in smaller pages next time, until an answer comes', async () => {
  const { client, asked } = await serving({ items: pods(10, 1), dead: 2 });
  for (const isAnswered of [false, false, true, true]) {
    const list = client.list(NAMED_PODS, {});
    if (isAnswered) expect((await list).items).toHaveLength(10);
    else await expect(list).rejects.toThrow(Unreachable);
  }
  expect(limits(asked)).toEqual([4_000, 500, 63, 4_000]);
});

test('an object that may be written again is whole, and has its kind', async () => {
  const quota = { metadata: { ...metadata('quota'), finalizers: ['theirs'] }, spec: {}, more: 'theirs' };
  const { client } = await serving({ items: [JSON.stringify(quota)] });
  const { items } = await client.list(RESOURCE_QUOTAS, {});
  expect(items).toEqual([{ ...quota, apiVersion: 'v1', kind: 'ResourceQuota' }]);
});

test.each([
  ['whole', { type: RESOURCE_QUOTAS, count: 10, isTooMuch: true }],
  ['trimmed', { type: NAMED_PODS, count: 10, isTooMuch: false }],
  ['trimmed, and too many', { type: NAMED_PODS, count: 4_000, isTooMuch: true }],
])('a list keeps no more than its limit: %s', async (_what, { type, count, isTooMuch }) => {
  const { client } = await serving({ items: pods(count, 100 / count) }, 256 * KIB);
  const listed = client.list<KubernetesObject>(type as never, {});
  if (isTooMuch) await expect(listed).rejects.toThrow(TooMuch);
  else expect((await listed).items).toHaveLength(count);
});

test('many lists at once: the large ones wait for each other', async () => {
  const { client, asked, maxAlone } = await serving({ items: pods(70, 100) });
  const lists = await Promise.all(Array.from({ length: 6 }, () => client.list(NAMED_PODS, {})));
  for (const { items } of lists) expect(names(items)).toEqual(wanted(70));
  expect(limits(asked).filter((limit) => limit < PAGE)).not.toHaveLength(0);
  expect(maxAlone()).toBe(1);
});
