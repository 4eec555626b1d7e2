import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { WatchedCluster } from '../../test/support/builders/cluster.ts';
import { aMigration, inPhase } from '../../test/support/builders/kubevirt.ts';
import { aLock, aNamespace, lockedBy } from '../../test/support/builders/namespace.ts';
import { inNamespace, metadata, named } from '../../test/support/builders/object.ts';
import { aVmmrq } from '../../test/support/builders/snapshot.ts';
import type { OurEvent } from '../../functions/domain/events.ts';
import type { KubeVirt } from '../../functions/domain/objects.ts';
import { EVENT } from '../../functions/domain/names.ts';
import { ApiError } from '../../functions/kubernetes/errors.ts';
import { KUBEVIRTS, MIGRATIONS, NAMESPACES, VMMRQS } from '../../functions/kubernetes/resources.ts';
import { systemClock } from '../../functions/runtime/clock.ts';
import { ClusterWatch } from './cluster-watch.ts';

let cluster: WatchedCluster;
let posted: OurEvent[];
let watch: ClusterWatch;
let stop: AbortController;
let running: Promise<void>;

beforeEach(() => {
  jest.useFakeTimers();
  cluster = new WatchedCluster();
  posted = [];
  stop = new AbortController();
  watch = new ClusterWatch({
    cluster: cluster.asCluster(),
    clock: systemClock,
    log: () => undefined,
    post: (event) => Promise.resolve(void posted.push(event)),
    repair: () => Promise.resolve(),
    random: () => 0.5,
    settings: {
      STALL_SECONDS: 3,
      OVERDUE_SECONDS: 5,
      SWEEP_SECONDS: 3_600,
      KUBEVIRT_NAMESPACE: 'kubevirt',
    },
  });
});

afterEach(async () => {
  stop.abort();
  await running;
  jest.useRealTimers();
});

test('the view answers, and notifies for a free slot, only when the locks have been listed too', async () => {
  const forbidden = new ApiError('list', { code: 403, reason: 'Forbidden' }, new Date());
  for (const name of ['a', 'b', 'c', 'd'])
    cluster.put(MIGRATIONS, inPhase('Running')(aMigration(named(name), inNamespace('other'))));
  cluster.put(MIGRATIONS, aMigration());
  cluster.put(VMMRQS, aVmmrq());
  // Its lock will use the fifth slot.
  cluster.put(MIGRATIONS, aMigration(named('locked'), inNamespace('locked')));
  const migrations = [{ name: 'locked', uid: 'uid-of-locked', vmi: 'uid-of-vm0' }];
  cluster.put(NAMESPACES, aNamespace(named('locked'), lockedBy(aLock({ migrations }))));
  cluster.failLists(NAMESPACES, forbidden);
  running = watch.run(stop.signal);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(watch.viewOf('tenant')).toBeUndefined();

  cluster.restoreWatch(NAMESPACES);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(watch.viewOf('tenant')?.left.cluster).toBe(0);
  expect(posted.filter(({ type, migrations: named }) => type === EVENT.sweepRequested && named)).toEqual([]);
});

test('raised limits of KubeVirt notify a migration that waits for a slot', async () => {
  const limitedTo = (parallelMigrationsPerCluster: number): KubeVirt => ({
    apiVersion: 'kubevirt.io/v1',
    kind: 'KubeVirt',
    metadata: { ...metadata('kubevirt'), namespace: 'kubevirt' },
    spec: { configuration: { migrations: { parallelMigrationsPerCluster } } },
  });
  const forASlot = (): OurEvent[] =>
    posted.filter(({ type, migrations: named }) => type === EVENT.sweepRequested && named);
  cluster.put(KUBEVIRTS, limitedTo(1));
  cluster.put(MIGRATIONS, inPhase('Running')(aMigration(named('runs'), inNamespace('other'))));
  cluster.put(MIGRATIONS, aMigration());
  cluster.put(VMMRQS, aVmmrq());
  running = watch.run(stop.signal);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(forASlot()).toEqual([]);
  cluster.put(KUBEVIRTS, limitedTo(2));
  await jest.advanceTimersByTimeAsync(0);
  expect(forASlot()).toHaveLength(1);
});
