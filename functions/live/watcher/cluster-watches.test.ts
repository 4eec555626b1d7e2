import { once } from 'node:events';
import { expect, test } from '@jest/globals';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { Cluster, ResourceType, WatchEvent, WatchFrom } from '../../kubernetes/cluster.ts';
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

const changed = (name: string, type: 'ADDED' | 'DELETED' = 'ADDED'): WatchEvent<KubernetesObject> => ({
  type,
  object: { metadata: { name, namespace: 'vms', uid: name, resourceVersion: '2', creationTimestamp: '' } },
});

/** The names of the objects that are posted of a watch with these events. */
async function postedOf(events: readonly WatchEvent<KubernetesObject>[]): Promise<Set<string>> {
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
  const names = new Set<string>();
  const post = ({ data }: { readonly data?: unknown }): Promise<void> =>
    Promise.resolve(void names.add((data as { readonly name: string }).name));
  const watches = new ClusterWatches({ cluster, id: 'id', clock, log: () => undefined, post });
  watches.watch({ namespaces: new Set(['vms']), vms: new Set() });
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
  expect([...(await postedOf(events))]).toEqual(['known']);
});
