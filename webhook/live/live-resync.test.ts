import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import type { PlanMigration } from '../../functions/domain/live/forklift.ts';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { LIVE_WATCHER, PLAN_MIGRATIONS } from '../../functions/kubernetes/live-resources.ts';
import { pause, systemClock } from '../../functions/runtime/clock.ts';
import { WatchedCluster } from '../../test/support/builders/cluster.ts';
import { aPlanMigration, begunWith, held } from '../../test/support/builders/live.ts';
import { metadata, named, seconds } from '../../test/support/builders/object.ts';
import { LiveResync } from './live-resync.ts';

beforeEach(() => {
  jest.useFakeTimers();
});

afterEach(() => {
  jest.useRealTimers();
});

const watcherWith = (replicas: number): KubernetesObject & { spec: { replicas: number } } => ({
  metadata: { ...metadata('watcher'), ...LIVE_WATCHER.at },
  spec: { replicas },
});

/** The guard, with the watcher up and these Migrations. */
function started(
  migrations: PlanMigration | readonly PlanMigration[],
  post: () => Promise<void> = () => Promise.resolve(),
): { cluster: WatchedCluster; stop: () => Promise<void> } {
  const cluster = new WatchedCluster();
  for (const migration of [migrations].flat()) cluster.put(PLAN_MIGRATIONS, migration);
  cluster.put(LIVE_WATCHER.type, watcherWith(1));
  const stop = new AbortController();
  const running = new LiveResync({
    cluster: {
      ...cluster.asCluster(),
      patch: () => {
        cluster.put(LIVE_WATCHER.type, watcherWith(0));
        return Promise.resolve({ object: watcherWith(0) as never, date: new Date() });
      },
    },
    clock: systemClock,
    log: () => undefined,
    post,
  }).run(stop.signal);
  return {
    cluster,
    stop: async () => {
      stop.abort();
      await running;
    },
  };
}

const isUp = (cluster: WatchedCluster): boolean => cluster.all(LIVE_WATCHER.type)[0]?.spec.replicas === 1;
const after = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

test('the watcher goes down a minute after the last run', async () => {
  const { cluster, stop } = started(aPlanMigration());
  await after(59_000);
  expect(isUp(cluster)).toBe(true);
  await after(5_000);
  expect(isUp(cluster)).toBe(false);
  await stop();
});

test('the watcher goes down once the finalizer of a Migration that does not run is removed', async () => {
  const isHeld = aPlanMigration(held, begunWith(), (one) => ({ ...one, status: { completed: seconds(9) } }));
  const { cluster, stop } = started(isHeld);
  await after(130_000);
  expect(isUp(cluster)).toBe(true);
  cluster.put(PLAN_MIGRATIONS, { ...isHeld, metadata: { ...isHeld.metadata, finalizers: [] } });
  await after(65_000);
  expect(isUp(cluster)).toBe(false);
  const { length } = cluster.asked;
  await after(600_000);
  expect(cluster.asked.slice(length).filter((asked) => asked.includes('deployments'))).toEqual([]);
  await stop();
});

test('the watcher goes down though a Migration that waits has the finalizer from a copy', async () => {
  const { cluster, stop } = started(aPlanMigration(held));
  await after(64_000);
  expect(isUp(cluster)).toBe(false);
  await stop();
});

test('a run that is over before the guard looks has the watcher go down too', async () => {
  const { cluster, stop } = started(aPlanMigration());
  await after(65_000);
  const run: PlanMigration = { ...aPlanMigration(named('short')), status: { started: seconds(9) } };
  cluster.put(PLAN_MIGRATIONS, run);
  cluster.put(LIVE_WATCHER.type, watcherWith(1));
  await after(100);
  const ended: PlanMigration = { ...run, status: { ...run.status, completed: seconds(9) } };
  cluster.put(PLAN_MIGRATIONS, ended);
  await after(59_000);
  expect(isUp(cluster)).toBe(true);
  await after(5_000);
  expect(isUp(cluster)).toBe(false);
  await stop();
});

test('of very many that are due at once, twenty are posted at a time', async () => {
  let open = 0;
  const opened: number[] = [];
  const post = async (): Promise<void> => {
    opened.push((open += 1));
    await pause(systemClock, 1);
    open -= 1;
  };
  const many = Array.from({ length: 50 }, (_, index) => aPlanMigration(named(`run-${String(index)}`)));
  const { stop } = started(many, post);
  await after(610_000);
  expect([opened.length, Math.max(...opened)]).toEqual([50, 20]);
  await stop();
});
