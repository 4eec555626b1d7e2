import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from '@jest/globals';
import type { ActivatorTrace } from './activator.ts';
import type { Hop } from './broker.ts';
import { startEventing, type Eventing, type EventingOptions } from './eventing.ts';
import { FakeCluster } from './fakecluster.ts';
import { recordingSink, type RecordingSink } from './recordingsink.ts';

const ending: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end();
});

const NAMESPACE = 'mtq-system';
const DEAD_LETTERS = 'http://mtq-guard.mtq-system.svc.cluster.local:8080/dead-letter';

const object = (
  apiVersion: string,
  kind: string,
  rest: { name: string; spec: object; annotations?: object },
) => {
  const { spec, ...metadata } = rest;
  return { apiVersion, kind, metadata: { namespace: NAMESPACE, ...metadata }, spec };
};

const broker = (name = 'mtq') =>
  object('eventing.knative.dev/v1', 'Broker', {
    name,
    annotations: { 'messaging.knative.dev/async-handler': 'true' },
    spec: { delivery: { retry: 0, deadLetterSink: { uri: DEAD_LETTERS } } },
  });

const trigger = (name: string, type: string) =>
  object('eventing.knative.dev/v1', 'Trigger', {
    name,
    spec: {
      broker: 'mtq',
      filters: [{ exact: { type } }],
      subscriber: { ref: { apiVersion: 'serving.knative.dev/v1', kind: 'Service', name } },
    },
  });

const service = (name: string, env: Record<string, string>) =>
  object('serving.knative.dev/v1', 'Service', {
    name,
    spec: {
      template: {
        spec: {
          serviceAccountName: `mtq-${name}`,
          containers: [
            { image: 'mtq', env: Object.entries(env).map(([key, value]) => ({ name: key, value })) },
          ],
        },
      },
    },
  });

const source = object('sources.knative.dev/v1', 'ApiServerSource', {
  name: 'mtq',
  spec: {
    mode: 'Resource',
    serviceAccountName: 'mtq-source',
    namespaceSelector: {},
    resources: [{ apiVersion: 'v1', kind: 'ResourceQuota' }],
    sink: { ref: { apiVersion: 'eventing.knative.dev/v1', kind: 'Broker', name: 'mtq' } },
  },
});

const INSTALLATION = [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'other' } },
  broker(),
  trigger('first', 'dev.knative.apiserver.resource.add'),
  trigger('second', 'next'),
  service('first', { REPLY_TYPE: 'next' }),
  service('second', { REPLY_TYPE: '' }),
  source,
];

interface Harness extends Eventing {
  readonly cluster: FakeCluster;
  readonly guard: RecordingSink;
  readonly hops: Hop[];
  readonly activity: ActivatorTrace[];
  readonly accounts: string[];
}

async function harness(options: Partial<EventingOptions> = {}): Promise<Harness> {
  const guard = await recordingSink();
  ending.push(() => guard.close());
  const cluster = new FakeCluster();
  const [hops, activity, accounts]: [Hop[], ActivatorTrace[], string[]] = [[], [], []];
  const eventing = await startEventing({
    objects: INSTALLATION,
    server: 'https://127.0.0.1:6443',
    clusterFor: (account) => {
      accounts.push(account);
      return cluster.asCluster();
    },
    kubeconfigFor: (account) => {
      accounts.push(account);
      return `/kubeconfigs/${account}`;
    },
    bundle: fileURLToPath(new URL('testfunction.mjs', import.meta.url)),
    addresses: { 'mtq-guard.mtq-system.svc:8080': guard.url },
    onHop: (hop) => hops.push(hop),
    onActivity: (trace) => activity.push(trace),
    ...options,
  });
  ending.push(() => eventing.stop());
  return { ...eventing, cluster, guard, hops, activity, accounts };
}

const QUOTA = {
  metadata: {
    ...{ name: 'quota', namespace: 'tenant-a', uid: 'u', resourceVersion: '2' },
    creationTimestamp: '2026-01-01T00:00:00Z',
  },
};

describe('an installation at work', () => {
  test('a change of an object starts the first function, its reply the second', async () => {
    const sent = Promise.withResolvers<undefined>();
    const {
      cluster,
      broker: running,
      hops,
      accounts,
      activator,
      stop,
    } = await harness({
      onSent: () => sent.resolve(undefined),
    });
    expect(activator.running()).toEqual([]);
    cluster.change('resourcequotas', { type: 'ADDED', object: QUOTA });
    await sent.promise;
    await running.idle();
    expect(hops).toMatchObject([
      {
        ...{ trigger: 'first', eventType: 'dev.knative.apiserver.resource.add', namespace: 'tenant-a' },
        ...{ subscriber: 'http://first.mtq-system.svc.cluster.local', status: 200, outcome: 'reply' },
      },
      { trigger: 'second', eventType: 'next', status: 204, outcome: 'ack' },
    ]);
    expect(accounts).toEqual(['mtq-source', 'mtq-first', 'mtq-second']);
    expect(activator.running().map(({ service: name }) => name)).toEqual(['first', 'second']);
    await stop();
    expect(activator.running()).toEqual([]);
  });

  test('the Broker sends an event that a function refuses to the guard, by its name in the cluster', async () => {
    const objects = INSTALLATION.filter(
      ({ kind, metadata }) => kind !== 'Service' || metadata.name !== 'second',
    );
    const { brokerUrl, broker: running, guard } = await harness({ objects });
    await fetch(brokerUrl(NAMESPACE, 'mtq'), {
      method: 'POST',
      headers: { 'ce-specversion': '1.0', 'ce-id': '1', 'ce-source': 's', 'ce-type': 'next' },
    });
    await running.idle();
    expect(guard.requests).toHaveLength(1);
    expect(guard.requests[0]).toMatchObject({
      path: '/dead-letter',
      headers: {
        'ce-knativeerrordest': 'http://second.mtq-system.svc.cluster.local',
        'ce-knativeerrorcode': '500',
      },
    });
  });

  test('a function’s environment has local URLs instead of cluster URLs', async () => {
    const urls = {
      K_SINK: 'http://broker-ingress.knative-eventing.svc.cluster.local/mtq-system/mtq',
      WAKE_URLS: 'http://first.mtq-system.svc.cluster.local/health/readiness,http://second.mtq-system/x',
    };
    const objects = INSTALLATION.map((each) =>
      each.metadata.name === 'first' && each.kind === 'Service' ? service('first', urls) : each,
    );
    const { activator, brokerUrl } = await harness({ objects });
    const { env } = (await (await fetch(activator.url('first') ?? '')).json()) as {
      env: Record<string, string>;
    };
    const [first, second] = [activator.url('first'), activator.url('second')];
    expect(env).toMatchObject({
      K_SINK: brokerUrl(NAMESPACE, 'mtq'),
      WAKE_URLS: `${String(first)}/health/readiness,${String(second)}/x`,
    });
  });
});

describe('manifests that do not fit together stop the start', () => {
  test.each([
    { what: 'no Broker', objects: [source], why: /one Broker is needed, not 0/ },
    { what: 'two Brokers', objects: [broker(), broker('other')], why: /one Broker is needed, not 2/ },
    {
      what: 'a misspelt field',
      objects: [broker(), { ...trigger('first', 'x'), spec: { broker: 'mtq', subscribers: {} } }],
      why: /Trigger first: [^]*subscribers/,
    },
    {
      what: 'a delay that is none',
      objects: [
        broker(),
        {
          ...trigger('first', 'x'),
          spec: {
            ...trigger('first', 'x').spec,
            delivery: { retry: 1, backoffPolicy: 'linear', backoffDelay: '1s' },
          },
        },
      ],
      why: /Trigger mtq-system\/first: "1s" is no ISO 8601 duration/,
    },
  ])('$what', async ({ objects, why }) => {
    await expect(harness({ objects })).rejects.toThrow(why);
  });

  test('a missing Broker has no URL', async () => {
    const { brokerUrl } = await harness();
    expect(() => brokerUrl(NAMESPACE, 'other')).toThrow(/no Broker mtq-system\/other/);
  });
});
