import { afterEach, describe, expect, test } from '@jest/globals';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { WatchEvent } from '../../../functions/kubernetes/cluster.ts';
import { ApiError, Unreachable } from '../../../functions/kubernetes/errors.ts';
import { ApiServerSourceAdapter, type AdapterOptions } from './adapter.ts';
import { FakeCluster } from './fakecluster.ts';
import { parseApiServerSource } from './manifests.ts';
import { normalised, pairs, recordedRequest } from './recorded.ts';
import { recordingSink, type RecordingSink } from './recordingsink.ts';
import { guessPlural, selectorText } from './source.ts';
import type { Sent } from './sink.ts';

const ending: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end();
});

const KINDS = [
  { apiVersion: 'v1', kind: 'ResourceQuota' },
  { apiVersion: 'v1', kind: 'Pod' },
  { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachineInstanceMigration' },
];

const makeSource = (spec: Record<string, unknown> = {}) =>
  parseApiServerSource({
    apiVersion: 'sources.knative.dev/v1',
    kind: 'ApiServerSource',
    metadata: { name: 'mtq', namespace: 'quota-system' },
    spec: {
      mode: 'Resource',
      namespaceSelector: {},
      resources: KINDS,
      sink: { uri: 'http://sink.invalid' },
      ...spec,
    },
  });

const makeChange = (type: WatchEvent<unknown>['type'], name: string, version = '2') => ({
  type,
  object: makeObject(name, version),
});

const makeObject = (name: string, resourceVersion: string): KubernetesObject => ({
  apiVersion: 'v1',
  kind: 'ResourceQuota',
  metadata: {
    ...{ name, namespace: 'tenant-a', uid: `uid-${name}`, resourceVersion },
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
});

interface Harness {
  readonly adapter: ApiServerSourceAdapter;
  readonly cluster: FakeCluster;
  readonly sink: RecordingSink;
  readonly sent: Sent[];
  readonly waits: number[];
  readonly log: string[];
  /** Resolves when this number of events are sent or given up. */
  readonly done: (count: number) => Promise<void>;
}

async function harness(
  answer?: Parameters<typeof recordingSink>[0],
  options: Partial<AdapterOptions> = {},
): Promise<Harness> {
  const sink = await recordingSink(answer);
  const cluster = new FakeCluster();
  const [sent, waits, log]: [Sent[], number[], string[]] = [[], [], []];
  const waiting: { count: number; resolve: () => void }[] = [];
  const adapter = new ApiServerSourceAdapter({
    source: makeSource(),
    cluster: cluster.asCluster(),
    server: 'https://127.0.0.1:6443',
    sinkUrl: sink.url,
    delay: (ms) => {
      waits.push(ms);
      return Promise.resolve();
    },
    onSent: (_, how) => {
      sent.push(how);
      waiting.filter(({ count }) => sent.length >= count).forEach(({ resolve }) => resolve());
    },
    log: (line) => log.push(line),
    ...options,
  });
  ending.push(
    () => sink.close(),
    () => adapter.stop(),
  );
  const done = async (count: number): Promise<void> => {
    if (sent.length < count) await new Promise<void>((resolve) => waiting.push({ count, resolve }));
  };
  return { adapter, cluster, sink, sent, waits, log, done };
}

const subjects = ({ requests }: RecordingSink): unknown[] =>
  requests.map(({ headers }) => [
    String(headers['ce-type']).split('.').at(-1),
    String(headers['ce-subject']).split('/').at(-1),
  ]);

const PLURALS = { pod: 'pods', vmim: 'virtualmachineinstancemigrations', resourcequota: 'resourcequotas' };
const TYPES = { add: 'ADDED', update: 'MODIFIED', delete: 'DELETED' } as const;

/** Parsed from a recording's name: adapter-<kind>-<change>… */
function changeOf(name: string): { plural: string; type: WatchEvent<unknown>['type'] } {
  const [, kind, change] = name.split('-');
  return { plural: PLURALS[kind as keyof typeof PLURALS], type: TYPES[change as keyof typeof TYPES] };
}

describe('the event is the real adapter’s', () => {
  test.each([
    'adapter-pod-add-source',
    'adapter-pod-add-target',
    'adapter-pod-delete',
    'adapter-resourcequota-add',
    'adapter-resourcequota-update-spec-raised',
    'adapter-resourcequota-update-status',
    'adapter-vmim-add',
    'adapter-vmim-delete',
    'adapter-vmim-update-blocked',
    'adapter-vmim-update-pending',
    'adapter-vmim-update-scheduling',
    'adapter-vmim-update-succeeded',
  ])('%s', async (name) => {
    const recorded = recordedRequest(name);
    const { plural, type } = changeOf(name);
    const { adapter, cluster, sink, done } = await harness();
    await adapter.start();
    cluster.change(plural, { type, object: shuffled(recorded.body) as KubernetesObject });
    await done(1);
    const [request] = sink.requests;
    expect(normalised(pairs(request?.rawHeaders ?? []))).toEqual(normalised(recorded.headers));
    expect(request?.body).toBe(JSON.stringify(recorded.body));
    expect(request?.headers['content-length']).toBe(String(Buffer.byteLength(request?.body ?? '')));
  });

  test('in Reference mode: broker-pod-add-reference-mode, as far as the adapter made it', async () => {
    const recorded = recordedRequest('broker-pod-add-reference-mode');
    const ofBroker = new Set(['Ce-Knativearrivaltime', 'Prefer']);
    const source = makeSource({ mode: 'Reference' });
    const { adapter, cluster, sink, done } = await harness(undefined, {
      source: { ...source, metadata: { ...source.metadata, namespace: 'mtq-system' } },
      server: 'https://127.0.0.1:6543',
    });
    await adapter.start();
    cluster.change('pods', makeChange('ADDED', 'p1'));
    await done(1);
    expect(sink.requests[0]?.body).toBe(recorded.body);
    expect(normalised(pairs(sink.requests[0]?.rawHeaders ?? []))).toEqual(
      normalised(recorded.headers.filter(([name]) => !ofBroker.has(name))),
    );
  });

  test('with an empty namespace for a cluster-scoped object, and the source’s extension', async () => {
    const source = makeSource({
      resources: [{ apiVersion: 'v1', kind: 'Namespace' }],
      ceOverrides: { extensions: { rigsource: 'vmim' } },
    });
    const { adapter, cluster, sink, done } = await harness(undefined, { source });
    await adapter.start();
    const { object } = makeChange('MODIFIED', 'tenant-a');
    const { namespace: _, ...metadata } = object.metadata;
    cluster.change('namespaces', { type: 'MODIFIED', object: { ...object, metadata } });
    await done(1);
    expect(sink.requests[0]?.headers).toMatchObject({
      'ce-namespace': '',
      'ce-rigsource': 'vmim',
      'ce-subject': '/apis/v1/namespaces//namespaces/tenant-a',
    });
  });

  test('with the characters that Go escapes in JSON escaped', async () => {
    const { adapter, cluster, sink, done } = await harness();
    await adapter.start();
    const { object } = makeChange('ADDED', 'a');
    const annotations = { text: '<&>' };
    cluster.change('pods', {
      type: 'ADDED',
      object: { ...object, metadata: { ...object.metadata, annotations } },
    });
    await done(1);
    expect(sink.requests[0]?.body).toContain('"text":"\\u003c\\u0026\\u003e"');
  });
});

describe('sending', () => {
  test('sends nothing for existing objects at the start, nor for bookmarks', async () => {
    const { adapter, cluster, sink, done } = await harness();
    cluster.listed = [makeObject('old', '1')];
    await adapter.start();
    cluster.change('pods', makeChange('BOOKMARK', '', '5'), makeChange('ADDED', 'new', '6'));
    await done(1);
    expect(subjects(sink)).toEqual([['add', 'new']]);
  });

  test.each([404, 413, 425, 429, 502, 503, 504])(
    '%d: six tries, then dropped, then the next',
    async (status) => {
      const { adapter, cluster, sink, sent, waits, log, done } = await harness((_, number) => ({
        status: number <= 6 ? status : 202,
      }));
      await adapter.start();
      cluster.change('pods', makeChange('ADDED', 'a'), makeChange('MODIFIED', 'a'));
      await done(2);
      expect(waits).toEqual([100, 200, 400, 800, 1600]);
      expect(sent).toEqual([
        { status, tries: 6, accepted: false },
        { status: 202, tries: 1, accepted: true },
      ]);
      expect(subjects(sink)).toEqual([...Array.from({ length: 6 }, () => ['add', 'a']), ['update', 'a']]);
      expect(log).toHaveLength(1);
    },
  );

  test('uses one id for all tries of an event', async () => {
    const { adapter, cluster, sink, done } = await harness((_, number) => ({
      status: number < 3 ? 503 : 202,
    }));
    await adapter.start();
    cluster.change('pods', makeChange('ADDED', 'a'), makeChange('MODIFIED', 'a'));
    await done(2);
    const ids = sink.requests.map(({ headers }) => headers['ce-id']);
    expect(new Set(ids.slice(0, 3)).size).toBe(1);
    expect(new Set(ids).size).toBe(2);
  });

  test.each([500, 400, 403, 409, 301])(
    'does not retry after %d, and drops the event at once',
    async (status) => {
      const { adapter, cluster, sent, done } = await harness(() => ({ status }));
      await adapter.start();
      cluster.change('pods', makeChange('ADDED', 'a'));
      await done(1);
      expect(sent).toEqual([{ status, tries: 1, accepted: false }]);
    },
  );

  test('retries without an answer', async () => {
    const { adapter, cluster, sent, done } = await harness((_, number) =>
      number < 3 ? undefined : { status: 202 },
    );
    await adapter.start();
    cluster.change('pods', makeChange('ADDED', 'a'));
    await done(1);
    expect(sent).toEqual([{ status: 202, tries: 3, accepted: true }]);
  });

  test('sends the events of one kind in order, one by one, while another kind does not wait', async () => {
    const { promise, resolve } = Promise.withResolvers<{ status: number }>();
    const { adapter, cluster, sink, done } = await harness(({ headers }) =>
      headers['ce-name'] === 'slow' ? promise : { status: 202 },
    );
    await adapter.start();
    cluster.change('pods', makeChange('ADDED', 'slow'), makeChange('ADDED', 'next'));
    await sink.received(1);
    cluster.change('resourcequotas', makeChange('ADDED', 'other'), makeChange('ADDED', 'another'));
    await done(2);
    expect(subjects(sink)).toEqual([
      ['add', 'slow'],
      ['add', 'other'],
      ['add', 'another'],
    ]);
    resolve({ status: 202 });
    await done(4);
    expect(subjects(sink).at(-1)).toEqual(['add', 'next']);
  });
});

describe('watching', () => {
  test('continues a closed watch after the last handled change', async () => {
    const { adapter, cluster, done } = await harness();
    await adapter.start();
    cluster.push('pods', { event: makeChange('ADDED', 'a', '41') }, { close: true });
    cluster.change('pods', makeChange('ADDED', 'b', '42'));
    await done(2);
    const versions = cluster.watches.flatMap(({ plural, from }) =>
      plural === 'pods' ? [from.resourceVersion] : [],
    );
    expect(versions).toEqual(['1', '41']);
    expect(cluster.lists.filter((plural) => plural === 'pods')).toHaveLength(1);
  });

  test('continues after a broken connection, with a delay', async () => {
    const { adapter, cluster, waits, done } = await harness();
    await adapter.start();
    cluster.push('pods', { event: makeChange('ADDED', 'a', '41') }, { fail: new Unreachable('gone') });
    cluster.change('pods', makeChange('ADDED', 'b', '42'));
    await done(2);
    expect(cluster.watches.at(-1)?.from.resourceVersion).toBe('41');
    expect(waits).toEqual([800]);
  });

  test('lists again after 410 Gone, and loses the changes in between', async () => {
    const { adapter, cluster, sink, done } = await harness();
    await adapter.start();
    cluster.resourceVersion = '90';
    cluster.push('pods', { fail: new ApiError('watch', { code: 410, reason: 'Expired' }, new Date()) });
    cluster.change('pods', makeChange('ADDED', 'after', '91'));
    await done(1);
    expect(cluster.watches.at(-1)?.from.resourceVersion).toBe('90');
    expect(subjects(sink)).toEqual([['add', 'after']]);
  });

  test('starts from the current state after a restart, and loses the changes in between', async () => {
    const { adapter, cluster, done } = await harness();
    await adapter.start();
    cluster.change('pods', makeChange('ADDED', 'a', '41'));
    await done(1);
    await adapter.stop();
    cluster.resourceVersion = '77';
    await adapter.start();
    cluster.change('pods', makeChange('ADDED', 'b', '78'));
    await done(2);
    expect(cluster.watches.filter(({ plural }) => plural === 'pods').at(-1)?.from.resourceVersion).toBe('77');
  });

  test('covers each resource by its own selector, cluster-wide or in the matching namespaces', async () => {
    const resources = [
      { apiVersion: 'v1', kind: 'Pod', selector: { matchLabels: { a: 'b' } } },
      { apiVersion: 'v1', kind: 'ResourceQuota' },
    ];
    const wide = await harness(undefined, { source: makeSource({ resources }) });
    await wide.adapter.start();
    wide.cluster.change('pods', makeChange('ADDED', 'a'));
    wide.cluster.change('resourcequotas', makeChange('ADDED', 'a'));
    await wide.done(2);
    expect(wide.cluster.watches.map(({ from }) => from)).toEqual([
      { resourceVersion: '1', labelSelector: 'a=b' },
      { resourceVersion: '1' },
    ]);
    const source = makeSource({ resources, namespaceSelector: { matchLabels: { tenant: 'yes' } } });
    const narrow = await harness(undefined, { source });
    narrow.cluster.listed = [makeObject('t1', '1'), makeObject('t2', '1')];
    await narrow.adapter.start();
    narrow.cluster.change('pods', makeChange('ADDED', 'a'));
    await narrow.done(1);
    expect(
      narrow.cluster.watches.map(({ plural, from }) => `${plural} in ${String(from.namespace)}`),
    ).toEqual(['pods in t1', 'pods in t2', 'resourcequotas in t1', 'resourcequotas in t2']);
  });
});

test.each([
  ['Pod', 'pods'],
  ['VirtualMachineInstanceMigration', 'virtualmachineinstancemigrations'],
  ['VirtualMachineMigrationResourceQuota', 'virtualmachinemigrationresourcequotas'],
  ['NetworkPolicy', 'networkpolicies'],
  ['Ingress', 'ingresses'],
  ['Endpoints', 'endpoints'],
])('%s is guessed to be %s', (kind, plural) => {
  expect(guessPlural(kind)).toBe(plural);
});

test('a selector as text', () => {
  const matchExpressions = [
    { key: 'a', operator: 'In' as const, values: ['x', 'y'] },
    { key: 'b', operator: 'NotIn' as const, values: ['z'] },
    { key: 'c', operator: 'Exists' as const },
    { key: 'd', operator: 'DoesNotExist' as const },
  ];
  expect(selectorText({ matchLabels: { k: 'v' }, matchExpressions })).toBe('k=v,a in (x,y),b notin (z),c,!d');
});

test.each([
  { what: { filters: [{ exact: { kind: 'Pod' } }] }, why: /filters/ },
  { what: { mode: 'Whole' }, why: /mode/ },
  { what: { resources: [] }, why: /resources/ },
])('the adapter refuses an unsupported source: $why', ({ what, why }) => {
  expect(() => makeSource(what)).toThrow(why);
});

/** The same object with its keys in another order: the API server's order is its own. */
function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, inner]) => [key, shuffled(inner)]),
  );
}
