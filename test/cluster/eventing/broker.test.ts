import { afterEach, describe, expect, test } from '@jest/globals';
import { startBroker, type BrokerOptions, type Hop, type RunningBroker } from './broker.ts';
import { resolveDestination } from './addresses.ts';
import { parseBroker, parseTrigger, type Delivery } from './manifests.ts';
import { recordingSink, type Recorded, type RecordingSink, type Reply } from './recordingsink.ts';

const ending: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end();
});

type Answer = Parameters<typeof recordingSink>[0];

async function sink(answer?: Answer): Promise<RecordingSink> {
  const started = await recordingSink(answer);
  ending.push(() => started.close());
  return started;
}

interface MakeTrigger {
  readonly name: string;
  readonly type?: string;
  readonly to: string;
  readonly delivery?: Delivery;
}

const NAMESPACE = 'mtq-system';
const RETRY_3: Delivery = { retry: 3, backoffPolicy: 'linear', backoffDelay: 'PT1S' };

const makeTrigger = ({ name, type, to, delivery = RETRY_3 }: MakeTrigger) =>
  parseTrigger({
    apiVersion: 'eventing.knative.dev/v1',
    kind: 'Trigger',
    metadata: { name, namespace: NAMESPACE },
    spec: {
      broker: 'mtq',
      ...(type === undefined ? {} : { filter: { attributes: { type } } }),
      subscriber: { uri: to },
      delivery,
    },
  });

const makeBroker = (annotations: Record<string, string> = {}) =>
  parseBroker({
    apiVersion: 'eventing.knative.dev/v1',
    kind: 'Broker',
    metadata: { name: 'mtq', namespace: NAMESPACE, annotations },
  });

const ASYNC = { 'messaging.knative.dev/async-handler': 'true' };

interface Harness extends RunningBroker {
  readonly hops: Hop[];
  readonly waits: number[];
}

/** Records the waits instead of waiting. */
async function broker(
  triggers: readonly MakeTrigger[],
  options: Partial<BrokerOptions> = {},
): Promise<Harness> {
  const hops: Hop[] = [];
  const waits: number[] = [];
  const started = await startBroker({
    broker: makeBroker(),
    triggers: triggers.map(makeTrigger),
    resolve: resolveDestination,
    delay: (ms) => {
      waits.push(ms);
      return Promise.resolve();
    },
    onTrace: (hop) => hops.push(hop),
    ...options,
  });
  ending.push(() => started.stop());
  return { ...started, hops, waits };
}

interface Send {
  readonly type?: string;
  readonly id?: string;
  readonly headers?: Record<string, string>;
}

async function send(url: string, { type = 'x', id = '1', headers = {} }: Send = {}): Promise<number> {
  const event = { 'ce-specversion': '1.0', 'ce-id': id, 'ce-source': 'test', 'ce-type': type };
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...event, ...headers },
    body: '{"x": 1}',
  });
  return answer.status;
}

const binaryReply = (type: string, status = 200): Reply => ({
  status,
  headers: {
    'content-type': 'application/json',
    ...{ 'ce-specversion': '1.0', 'ce-id': 'r', 'ce-source': 'f', 'ce-type': type },
  },
  body: '{"y":2}',
});

const structuredReply = (type: string): Reply => ({
  status: 202,
  headers: { 'content-type': 'application/cloudevents+json; charset=utf-8' },
  body: JSON.stringify({
    ...{ specversion: '1.0', id: 'r', source: 'f', type },
    ...{ datacontenttype: 'application/json', data: { y: 2 } },
  }),
});

const idsOf = (requests: readonly Recorded[]): unknown[] => requests.map(({ headers }) => headers['ce-id']);

describe('the reply rule', () => {
  test.each<{ name: string; reply: Reply; calls: number; next: number; outcome: string }>([
    { name: '200 empty: acknowledged', reply: { status: 200 }, calls: 1, next: 0, outcome: 'ack' },
    { name: '202 empty: acknowledged', reply: { status: 202 }, calls: 1, next: 0, outcome: 'ack' },
    { name: '204: acknowledged', reply: { status: 204 }, calls: 1, next: 0, outcome: 'ack' },
    {
      name: '200 with a binary event: published',
      reply: binaryReply('next'),
      calls: 1,
      next: 1,
      outcome: 'reply',
    },
    {
      name: '202 with a binary event: published',
      reply: binaryReply('next', 202),
      calls: 1,
      next: 1,
      outcome: 'reply',
    },
    {
      name: 'a structured event: published',
      reply: structuredReply('next'),
      calls: 1,
      next: 1,
      outcome: 'reply',
    },
    {
      name: '200 with any other body: a failure, retried',
      reply: { status: 200, body: '{"ok":true}' },
      calls: 4,
      next: 0,
      outcome: 'dropped',
    },
    {
      name: 'a structured event that is no JSON: a failure, retried',
      reply: { status: 200, headers: { 'content-type': 'application/cloudevents+json' }, body: 'no' },
      calls: 4,
      next: 0,
      outcome: 'dropped',
    },
  ])('$name', async ({ reply, calls, next, outcome }) => {
    const subscriber = await sink(() => reply);
    const follower = await sink();
    const { url, hops } = await broker([
      { name: 'first', type: 'x', to: subscriber.url },
      { name: 'second', type: 'next', to: follower.url },
    ]);
    const status = await send(url);
    expect(subscriber.requests).toHaveLength(calls);
    expect(follower.requests.map(({ body }) => body)).toEqual(next === 1 ? ['{"y":2}'] : []);
    expect(hops.filter(({ trigger }) => trigger === 'first').at(-1)?.outcome).toBe(outcome);
    expect(status).toBe(outcome === 'dropped' ? 500 : 202);
  });

  test('a reply without a source is refused by the ingress, once, and its cause is a dead letter', async () => {
    const reply = binaryReply('next');
    const { 'ce-source': _, ...headers } = reply.headers ?? {};
    const subscriber = await sink(() => ({ ...reply, headers }));
    const letters = await sink();
    const delivery = { ...RETRY_3, deadLetterSink: { uri: letters.url } };
    const { url } = await broker([{ name: 'first', type: 'x', to: subscriber.url, delivery }]);
    expect(await send(url)).toBe(202);
    expect(subscriber.requests).toHaveLength(1);
    expect(letters.requests.map(({ headers: of }) => [of['ce-type'], of['ce-knativeerrorcode']])).toEqual([
      ['x', '400'],
    ]);
  });
});

describe('retries', () => {
  test.each([
    ...[500, 502, 503, 504, 404, 408, 409, 429].map((status) => ({ status, calls: 4 })),
    ...[400, 401, 403, 405, 410, 413, 422, 425, 304].map((status) => ({ status, calls: 1 })),
  ])('$status: $calls calls', async ({ status, calls }) => {
    const subscriber = await sink(() => ({ status }));
    const { url, hops } = await broker([{ name: 'only', to: subscriber.url }]);
    expect(await send(url)).toBe(500);
    expect(subscriber.requests).toHaveLength(calls);
    expect(hops.at(-1)).toMatchObject({ status, attempt: calls, outcome: 'dropped' });
  });

  test('follow a broken connection', async () => {
    const subscriber = await sink((_, number) => (number < 3 ? undefined : { status: 204 }));
    const { url, hops } = await broker([{ name: 'only', to: subscriber.url }]);
    expect(await send(url)).toBe(202);
    expect(hops.map(({ status, outcome }) => [status, outcome])).toEqual([
      [undefined, 'retry'],
      [undefined, 'retry'],
      [204, 'ack'],
    ]);
  });

  test.each<{ delivery: Delivery; waits: number[] }>([
    { delivery: { retry: 3, backoffPolicy: 'linear', backoffDelay: 'PT0.2S' }, waits: [0, 200, 400] },
    {
      delivery: { retry: 5, backoffPolicy: 'exponential', backoffDelay: 'PT0.2S' },
      waits: [200, 400, 800, 1600, 3200],
    },
    { delivery: { retry: 2 }, waits: [0, 0] },
    { delivery: {}, waits: [] },
  ])('waits as measured: $delivery', async ({ delivery, waits: want }) => {
    const subscriber = await sink(() => ({ status: 503 }));
    const { url, waits } = await broker([{ name: 'only', to: subscriber.url, delivery }]);
    await send(url);
    expect(waits).toEqual(want);
  });

  test('multiply along a chain of replies without dead letter sinks: 1, 4, 64', async () => {
    const [a, b, c] = [
      await sink(() => binaryReply('b')),
      await sink(() => binaryReply('c')),
      await sink(() => ({ status: 503 })),
    ];
    const { url } = await broker([
      { name: 'a', type: 'x', to: a.url },
      { name: 'b', type: 'b', to: b.url },
      { name: 'c', type: 'c', to: c.url },
    ]);
    expect(await send(url)).toBe(500);
    expect([a, b, c].map(({ requests }) => requests.length)).toEqual([1, 4, 64]);
  });

  test('do not multiply with a dead letter sink at its end: 1, 1, 4', async () => {
    const [a, b, c, letters] = [
      await sink(() => binaryReply('b')),
      await sink(() => binaryReply('c')),
      await sink(() => ({ status: 503 })),
      await sink(),
    ];
    const delivery = { ...RETRY_3, deadLetterSink: { uri: letters.url } };
    const { url } = await broker([
      { name: 'a', type: 'x', to: a.url },
      { name: 'b', type: 'b', to: b.url },
      { name: 'c', type: 'c', to: c.url, delivery },
    ]);
    expect(await send(url)).toBe(202);
    expect([a, b, c, letters].map(({ requests }) => requests.length)).toEqual([1, 1, 4, 1]);
  });

  test('follow a timeout, while the slow subscriber still handles the first request', async () => {
    const never = Promise.withResolvers<undefined>();
    const subscriber = await sink((_, number) => (number === 1 ? never.promise : { status: 204 }));
    // Long enough for the second answer on the busiest machine.
    const delivery = { retry: 1, timeout: 'PT2S' };
    const { url, hops } = await broker([{ name: 'only', to: subscriber.url, delivery }]);
    expect(await send(url)).toBe(202);
    expect(hops.map(({ status, outcome }) => [status, outcome])).toEqual([
      [undefined, 'retry'],
      [204, 'ack'],
    ]);
    never.resolve(undefined);
  });
});

describe('time to live', () => {
  test('ends a reply loop after 255 deliveries, without an error for its author', async () => {
    const subscriber = await sink(() => binaryReply('x'));
    const { url, idle } = await broker([{ name: 'loop', to: subscriber.url }], { broker: makeBroker(ASYNC) });
    expect(await send(url)).toBe(202);
    await subscriber.received(255);
    await idle();
    expect(subscriber.requests.every(({ headers }) => headers['ce-knativebrokerttl'] === undefined)).toBe(
      true,
    );
    expect(subscriber.requests).toHaveLength(255);
  });

  test.each([
    { ttl: '1', status: 400, calls: 0 },
    { ttl: '0', status: 400, calls: 0 },
    { ttl: '2', status: 202, calls: 1 },
    { ttl: '1000', status: 202, calls: 1 },
    { ttl: 'many', status: 202, calls: 1 },
  ])('of $ttl in an event leads to $status', async ({ ttl, status, calls }) => {
    const subscriber = await sink();
    const { url } = await broker([{ name: 'only', to: subscriber.url }]);
    expect(await send(url, { headers: { 'ce-knativebrokerttl': ttl } })).toBe(status);
    expect(subscriber.requests).toHaveLength(calls);
  });

  test('cannot be raised by a reply', async () => {
    const reply = binaryReply('next');
    const headers = { ...reply.headers, 'ce-knativebrokerttl': '1000' };
    const letters = await sink();
    const first = await sink(() => ({ ...reply, headers }));
    const second = await sink(() => ({ status: 400 }));
    const delivery = { deadLetterSink: { uri: letters.url } };
    const { url } = await broker([
      { name: 'first', type: 'x', to: first.url },
      { name: 'second', type: 'next', to: second.url, delivery },
    ]);
    await send(url);
    expect(letters.requests[0]?.headers['ce-knativebrokerttl']).toBe('254');
  });
});

describe('the ingress', () => {
  test.each<{ name: string; change: RequestInit; path?: string; status: number }>([
    { name: 'no POST', change: { method: 'PUT' }, status: 405 },
    { name: 'another Broker', change: {}, path: '/mtq-system/other', status: 404 },
    { name: 'no Broker', change: {}, path: '/', status: 400 },
    { name: 'no event', change: { headers: { 'content-type': 'application/json' } }, status: 400 },
    {
      name: 'an event without a type',
      change: { headers: { 'ce-specversion': '1.0', 'ce-id': '1' } },
      status: 400,
    },
    {
      name: 'an event of a batch',
      change: { headers: { 'content-type': 'application/cloudevents-batch+json' } },
      status: 400,
    },
  ])('$name: $status', async ({ change, path, status }) => {
    const { url } = await broker([]);
    const target = path === undefined ? url : new URL(path, url);
    expect((await fetch(target, { method: 'POST', body: '{}', ...change })).status).toBe(status);
  });

  test('delivers a structured event in binary form', async () => {
    const subscriber = await sink();
    const { url } = await broker([{ name: 'only', to: subscriber.url }]);
    const { headers = {}, body = '' } = structuredReply('x');
    await fetch(url, { method: 'POST', headers: { ...headers }, body });
    expect(subscriber.requests[0]).toMatchObject({
      body: '{"y":2}',
      headers: { 'ce-type': 'x', 'ce-id': 'r', 'content-type': 'application/json', prefer: 'reply' },
    });
  });

  test('delivers an event to each matching Trigger, and not to others or to those of other Brokers', async () => {
    const [a, b, c, foreign] = [await sink(), await sink(), await sink(), await sink()];
    const other = makeTrigger({ name: 'foreign', to: foreign.url });
    const own = [
      makeTrigger({ name: 'a', type: 'x', to: a.url }),
      makeTrigger({ name: 'b', to: b.url }),
      makeTrigger({ name: 'c', type: 'y', to: c.url }),
    ];
    const triggers = [...own, { ...other, spec: { ...other.spec, broker: 'other' } }];
    const { url } = await broker([], { triggers });
    await send(url);
    expect([a, b, c, foreign].map(({ requests }) => requests.length)).toEqual([1, 1, 0, 0]);
  });

  test('is synchronous by default, and answers after the delivery', async () => {
    const { promise, resolve } = Promise.withResolvers<Reply>();
    const subscriber = await sink(() => promise);
    const { url } = await broker([{ name: 'slow', to: subscriber.url }]);
    const order: string[] = [];
    const sent = send(url).then(() => order.push('answered'));
    await subscriber.received(1);
    order.push('delivered');
    resolve({ status: 204 });
    await sent;
    expect(order).toEqual(['delivered', 'answered']);
  });

  test('answers 202 at once with the annotation, whatever the result of the delivery', async () => {
    const { promise, resolve } = Promise.withResolvers<Reply>();
    const subscriber = await sink(() => promise);
    const harness = await broker([{ name: 'slow', to: subscriber.url }], { broker: makeBroker(ASYNC) });
    expect(await send(harness.url)).toBe(202);
    resolve({ status: 503 });
    await harness.idle();
    expect(harness.hops.map(({ outcome }) => outcome)).toEqual(['retry', 'retry', 'retry', 'dropped']);
  });
});

describe('faults on demand', () => {
  test('lose accepts an event without a delivery, until it ends', async () => {
    const subscriber = await sink();
    const harness = await broker([{ name: 'only', to: subscriber.url }]);
    harness.lose(({ event, trigger }) => trigger === 'only' && event.attributes.id === '1');
    expect(await send(harness.url, { id: '1' })).toBe(202);
    expect(await send(harness.url, { id: '2' })).toBe(202);
    harness.lose(undefined);
    await send(harness.url, { id: '1' });
    expect(idsOf(subscriber.requests)).toEqual(['2', '1']);
    expect(harness.hops.map(({ outcome }) => outcome)).toEqual(['lost', 'ack', 'ack']);
  });

  test('deliverTwice delivers the same event twice', async () => {
    const subscriber = await sink();
    const harness = await broker([{ name: 'only', to: subscriber.url }]);
    harness.deliverTwice(() => true);
    await send(harness.url, { id: '7' });
    expect(idsOf(subscriber.requests)).toEqual(['7', '7']);
  });

  test('hold lets other events overtake', async () => {
    const subscriber = await sink();
    const harness = await broker([{ name: 'only', to: subscriber.url }], { broker: makeBroker(ASYNC) });
    const resume = harness.hold(({ event }) => event.attributes.id === '1');
    await send(harness.url, { id: '1' });
    await send(harness.url, { id: '2' });
    await subscriber.received(1);
    resume();
    await harness.idle();
    expect(idsOf(subscriber.requests)).toEqual(['2', '1']);
  });
});

test('the Broker does not start with an unsupported filter, and names its Trigger', async () => {
  const trigger = makeTrigger({ name: 'odd', to: 'http://127.0.0.1:9' });
  const odd = { ...trigger, spec: { ...trigger.spec, filters: [{ cesql: "type = 'x'" }] } };
  await expect(broker([], { triggers: [odd] })).rejects.toThrow(/Trigger mtq-system\/odd: cesql/);
});
