import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  anEvent,
  aStep,
  NOTHING,
  startHost,
  type Host,
  type Sent,
} from '../../test/support/environment/function-host.ts';
import { EVENT, REASON, SOURCE_EVENT } from '../domain/names.ts';
import type { StepRequest } from '../eventing/step-request.ts';
import { ApiError, Unreachable } from '../kubernetes/errors.ts';
import type { Outcome } from './step.ts';

let host: Host | undefined;
afterEach(async () => {
  await host?.close();
  host = undefined;
});

/** A host with one step that runs on one of our events and on all of the source's. */
async function hostOf(handle: (request: StepRequest) => Outcome | Promise<Outcome>): Promise<Host> {
  const triggers = [EVENT.migrationFeasible, ...Object.values(SOURCE_EVENT)].map((type) => ({ type }));
  host = await startHost([aStep(handle, { triggers })]);
  return host;
}

const apiError = (code: number, reason: string): ApiError =>
  new ApiError('PUT /api/v1/namespaces/tenant', { code, reason, message: 'no' }, new Date(0));

const throwing = (error: Error) => (): never => {
  throw error;
};

describe('the answer to the Broker', () => {
  const replying = (): Outcome => ({
    ...NOTHING,
    reply: { type: EVENT.namespaceLocked, from: 'lock', namespace: 'tenant', token: 'token-1' },
  });

  test.each<[string, (request: StepRequest) => Outcome, number]>([
    ['the next event', replying, 200],
    ['no reply', () => NOTHING, 204],
    ['a lost race', throwing(apiError(409, 'Conflict')), 204],
    ['an object that is there already', throwing(apiError(409, 'AlreadyExists')), 503],
    ['a missing permission', throwing(apiError(403, 'Forbidden')), 503],
    ['an object that is gone', throwing(apiError(404, 'NotFound')), 503],
    ['a busy API server', throwing(apiError(429, 'TooManyRequests')), 503],
    ['a broken API server', throwing(apiError(500, 'InternalError')), 503],
    ['no API server', throwing(new Unreachable('no answer')), 503],
    ['a defect in a step', throwing(new TypeError('x is not a function')), 503],
    ['an error with a status of its own', throwing(Object.assign(new Error('no'), { statusCode: 200 })), 503],
  ])('%s', async (_, handle, want) => {
    const { send } = await hostOf(handle);
    const { status, body, headers } = await send(anEvent());
    expect(status).toBe(want);
    if (status === 200) return;
    // A body that is no CloudEvent makes the Broker retry (2xx), or send it to the dead letter sink (5xx).
    expect(body).toBe('');
    expect(Object.keys(headers).filter((name) => name.startsWith('ce-'))).toEqual([]);
  });

  test('the next event is a binary CloudEvent', async () => {
    const { send } = await hostOf(replying);
    const { headers, body } = await send(anEvent());
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'ce-specversion': '1.0',
      'ce-id': 'lock/namespace.locked/tenant/token-1',
      'ce-type': EVENT.namespaceLocked,
      'ce-source': '/mtq/lock',
      'ce-subject': 'tenant',
      'ce-mtqtoken': 'token-1',
    });
    expect(JSON.parse(body)).toEqual({ namespace: 'tenant', token: 'token-1' });
  });

  test('the same cause gives the same event', async () => {
    const { send } = await hostOf(replying);
    const [one, other] = await Promise.all([
      send(anEvent({ 'ce-id': 'a' })),
      send(anEvent({ 'ce-id': 'b' })),
    ]);
    expect(one.headers['ce-id']).toBe(other.headers['ce-id']);
    expect(one.body).toBe(other.body);
  });
});

describe('an answer that no header can carry', () => {
  const structured = (id: string): Sent => ({
    headers: { 'content-type': 'application/cloudevents+json' },
    body: JSON.stringify({
      ...{ specversion: '1.0', id, source: '/x', type: EVENT.migrationFeasible },
      data: { namespace: 'tenant' },
    }),
  });
  const repeating = ({ id }: StepRequest): Outcome => ({
    ...NOTHING,
    reply: { type: EVENT.migrationInfeasible, from: 'lock', namespace: 'tenant', cause: id },
  });

  test.each([
    ['a line break in the id', 'a\nb'],
    ['a character beyond Latin-1 in the id', 'a→b'],
  ])('%s: 500 at once, without the headers that it can carry', async (_, id) => {
    const { send, lines } = await hostOf(repeating);
    const { status, headers, body } = await send(structured(id));
    expect([status, body]).toEqual([500, '']);
    expect(Object.keys(headers).filter((name) => name.startsWith('ce-'))).toEqual([]);
    expect(lines).toContainEqual(
      expect.objectContaining({ level: 'error', message: expect.stringContaining('the answer was lost') }),
    );
    expect((await send(structured('a'))).headers).toHaveProperty(
      'ce-id',
      'lock/migration.infeasible/tenant/a',
    );
  });
});

describe('events that no step can use: dropped, logged, and no step runs', () => {
  const structured = (event: object | string): Sent => ({
    headers: { 'content-type': 'application/cloudevents+json' },
    body: typeof event === 'string' ? event : JSON.stringify(event),
  });
  const source = (namespace: string | undefined): Sent =>
    anEvent({ 'ce-type': SOURCE_EVENT.update, 'ce-kind': 'Namespace', 'ce-namespace': namespace });
  const whole = { specversion: '1.0', id: '1', source: '/x', type: EVENT.migrationFeasible };

  test.each<[string, Sent]>([
    ['a type that no step handles', anEvent({ 'ce-type': EVENT.quotaLowered }, { namespace: 'tenant' })],
    ['an unknown type', anEvent({ 'ce-type': 'com.example.order' })],
    ['a type that every object has', anEvent({ 'ce-type': 'constructor' })],
    ['no type', anEvent({ 'ce-type': undefined })],
    ['no id', anEvent({ 'ce-id': undefined })],
    ['no source', anEvent({ 'ce-source': undefined })],
    ['another specversion', anEvent({ 'ce-specversion': '0.2' })],
    ['an empty source', anEvent({ 'ce-source': '' })],
    ['no CloudEvent', { headers: { 'content-type': 'application/json' }, body: '{"namespace":"tenant"}' }],
    ['nothing', {}],
    ['data that is not JSON', { ...anEvent(), body: '{"namespace":' }],
    ['data that is no object', anEvent({}, ['tenant'])],
    ['no namespace', anEvent({}, { token: 'token-1' })],
    ['a namespace that cannot be one', anEvent({}, { namespace: 'tenant/../other' })],
    ['an object without a namespace (cluster-scoped)', source('')],
    ['an object event without the attribute', source(undefined)],
    ['structured: not JSON', structured('{')],
    ['structured: no object', structured('null')],
    ['structured: no type', structured({ ...whole, type: undefined, data: { namespace: 'tenant' } })],
    ['structured: no source', structured({ ...whole, source: undefined, data: { namespace: 'tenant' } })],
    ['structured: no data', structured(whole)],
    [
      'a batch',
      {
        headers: { 'content-type': 'application/cloudevents-batch+json' },
        body: JSON.stringify([{ ...whole, data: { namespace: 'tenant' } }]),
      },
    ],
  ])('%s', async (_, sent) => {
    const seen: StepRequest[] = [];
    const { send, lines } = await hostOf((request) => {
      seen.push(request);
      return NOTHING;
    });
    const { status, headers } = await send(sent);
    expect([status, seen]).toEqual([400, []]);
    expect(Object.keys(headers).filter((name) => name.startsWith('ce-'))).toEqual([]);
    expect(lines.map(({ level }) => level)).toContain('warn');
  });

  test('the server goes on serving', async () => {
    const { send } = await hostOf(() => NOTHING);
    await send({ ...anEvent(), body: '{' });
    expect((await send(anEvent())).status).toBe(204);
  });
});

describe('size', () => {
  const LARGEST = 256 * 1024;
  const sized = (bytes: number): Sent => {
    const [start, end] = ['{"namespace":"tenant","message":"', '"}'];
    const fill = 'x'.repeat(Math.max(0, 100 - start.length - end.length));
    const body = start + fill + end;
    return { ...anEvent(), body: body + ' '.repeat(bytes - body.length) };
  };

  test.each([
    ['256 KiB', LARGEST, 204],
    ['256 KiB and one byte', LARGEST + 1, 413],
    ['far too large', LARGEST * 4, 413],
  ])('%s', async (_, bytes, want) => {
    let runs = 0;
    const { send, lines } = await hostOf(() => {
      runs += 1;
      return NOTHING;
    });
    const { status } = await send(sized(bytes));
    expect([status, runs]).toEqual([want, want === 204 ? 1 : 0]);
    if (want === 413) expect(lines).toMatchObject([{ level: 'warn' }]);
    expect((await send(anEvent())).status).toBe(204);
  });
});

/** A pod's connections, each with an event of 250 KiB that it does not end. */
test('unfinished events take no more than 16 MiB, and others are served', async () => {
  const { port, send } = await hostOf(() => NOTHING);
  const head = `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${String(256 * 1024)}\r\n\r\n`;
  const sockets = Array.from({ length: 200 }, () => connect(port, '127.0.0.1'));
  for (const socket of sockets) {
    socket.on('error', () => undefined).resume();
    await once(socket, 'connect');
    socket.write(head + 'x'.repeat(250 * 1024));
  }
  const open = (): number => sockets.filter(({ closed }) => !closed).length;
  while (open() > 70) await delay(20);
  expect((await send(anEvent())).status).toBe(204);
  for (const socket of sockets) socket.destroy();
});

describe('requests that are no events', () => {
  test.each(['/health/liveness', '/health/readiness', '/health/readiness?from=probe'])(
    'GET %s',
    async (path) => {
      const { send } = await hostOf(throwing(new Error('never')));
      expect(await send({ method: 'GET', path })).toMatchObject({ status: 200, body: 'ok' });
    },
  );

  test('health answers while a step is at work', async () => {
    const resume = Promise.withResolvers<Outcome>();
    const started = Promise.withResolvers<undefined>();
    const { send } = await hostOf(() => {
      started.resolve(undefined);
      return resume.promise;
    });
    const answer = send(anEvent());
    await started.promise;
    expect((await send({ method: 'GET', path: '/health/readiness' })).status).toBe(200);
    resume.resolve({ ...NOTHING, reason: REASON.locked });
    expect((await answer).status).toBe(204);
  });

  test.each<[string, string, number]>([
    ['GET', '/', 405],
    ['PUT', '/', 405],
    ['POST', '/other', 404],
    ['GET', '/health', 404],
  ])('%s %s: %d', async (method, path, want) => {
    const { send } = await hostOf(throwing(new Error('never')));
    const event = method === 'GET' ? {} : anEvent();
    expect((await send({ ...event, method, path })).status).toBe(want);
  });
});
