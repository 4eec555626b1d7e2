import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { WatchedCluster } from '../../test/support/builders/cluster.ts';
import { aMigration, inPhase, withCondition } from '../../test/support/builders/kubevirt.ts';
import { aLock, aNamespace, lockedBy } from '../../test/support/builders/namespace.ts';
import { beingDeleted, inNamespace, labelled, metadata, named } from '../../test/support/builders/object.ts';
import { aVmmrq } from '../../test/support/builders/snapshot.ts';
import type { OurEvent } from '../../functions/domain/events.ts';
import type { KubeVirt } from '../../functions/domain/objects.ts';
import type { Lock } from '../../functions/domain/lock.ts';
import { EVENT, REASON } from '../../functions/domain/names.ts';
import { ApiError } from '../../functions/kubernetes/errors.ts';
import { KUBEVIRTS, MIGRATIONS, NAMESPACES, VMMRQS } from '../../functions/kubernetes/resources.ts';
import { systemClock } from '../../functions/runtime/clock.ts';
import { ClusterWatch } from './cluster-watch.ts';

let cluster: WatchedCluster;
let posted: OurEvent[];
let watch: ClusterWatch;
let stop: AbortController;
let running: Promise<void>;
/** The time limit of each request to the functions, milliseconds. */
let askedWithin: number[];

beforeEach(() => {
  jest.useFakeTimers();
  cluster = new WatchedCluster();
  posted = [];
  askedWithin = [];
  stop = new AbortController();
  watch = new ClusterWatch({
    cluster: cluster.asCluster(),
    clock: systemClock,
    log: () => undefined,
    post: (event) => Promise.resolve(void posted.push(event)),
    repair: () => Promise.resolve(),
    random: () => 0.5,
    silentFunctions: (withinMs) => {
      askedWithin.push(withinMs);
      return Promise.resolve([]);
    },
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

const limitedTo = (parallelMigrationsPerCluster: number): KubeVirt => ({
  apiVersion: 'kubevirt.io/v1',
  kind: 'KubeVirt',
  metadata: { ...metadata('kubevirt'), namespace: 'kubevirt' },
  spec: { configuration: { migrations: { parallelMigrationsPerCluster } } },
});

const forASlot = (): OurEvent[] =>
  posted.filter(({ type, migrations: of }) => type === EVENT.resyncRequested && of);

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
  expect(forASlot()).toEqual([]);
});

test.each<[string, Lock, number]>([
  ['live', aLock(), 0],
  ['ended', aLock({ ended: { reason: REASON.noProof, message: '' } }), 1],
])('a lock that is %s takes a migration slot, or none', async (_, lock, want) => {
  cluster.put(KUBEVIRTS, limitedTo(1));
  cluster.put(MIGRATIONS, aMigration(inNamespace('stuck')));
  cluster.put(NAMESPACES, aNamespace(named('stuck'), lockedBy(lock)));
  running = watch.run(stop.signal);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(watch.viewOf('tenant')?.left.cluster).toBe(want);
});

test('an overdue lock that nobody can remove takes no migration slot: others are notified', async () => {
  cluster.put(KUBEVIRTS, limitedTo(1));
  cluster.put(MIGRATIONS, aMigration(inNamespace('stuck')));
  cluster.put(NAMESPACES, aNamespace(named('stuck'), lockedBy(aLock())));
  cluster.put(MIGRATIONS, aMigration(named('waits')));
  cluster.put(VMMRQS, aVmmrq());
  running = watch.run(stop.signal);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(forASlot()).toEqual([]);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(forASlot().map(({ namespace }) => namespace)).toContain('tenant');
  expect(watch.viewOf('tenant')?.left.cluster).toBe(1);
});

test('raised limits of KubeVirt notify a migration that waits for a slot', async () => {
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

test('a namespace that got a lock is notified before one that only got events', async () => {
  const waiting = ['first', 'second'];
  for (const name of waiting) {
    cluster.put(MIGRATIONS, aMigration(named(name), inNamespace(name)));
    cluster.put(VMMRQS, aVmmrq(named(name), inNamespace(name)));
  }
  cluster.put(KUBEVIRTS, limitedTo(1));
  running = watch.run(stop.signal);
  await jest.advanceTimersByTimeAsync(60_000);
  const locked = aNamespace(named('second'), lockedBy(aLock()));
  cluster.put(NAMESPACES, locked);
  await jest.advanceTimersByTimeAsync(100);
  posted = [];
  cluster.remove(NAMESPACES, locked);
  await jest.advanceTimersByTimeAsync(200);
  expect(forASlot().map(({ namespace }) => namespace)).toEqual(['second']);
});

test('gives no view while a kind that it has lost cannot be listed', async () => {
  const tooLong = new ApiError('list', { code: 500, reason: 'InternalError' }, new Date());
  cluster.put(MIGRATIONS, aMigration());
  running = watch.run(stop.signal);
  await jest.advanceTimersByTimeAsync(1_000);
  expect(watch.viewOf('tenant')?.migrations).toHaveLength(1);
  // The server no longer has the version that the watch was at.
  cluster.break(MIGRATIONS, new Error('away'));
  cluster.failLists(MIGRATIONS, tooLong);
  cluster.put(MIGRATIONS, aMigration(named('mig1')));
  cluster.forget();
  await jest.advanceTimersByTimeAsync(1_000);
  // The watch alone cannot be continued yet: the view may be a moment old.
  expect(watch.viewOf('tenant')?.migrations).toHaveLength(1);
  cluster.restoreWatch(MIGRATIONS);
  cluster.failLists(MIGRATIONS, tooLong);
  await jest.advanceTimersByTimeAsync(10_000);
  expect(watch.viewOf('tenant')).toBeUndefined();
  cluster.restoreWatch(MIGRATIONS);
  await jest.advanceTimersByTimeAsync(20_000);
  expect(watch.viewOf('tenant')?.migrations).toHaveLength(2);
});

test.each<[string, () => void, number]>([
  ['had ended', (): void => undefined, 1],
  ['had been cancelled', (): void => cluster.put(MIGRATIONS, aMigration(beingDeleted())), 1],
  ['is to come', (): void => cluster.put(MIGRATIONS, aMigration()), 0],
])('a lock of a migration that %s before: migration.ended %#', async (_, put, want) => {
  put();
  running = watch.run(stop.signal);
  await jest.advanceTimersByTimeAsync(1_000);
  const migrations = [{ name: 'mig0', uid: 'uid-of-mig0', vmi: 'uid-of-vm0' }];
  cluster.put(NAMESPACES, aNamespace(lockedBy(aLock({ migrations }))));
  await jest.advanceTimersByTimeAsync(0);
  expect(posted.filter(({ type }) => type === EVENT.migrationEnded)).toHaveLength(want);
});

describe('a refusal', () => {
  const saidAgain = (): OurEvent[] => posted.filter(({ cause }) => cause?.startsWith('refused-') === true);
  const waiting = withCondition()(aMigration());

  beforeEach(async () => {
    cluster.put(VMMRQS, aVmmrq());
    cluster.put(MIGRATIONS, waiting);
    running = watch.run(stop.signal);
    await jest.advanceTimersByTimeAsync(1_000);
  });

  test.each<[string, () => void, number]>([
    ['with no answer: said again', (): void => undefined, 1],
    ['with a lock', (): void => cluster.put(NAMESPACES, aNamespace(lockedBy(aLock()))), 0],
    ['with a verdict', (): void => cluster.put(VMMRQS, labelled('any')(aVmmrq())), 0],
    ['with the lock of another namespace', (): void => cluster.put(NAMESPACES, other), 1],
    ['that is over', (): void => cluster.put(MIGRATIONS, waiting), 0],
  ])('%s', async (_, answer, want) => {
    cluster.put(MIGRATIONS, aMigration());
    await jest.advanceTimersByTimeAsync(2_000);
    answer();
    await jest.advanceTimersByTimeAsync(3_000);
    expect(saidAgain()).toHaveLength(want);
  });
  const other = aNamespace(named('other'), lockedBy(aLock()));

  test('of a migration that was refused before: not said again', async () => {
    cluster.put(MIGRATIONS, aMigration());
    await jest.advanceTimersByTimeAsync(60_000);
    posted = [];
    cluster.put(MIGRATIONS, labelled('any')(aMigration()));
    await jest.advanceTimersByTimeAsync(60_000);
    expect(saidAgain()).toEqual([]);
  });

  test('in a namespace without a VMMRQ: not said again, and no function is started', async () => {
    cluster.put(MIGRATIONS, aMigration(inNamespace('other')));
    await jest.advanceTimersByTimeAsync(60_000);
    expect(saidAgain()).toEqual([]);
    expect(askedWithin).toEqual([]);
  });

  test('starts the functions at once, and those of a burst once', async () => {
    expect(askedWithin).toEqual([]);
    cluster.put(MIGRATIONS, aMigration());
    for (let index = 0; index < 10; index += 1) {
      await jest.advanceTimersByTimeAsync(400);
      cluster.put(MIGRATIONS, aMigration(named(`mig-${String(index)}`)));
      await jest.advanceTimersByTimeAsync(0);
      expect(askedWithin).toEqual([15_000]);
    }
    await jest.advanceTimersByTimeAsync(1_000);
    cluster.put(MIGRATIONS, aMigration(named('late')));
    await jest.advanceTimersByTimeAsync(0);
    expect(askedWithin).toEqual([15_000, 15_000]);
  });
});

test('what the first list shows is left to the resync, which begins with it', async () => {
  cluster.put(VMMRQS, aVmmrq());
  cluster.put(MIGRATIONS, aMigration());
  running = watch.run(stop.signal);
  await jest.advanceTimersByTimeAsync(60_000);
  expect(posted.filter(({ cause }) => cause?.startsWith('refused-') === true)).toEqual([]);
});
