import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { connect } from '../../../functions/kubernetes/client.ts';
import type { Cluster, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { NAMESPACES } from '../../../functions/kubernetes/resources.ts';
import type { ControlPlane } from '../../cluster/controlplane/start.ts';
import { freshControlPlane } from '../../support/environment/control-plane.ts';
import { ApiServerSourceAdapter } from '../../cluster/eventing/adapter.ts';
import { parseApiServerSource } from '../../cluster/eventing/manifests.ts';
import { recordingSink, type RecordingSink } from '../../cluster/eventing/recordingsink.ts';

/** The adapter stand-in's events for a real API server's watches (facts/knative.md §0, §1.3). */
interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>;
}

const CONFIG_MAPS: ResourceType<ConfigMap> = {
  ...{ apiVersion: 'v1', kind: 'ConfigMap', plural: 'configmaps' },
  namespaced: true,
};
const ACCOUNTS: ResourceType = {
  ...{ apiVersion: 'v1', kind: 'ServiceAccount', plural: 'serviceaccounts' },
  namespaced: true,
};
const NAMESPACE = 'tenant-a';
const LABELLED = { harness: 'on' };

let controlPlane: ControlPlane;
let admin: Cluster;
const ending: (() => Promise<void>)[] = [];

beforeAll(async () => {
  controlPlane = await freshControlPlane();
  admin = connect(controlPlane.adminKubeconfig);
  await admin.create(NAMESPACES, { metadata: { name: NAMESPACE } });
});

afterEach(async () => {
  for (const end of ending.splice(0).reverse()) await end();
});

afterAll(async () => {
  await controlPlane.stop();
});

interface Harness {
  readonly adapter: ApiServerSourceAdapter;
  readonly sink: RecordingSink;
  readonly log: string[];
}

async function harness(selector: object, cluster: Cluster = admin): Promise<Harness> {
  const sink = await recordingSink();
  const log: string[] = [];
  const adapter = new ApiServerSourceAdapter({
    source: parseApiServerSource({
      apiVersion: 'sources.knative.dev/v1',
      kind: 'ApiServerSource',
      metadata: { name: 'mtq', namespace: NAMESPACE },
      spec: {
        mode: 'Resource',
        namespaceSelector: {},
        resources: [{ apiVersion: 'v1', kind: 'ConfigMap', selector }],
        sink: { uri: sink.url },
      },
    }),
    cluster,
    server: controlPlane.url,
    sinkUrl: sink.url,
    // Shorter than the real back-off of at least 800 ms, so that the adapter soon finds a restarted API server.
    delay: () => new Promise((resolve) => setTimeout(resolve, 20)),
    log: (line) => log.push(line),
  });
  ending.push(
    () => sink.close(),
    () => adapter.stop(),
  );
  await adapter.start();
  return { adapter, sink, log };
}

/** [add, name], [update, name], … in the order of arrival. */
const changes = ({ requests }: RecordingSink): unknown[] =>
  requests.map(({ headers }) => [String(headers['ce-type']).split('.').at(-1), headers['ce-name']]);

async function make(name: string, labels: Record<string, string>): Promise<void> {
  await admin.create(CONFIG_MAPS, { metadata: { name, namespace: NAMESPACE, labels }, data: { i: '0' } });
}

async function change(name: string, edit: (object: ConfigMap) => ConfigMap): Promise<void> {
  const { object } = await admin.get(CONFIG_MAPS, { namespace: NAMESPACE, name });
  await admin.replace(CONFIG_MAPS, edit(object));
}

const label = (labels: Record<string, string>) => (object: ConfigMap) => ({
  ...object,
  metadata: { ...object.metadata, labels },
});

const count = (i: number) => (object: ConfigMap) => ({ ...object, data: { i: String(i) } });

const remove = (name: string): Promise<void> => admin.delete(CONFIG_MAPS, { namespace: NAMESPACE, name });

describe('with a label selector', () => {
  test('sends an add for the label, a delete with the last matching state for its loss, and nothing at the start', async () => {
    const matchLabels = { ...LABELLED, test: 'label' };
    await make('there', matchLabels);
    await make('label', { test: 'label' });
    const { sink } = await harness({ matchLabels });
    await change('label', count(1));
    await change('label', label(matchLabels));
    await change('label', count(2));
    await change('label', label({ test: 'label' }));
    await change('label', count(3));
    await change('there', count(1));
    await sink.received(4);
    expect(changes(sink)).toEqual([
      ['add', 'label'],
      ['update', 'label'],
      ['delete', 'label'],
      ['update', 'there'],
    ]);
    const last = JSON.parse(sink.requests[2]?.body ?? '') as ConfigMap;
    expect(last.metadata.labels).toEqual(matchLabels);
    expect(last.metadata.deletionTimestamp).toBeUndefined();
    expect(last.data).toEqual({ i: '2' });
  });
});

test('a restart loses the changes in between: update, add and delete', async () => {
  const matchLabels = { ...LABELLED, test: 'restart' };
  await make('updated', matchLabels);
  await make('deleted', matchLabels);
  const { adapter, sink } = await harness({ matchLabels });
  await change('updated', count(1));
  await sink.received(1);
  await adapter.stop();
  await change('updated', count(2));
  await make('added', matchLabels);
  await remove('deleted');
  await adapter.start();
  await change('updated', count(3));
  await sink.received(2);
  expect(sink.requests.map(({ body }) => (JSON.parse(body) as ConfigMap).data)).toEqual([
    { i: '1' },
    { i: '3' },
  ]);
});

test('a rolling update loses nothing', async () => {
  const matchLabels = { ...LABELLED, test: 'roll' };
  await make('rolled', matchLabels);
  const { adapter, sink } = await harness({ matchLabels });
  const roll = { over: false };
  const rolled = adapter.roll().finally(() => (roll.over = true));
  let written = 0;
  while (!roll.over || written < 5) await change('rolled', count((written += 1)));
  await rolled;
  await change('rolled', count((written += 1)));
  const counts = (): number[] =>
    sink.requests.map(({ body }) => Number((JSON.parse(body) as ConfigMap).data?.['i']));
  while (!counts().includes(written)) await new Promise((resolve) => setTimeout(resolve, 10));
  expect([...new Set(counts())].toSorted((a, b) => a - b)).toEqual(
    Array.from({ length: written }, (_, index) => index + 1),
  );
});

test('an absence of the API server loses nothing: the adapter continues where it was', async () => {
  const matchLabels = { ...LABELLED, test: 'away' };
  const { sink } = await harness({ matchLabels });
  await make('before', matchLabels);
  await sink.received(1);
  await controlPlane.stopApiServer();
  await controlPlane.startApiServer();
  await make('after', matchLabels);
  await sink.received(2);
  expect(changes(sink)).toEqual([
    ['add', 'before'],
    ['add', 'after'],
  ]);
});

test('the source does not start with a service account that may not list', async () => {
  const account = { namespace: NAMESPACE, name: 'nobody' };
  await admin.create(ACCOUNTS, { metadata: account });
  const withoutRights = connect(await controlPlane.kubeconfigFor(account));
  await expect(harness({}, withoutRights)).rejects.toMatchObject({ code: 403 });
});
