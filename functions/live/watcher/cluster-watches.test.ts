import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { Cluster, ResourceType, WatchEvent, WatchFrom } from '../../kubernetes/cluster.ts';
import { LIVE_LABEL } from '../../domain/live/names.ts';
import type { Clock } from '../../runtime/clock.ts';
import { ClusterWatches } from './cluster-watches.ts';

/** A clock by which no time passes, and every wait of less than a minute is over at once. */
const clock: Clock = {
  elapsed: () => 0,
  now: () => new Date(0),
  after: (ms, work) => {
    const timer = ms < 60_000 ? setImmediate(work) : undefined;
    return () => clearImmediate(timer);
  },
};

const labels = { [LIVE_LABEL.migration]: 'run' };
const named = (name: string): KubernetesObject['metadata'] => ({
  ...{ name, namespace: 'vms', uid: name, resourceVersion: '2', creationTimestamp: '', labels },
});
const changed = (name: string, type: 'ADDED' | 'DELETED' = 'ADDED'): WatchEvent<KubernetesObject> => ({
  type,
  object: { metadata: named(name) },
});
const RUN = { namespace: 'tenant', name: 'migration', uid: 'run' };

interface Posted {
  readonly name: string;
  readonly runs: readonly object[];
}

/** What is posted of a watch with these events, by the names of the objects. */
async function postedOf(
  events: readonly WatchEvent<KubernetesObject>[],
): Promise<ReadonlyMap<string, Posted>> {
  const isSent = Promise.withResolvers<undefined>();
  const cluster = {
    list: () => Promise.resolve({ items: [], resourceVersion: '1', date: new Date(0) }),
    async *watch({ kind }: ResourceType, _from: WatchFrom, signal: AbortSignal) {
      if (kind === 'VirtualMachineInstanceMigration') {
        yield* events;
        isSent.resolve(undefined);
      }
      if (!signal.aborted) await once(signal, 'abort');
    },
  } as unknown as Cluster;
  const names = new Map<string, Posted>();
  const post = ({ data }: { readonly data?: unknown }): Promise<void> =>
    Promise.resolve(void names.set((data as Posted).name, data as Posted));
  const watches = new ClusterWatches({ cluster, id: 'id', clock, log: () => undefined, post });
  watches.watch({ namespaces: new Set(['vms']), runs: new Map([['run', RUN]]), vms: new Map() });
  await isSent.promise;
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  await watches.stop();
  return names;
}

test('of a watch without end a thousand objects are known, and no others posted', async () => {
  const events = Array.from({ length: 3_000 }, (_, index) => changed(`vmim-${String(index)}`));
  expect((await postedOf(events)).size).toBe(1_000);
});

test('what was never known is not posted as gone, and nothing with a name that Kubernetes does not give', async () => {
  const events = [changed('never-known', 'DELETED'), changed('x'.repeat(254)), changed('known')];
  expect([...(await postedOf(events)).keys()]).toEqual(['known']);
});

test('an object is posted with the Migration of its label, and not at all if that is over or has another label', async () => {
  const own = changed('own');
  const left: WatchEvent<KubernetesObject> = {
    type: 'ADDED',
    object: { metadata: { ...named('left'), labels: { [LIVE_LABEL.migration]: 'over' } } },
  };
  const posted = await postedOf([left, own]);
  expect([...posted.values()].map(({ name, runs }) => [name, runs])).toEqual([['own', [RUN]]]);
});
