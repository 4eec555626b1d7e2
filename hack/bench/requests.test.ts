import { describe, expect, test } from '@jest/globals';
import { countsOf, isFor, requestOf, type ApiRequest } from './requests.ts';

interface RequestFields {
  readonly user?: string;
  readonly verb?: string;
  readonly stage?: string;
  readonly uri?: string;
  readonly ref?: Record<string, string>;
  readonly code?: number;
}

/** A line as kube-apiserver writes it (v1.36), without the fields that we do not read. */
const line = (wish: RequestFields = {}): string =>
  JSON.stringify({
    kind: 'Event',
    stage: wish.stage ?? 'ResponseComplete',
    requestURI: wish.uri ?? '/api/v1/namespaces/red/resourcequotas/compute',
    verb: wish.verb ?? 'update',
    user: { username: wish.user ?? 'system:serviceaccount:mtq-system:mtq-raise' },
    objectRef: wish.ref ?? { resource: 'resourcequotas', namespace: 'red', name: 'compute' },
    responseStatus: { metadata: {}, code: wish.code ?? 200 },
    requestReceivedTimestamp: '2026-11-21T12:00:00.000900Z',
    stageTimestamp: '2026-11-21T12:00:00.004150Z',
  });

const read = (wish: RequestFields): ApiRequest => {
  const request = requestOf(line(wish));
  if (request === undefined) throw new Error('is not counted');
  return request;
};

describe('requestOf', () => {
  test('reads account, verb, namespace, time and duration, to the microsecond', () => {
    const { ms, at, ...rest } = read({});
    expect(rest).toEqual({
      account: 'mtq-raise',
      what: 'update resourcequotas',
      namespace: 'red',
      code: 200,
      isEvent: false,
      listsMigrations: false,
    });
    expect(at).toBeCloseTo(Date.parse('2026-11-21T12:00:00Z') + 0.9, 2);
    expect(ms).toBeCloseTo(3.25, 2);
  });

  const subjects: Readonly<Record<string, [wish: RequestFields, want: Partial<ApiRequest>]>> = {
    'a subresource': [
      { ref: { resource: 'resourcequotas', subresource: 'status', namespace: 'red', name: 'compute' } },
      { what: 'update resourcequotas/status' },
    ],
    'a dry run': [
      { verb: 'create', uri: '/api/v1/namespaces/red/resourcequotas?dryRun=All&fieldManager=x', code: 403 },
      { what: 'create resourcequotas (dry run)', code: 403 },
    ],
    'a namespace is about itself': [
      { ref: { resource: 'namespaces', name: 'red' } },
      { what: 'update namespaces', namespace: 'red' },
    ],
    'a list of the whole cluster': [
      { verb: 'list', ref: { resource: 'virtualmachineinstancemigrations' } },
      { what: 'list virtualmachineinstancemigrations', namespace: '' },
    ],
    'an Event': [
      { verb: 'create', ref: { resource: 'events', namespace: 'red' } },
      { what: 'create events', isEvent: true },
    ],
    'a read of Events writes none': [
      { verb: 'list', ref: { resource: 'events', namespace: 'red' } },
      { isEvent: false },
    ],
    'a watch, when it begins': [
      { verb: 'watch', stage: 'ResponseStarted' },
      { what: 'watch resourcequotas' },
    ],
  };

  test.each(Object.entries(subjects))('%s', (_name, [wish, want]) => {
    expect(read(wish)).toMatchObject(want);
  });
});

describe('listsMigrations', () => {
  const uri = '/apis/kubevirt.io/v1/namespaces/red/virtualmachineinstancemigrations';
  const ref = { resource: 'virtualmachineinstancemigrations', namespace: 'red' };

  test.each<[string, RequestFields, boolean]>([
    ['a page of a list', { verb: 'list', ref, uri: `${uri}?limit=4000` }, true],
    ['a list from the watch cache', { verb: 'list', ref, uri: `${uri}?resourceVersion=0&limit=4000` }, true],
    ['one migration', { verb: 'get', ref, uri: `${uri}/mig0` }, false],
    ['a list of another kind', { verb: 'list', uri: '/api/v1/namespaces/red/resourcequotas' }, false],
  ])('%s', (_, wish, want) => {
    expect(read(wish).listsMigrations).toBe(want);
  });
});

test.each<[string, RequestFields]>([
  ['other users', { user: 'admin' }],
  ['other service accounts', { user: 'system:serviceaccount:kubevirt:kubevirt-controller' }],
  ['the source, whose watches never end', { user: 'system:serviceaccount:mtq-system:mtq-source' }],
  ['the end of a watch', { verb: 'watch', stage: 'ResponseComplete' }],
  ['the start of a long response', { verb: 'list', stage: 'ResponseStarted' }],
  [
    'another user with our account in the URI',
    { user: 'admin', uri: '/x/system:serviceaccount:mtq-system:mtq-raise' },
  ],
])('ignores %s', (_name, wish) => {
  expect(requestOf(line(wish))).toBeUndefined();
});

test('a cycle has the requests of functions in all namespaces, and of the guard in its own', () => {
  const request = (account: string, namespace: string): ApiRequest => ({ ...read({}), account, namespace });
  const requests = [
    request('mtq-lock', ''),
    request('mtq-guard', 'red'),
    request('mtq-guard', ''),
    request('mtq-guard', 'blue'),
  ];

  expect(requests.filter(isFor('red'))).toEqual(requests.slice(0, 2));
});

test('countsOf counts by account and request, the most frequent first, and refusals separately', () => {
  const requests = [{ code: 403 }, {}, { verb: 'get' }, { verb: 'get' }].map(read);

  expect([...countsOf(requests)]).toEqual([
    ['mtq-raise get resourcequotas', 2],
    ['mtq-raise update resourcequotas → 403', 1],
    ['mtq-raise update resourcequotas', 1],
  ]);
});
