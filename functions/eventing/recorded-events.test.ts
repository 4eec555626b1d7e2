import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { recordedRequest } from '../../test/cluster/eventing/recorded.ts';
import {
  aStep,
  NOTHING,
  startHost,
  type Host,
  type Sent,
} from '../../test/support/environment/function-host.ts';
import type { StepRequest } from './step-request.ts';
import { KIND, SOURCE_EVENT } from '../domain/names.ts';
import { parseEventObject } from './event-object.ts';

/** Every request that the real adapter and the real Broker sent. */
const NAMES = readdirSync(new URL('../../test/recorded', import.meta.url))
  .filter((file) => /^(adapter|broker)-.*\.json$/.test(file))
  .map((file) => file.replace('.json', ''));

/** Events not about an object in a namespace: of another type (a test environment's, a mode that we do not use), or cluster-scoped. */
const NOT_FOR_US = [
  'broker-dead-letter-400-json-body',
  'broker-dead-letter-503',
  'broker-dead-letter-connection-refused',
  'broker-dead-letter-non-ce-reply',
  'broker-function-reply-as-next-event',
  'broker-namespace-update-cluster-scoped',
  'broker-plain-event-first-hop',
  'broker-pod-add-reference-mode',
];
const FOR_US = NAMES.filter((name) => !NOT_FOR_US.includes(name));

let host: Host;
let requests: StepRequest[];

beforeAll(async () => {
  const triggers = Object.values(SOURCE_EVENT).map((type) => ({ type }));
  const step = aStep(
    (request) => {
      requests.push(request);
      return NOTHING;
    },
    { triggers },
  );
  host = await startHost([step]);
});
beforeEach(() => {
  requests = [];
});
afterAll(() => host.close());

test('there are some of each', () => {
  expect(NAMES).toEqual(expect.arrayContaining(NOT_FOR_US));
  expect(FOR_US.length).toBeGreaterThanOrEqual(20);
});

describe('recorded requests', () => {
  test.each(FOR_US)('%s: runs a step with the address of its object, and its event object', async (name) => {
    const request = recorded(name);
    expect(await host.send(request)).toMatchObject({ status: 204, body: '' });
    expect(requests).toEqual([stepRequestOf(request)]);
  });

  test.each(FOR_US)('%s: means the same in structured form', async (name) => {
    const request = recorded(name);
    expect(await host.send(structured(request))).toMatchObject({ status: 204 });
    expect(requests).toEqual([stepRequestOf(request)]);
  });

  test.each(NOT_FOR_US)('%s: runs no step', async (name) => {
    expect(await host.send(recorded(name))).toMatchObject({ status: 400 });
    expect(requests).toEqual([]);
  });
});

type Request = Required<Pick<Sent, 'headers' | 'body'>>;

/** The request as on the wire, except for the length: the adapter's bodies are re-indented in the files. */
function recorded(name: string): Request {
  const { headers, body } = recordedRequest(name);
  const lower = headers.map(([key, value]) => [key.toLowerCase(), value] as const);
  return {
    headers: Object.fromEntries(lower.filter(([key]) => key !== 'content-length' && key !== 'host')),
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}

/** The request by its attributes; the object itself only where its kind is watched. */
function stepRequestOf({ headers, body }: Request): StepRequest {
  const { 'ce-type': type = '', 'ce-id': id = '', 'ce-namespace': namespace = '' } = headers;
  const kind = headers['ce-kind'] ?? '';
  const eventObject = parseEventObject(JSON.parse(body), { kind, namespace });
  expect(eventObject?.kind).toBe(
    Object.values(KIND).some((watched) => watched.kind === kind) ? kind : undefined,
  );
  return { type, id, namespace, kind, ...(eventObject === undefined ? {} : { eventObject }) };
}

function structured({ headers, body }: Request): Request {
  const attributes = Object.entries(headers)
    .filter(([name]) => name.startsWith('ce-'))
    .map(([name, value]) => [name.slice('ce-'.length), value]);
  const event = { ...Object.fromEntries(attributes), data: JSON.parse(body) as unknown } as object;
  return {
    headers: { 'content-type': 'application/cloudevents+json; charset=utf-8' },
    body: JSON.stringify({ datacontenttype: 'application/json', ...event }),
  };
}
