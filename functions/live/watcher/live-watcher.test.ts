import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { aPlan, aPlanMigration, begunWith } from '../../../test/support/builders/live.ts';
import { inNamespace, seconds } from '../../../test/support/builders/object.ts';
import { FORKLIFT_KIND, LIVE_LABEL } from '../../domain/live/names.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { Cluster, ResourceType, WatchEvent, WatchFrom } from '../../kubernetes/cluster.ts';
import { Unreachable } from '../../kubernetes/errors.ts';
import { systemClock } from '../../runtime/clock.ts';
import { LiveWatcher, type LiveWatcherOptions } from './live-watcher.ts';

const DATE = new Date(0);

/** Runs of two tenants, each with a Plan whose Providers are in the tenant's namespace. */
const TENANTS = ['hostile', 'honest'];
const RUNS: Readonly<Record<string, readonly KubernetesObject[]>> = {
  [FORKLIFT_KIND.plan.kind]: TENANTS.map((tenant) => {
    const named = { namespace: tenant, name: 'source' };
    const plan = inNamespace(tenant)(aPlan());
    return { ...plan, spec: { ...plan.spec, provider: { source: named, destination: named } } };
  }),
  [FORKLIFT_KIND.migration.kind]: TENANTS.map((tenant) => {
    const migration = inNamespace(tenant)(aPlanMigration(begunWith('source', 'source')));
    const vm = { namespace: 'vms', name: 'web', phase: 'Started', pipeline: [], started: seconds(0) };
    const spec = { plan: { namespace: tenant, name: 'plan' } };
    return { ...migration, spec, status: { started: seconds(0), vms: [vm] } };
  }),
};

type Watch = (type: ResourceType, from: WatchFrom, signal: AbortSignal) => AsyncIterable<WatchEvent<never>>;

async function* silent(_type: ResourceType, _from: WatchFrom, signal: AbortSignal): AsyncGenerator<never> {
  if (!signal.aborted) await once(signal, 'abort');
  yield* [];
}

const aCluster = (watch: Watch, items: Readonly<Record<string, readonly KubernetesObject[]>> = {}): Cluster =>
  ({
    list: ({ kind }: ResourceType) =>
      Promise.resolve({ items: items[kind] ?? [], resourceVersion: '1', date: DATE }),
    watch,
  }) as unknown as Cluster;

const labels = { [LIVE_LABEL.migration]: aPlanMigration().metadata.uid };
const aVmim = (name: string): WatchEvent<never> =>
  ({
    type: 'ADDED',
    object: { metadata: { name, namespace: 'vms', uid: name, resourceVersion: '2', labels } },
  }) as WatchEvent<never>;

let stopping: AbortController;
let running: Promise<void>;
beforeEach(() => {
  stopping = new AbortController();
});
afterEach(async () => {
  stopping.abort();
  await running;
});

/** Starts a watcher; resolves with the names of the posted VMIMs as soon as one of them is `until`. */
async function posted(until: string, connect: LiveWatcherOptions['connect']): Promise<string[]> {
  const names: string[] = [];
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const watcher = new LiveWatcher({
    ...{ cluster: aCluster(silent, RUNS), clock: systemClock, log: () => undefined, connect },
    post: async ({ data }) => {
      const { kind, name } = data as { readonly kind: string; readonly name: string };
      if (kind === 'VirtualMachineInstanceMigration') names.push(name);
      if (name === until) resolve(undefined);
      await Promise.resolve();
    },
  });
  running = watcher.run(stopping.signal);
  await promise;
  return names;
}

/** A cluster with one VMIM, for each watch of VMIMs. */
const honest = aCluster(async function* one(type, from, signal) {
  if (type.plural === 'virtualmachineinstancemigrations') yield aVmim('of-the-honest');
  yield* silent(type, from, signal);
});

const failing = aCluster(async function* bomb() {
  await Promise.resolve();
  yield* [];
  throw new Unreachable('the API server cannot be reached');
});

test('a cluster that never says which one it is delays no other', async () => {
  const names = await posted('of-the-honest', ({ namespace }) =>
    namespace === 'hostile'
      ? new Promise(() => undefined)
      : Promise.resolve({ cluster: honest, id: 'honest' }),
  );
  expect(names).toEqual(['of-the-honest']);
});

test.each<[string, Cluster]>([
  ['whose watches fail', failing],
  ['that claims to be another one', aCluster(silent)],
])('a cluster %s takes no events from that one', async (_what, hostile) => {
  const names = await posted('of-the-honest', ({ namespace }) =>
    Promise.resolve({ cluster: namespace === 'hostile' ? hostile : honest, id: 'honest' }),
  );
  expect(names).toEqual(['of-the-honest']);
});

test('a cluster with many changes at once posts the later ones slowly', async () => {
  let isAsked = false;
  const hostile = aCluster(async function* flood(type, from, signal) {
    const isFirst = type.plural === 'virtualmachineinstancemigrations' && !isAsked;
    isAsked ||= isFirst;
    for (let made = 0; isFirst && made < 80; made += 1) yield aVmim(`vmim-${String(made)}`);
    yield* silent(type, from, signal);
  });
  const began = performance.now();
  const names = await posted('vmim-60', () => Promise.resolve({ cluster: hostile, id: 'hostile' }));
  // 50 at once, then one in 50 ms.
  expect(performance.now() - began).toBeGreaterThan(300);
  expect(names.length).toBeLessThan(70);
});
