import { expect, test } from '@jest/globals';
import { systemClock } from '../../../../functions/runtime/clock.ts';
import type { Pod } from '../../../../functions/domain/objects.ts';
import type { Cluster } from '../../../../functions/kubernetes/cluster.ts';
import { PODS } from '../../../../functions/kubernetes/resources.ts';
import { Cache } from './cache.ts';

const podOf = (uid: string): Pod => ({
  metadata: {
    namespace: 'tenant-a',
    name: 'virt-launcher',
    uid,
    resourceVersion: '2',
    creationTimestamp: '',
  },
  spec: { containers: [] },
});

/** virt-controller waits until it has seen each pod that it created, so an already deleted pod must count as seen. */
test.each([
  { what: 'an object that is there', changes: ['ADDED'], uid: 'one', expected: true },
  { what: 'one that came and went', changes: ['ADDED', 'DELETED'], uid: 'one', expected: true },
  { what: 'another one of that name', changes: ['ADDED'], uid: 'other', expected: false },
  { what: 'one without any event', changes: [], uid: 'one', expected: false },
])('$what: seen $expected', async ({ changes, uid, expected }) => {
  const stopped = new AbortController();
  const cluster = {
    list: () => Promise.resolve({ items: [], resourceVersion: '1' }),
    watch: async function* () {
      for (const type of changes) yield await Promise.resolve({ type, object: podOf('one') });
      stopped.abort();
    },
  } as unknown as Cluster;
  const cache = new Cache<Pod>({ cluster, type: PODS, clock: systemClock, log: () => undefined });
  await (
    await cache.start(stopped.signal)
  ).ended;
  expect(cache.hasSeen(podOf(uid))).toBe(expected);
  expect(cache.inNamespace('tenant-a')).toEqual(cache.all());
});

test('an object that comes while the cache lists again is there', async () => {
  const { promise: listed, resolve: list } = Promise.withResolvers<{ items: []; resourceVersion: string }>();
  const cluster = { list: () => listed } as unknown as Cluster;
  const cache = new Cache<Pod>({ cluster, type: PODS, clock: systemClock, log: () => undefined });
  const refreshed = cache.refresh();
  cache.see({ type: 'ADDED', object: podOf('one') });
  list({ items: [], resourceVersion: '1' });
  await refreshed;
  expect(cache.all()).toEqual([podOf('one')]);
});
