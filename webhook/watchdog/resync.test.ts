import { beforeEach, describe, expect, test } from '@jest/globals';
import { WatchedCluster } from '../../test/support/builders/cluster.ts';
import { aMigration, inPhase, refusedAt, withCondition } from '../../test/support/builders/kubevirt.ts';
import {
  annotated,
  beingDeleted,
  inNamespace,
  named,
  NOW,
  seconds,
} from '../../test/support/builders/object.ts';
import { afterAttempt, anAttempt, aNamespace } from '../../test/support/builders/namespace.ts';
import { aGrant, aQuota, holding } from '../../test/support/builders/quota.ts';
import { aClusterVmmrq, aVmmrq } from '../../test/support/builders/snapshot.ts';
import type { Clock } from '../../functions/runtime/clock.ts';
import type { OurEvent } from '../../functions/domain/events.ts';
import { isFinal } from '../../functions/domain/migration.ts';
import type { Migration } from '../../functions/domain/objects.ts';
import { WINDOW_MS } from '../../functions/domain/verdict/attempt.ts';
import { ANNOTATION, CONDITION, EVENT, KUBEVIRT } from '../../functions/domain/names.ts';
import {
  CLUSTER_VMMRQS,
  MIGRATIONS,
  NAMESPACES,
  RESOURCE_QUOTAS,
  VMMRQS,
} from '../../functions/kubernetes/resources.ts';
import { resync } from './resync.ts';

/** The requested wait between each two resyncs; the test does not wait. */
const waits: number[] = [];
let elapsed: number;
const clock: Clock = {
  elapsed: () => elapsed,
  now: () => new Date(NOW),
  after: (ms, work) => {
    waits.push(ms);
    queueMicrotask(work);
    return () => undefined;
  },
};

const HOUR_MS = 3_600_000;
let cluster: WatchedCluster;
/** Aborts the wait of the next resync. */
let hurry: AbortController;
let unlocks: ReadonlyMap<string, number>;
let unlockCount: number;

beforeEach(() => {
  cluster = new WatchedCluster();
  hurry = new AbortController();
  unlocks = new Map();
  unlockCount = 0;
  elapsed = 5_000;
});

interface Resynced {
  /** The events of each resync. */
  readonly posted: OurEvent[][];
  /** The namespaces that each resync repaired. */
  readonly repaired: string[][];
  readonly logged: string[];
}

interface Script {
  /** Runs before the resync of this number (1, 2, …). */
  readonly before?: (resync: number) => void;
  readonly post?: (event: OurEvent) => Promise<void>;
  readonly repair?: (namespace: string) => Promise<void>;
  readonly random?: () => number;
  readonly incumbent?: string;
}

/** Runs `count` resyncs, with an interval of 30 s by the test's clock. */
async function resyncs(
  count: number,
  { before, post, repair, random, incumbent }: Script = {},
): Promise<Resynced> {
  const stop = new AbortController();
  const resynced: Resynced = { posted: [[]], repaired: [[]], logged: [] };
  before?.(1);
  await resync(
    30,
    {
      cluster: cluster.asCluster(),
      clock,
      log: (_, message) => resynced.logged.push(message),
      post: (event) => {
        resynced.posted.at(-1)?.push(event);
        return post?.(event) ?? Promise.resolve();
      },
      repair: (namespace, token) => {
        resynced.repaired.at(-1)?.push(`${namespace} ${String(token)}`);
        return repair?.(namespace) ?? Promise.resolve();
      },
      seen: () => ({
        vmmrqs: cluster.all(VMMRQS),
        clusterVmmrqs: cluster.all(CLUSTER_VMMRQS),
        migrations: cluster.all(MIGRATIONS).filter(isOpen),
        unlocks,
        unlockCount,
        incumbent,
      }),
      hurry: () => hurry.signal,
      // The resync calls `random` once after each round, for the wait.
      random: () => {
        if (resynced.posted.length === count) stop.abort();
        else {
          resynced.posted.push([]);
          resynced.repaired.push([]);
          before?.(resynced.posted.length);
        }
        return random?.() ?? 0.5;
      },
    },
    stop.signal,
  );
  return resynced;
}

/** The watches keep no ended migration. */
const isOpen = (migration: Migration): boolean => !isFinal(migration);

const busy = (type: string): ReturnType<typeof aVmmrq> =>
  aVmmrq((vmmrq) => ({ ...vmmrq, status: { conditions: [{ type, status: 'True' }] } }));

describe('blocked migrations', () => {
  const namespacesOf = ({ posted }: Resynced): string[] => posted.flat().map(({ namespace }) => namespace);

  test('in a namespace with a VMMRQ get an event sweep.requested', async () => {
    cluster.put(VMMRQS, aVmmrq());
    cluster.put(MIGRATIONS, aMigration());
    cluster.put(MIGRATIONS, aMigration(named('mig1')));
    const [first] = (await resyncs(1)).posted;
    expect(first).toEqual([
      {
        type: EVENT.resyncRequested,
        from: 'guard',
        namespace: 'tenant',
        cause: expect.stringMatching(/^[0-9a-f]{16}-1$/),
      },
    ]);
  });

  test('get a request at once when their namespace has changed, also after a long interval', async () => {
    cluster.put(MIGRATIONS, aMigration());
    const since = (minute: number): ReturnType<typeof aVmmrq> =>
      aVmmrq((vmmrq) => ({
        ...vmmrq,
        status: {
          conditions: [
            {
              type: CONDITION.locked,
              status: 'False',
              lastTransitionTime: `2026-01-01T00:0${String(minute)}:00Z`,
            },
          ],
        },
      }));
    const { posted } = await resyncs(8, {
      before: (resync) => cluster.put(VMMRQS, since(resync < 6 ? 1 : 2)),
    });
    expect(posted.map(({ length }) => length)).toEqual([1, 1, 0, 1, 0, 1, 1, 0]);
  });

  test('in any namespace get one while a cluster-wide VMMRQ exists, and at once when it has changed', async () => {
    cluster.put(MIGRATIONS, aMigration());
    const { posted } = await resyncs(8, {
      before: (resync) => {
        const generation = resync < 6 ? 1 : 2;
        const { metadata, ...vmmrq } = aClusterVmmrq();
        if (resync > 1) cluster.put(CLUSTER_VMMRQS, { ...vmmrq, metadata: { ...metadata, generation } });
      },
    });
    expect(posted.map(({ length }) => length)).toEqual([0, 1, 1, 0, 1, 1, 1, 0]);
  });

  const EVACUATES = annotated(KUBEVIRT.evacuation, 'node1');

  test.each<[string, Parameters<typeof aMigration>, string[]]>([
    ['of a drain that a quota refused: gets one, for its verdict', [EVACUATES, refusedAt(-5)], ['tenant']],
    ['of a drain that waits for a slot', [EVACUATES, withCondition()], []],
    ['of a user', [refusedAt(-5)], []],
  ])('without any VMMRQ, %s', async (_, changes, want) => {
    cluster.put(MIGRATIONS, aMigration(...changes));
    expect(namespacesOf(await resyncs(1))).toEqual(want);
  });

  test('without any VMMRQ, of a drain that is still Pending at the next resync: gets one, for what else may refuse it', async () => {
    cluster.put(MIGRATIONS, aMigration(EVACUATES, withCondition()));
    const { posted } = await resyncs(8, {
      before: (count) => count === 7 && cluster.put(MIGRATIONS, aMigration(EVACUATES, refusedAt(-5))),
    });
    expect(posted.map(({ length }) => length)).toEqual([0, 1, 0, 1, 0, 0, 1, 1]);
  });

  test('do not wait for the next resync when there is hurry', async () => {
    waits.length = 0;
    const { posted } = await resyncs(3, { before: (resync) => resync === 3 && hurry.abort() });
    expect(posted).toHaveLength(3);
    expect(waits).toEqual([30_000]);
  });

  test('do not wait for the next resync when the hurry begins during one', async () => {
    waits.length = 0;
    cluster.put(VMMRQS, aVmmrq());
    cluster.put(MIGRATIONS, aMigration());
    let isFirst = true;
    const post = (): Promise<void> => {
      // The guard gives the next resync a signal of its own, too.
      if (isFirst) hurry.abort();
      if (isFirst) hurry = new AbortController();
      isFirst = false;
      return Promise.resolve();
    };
    expect((await resyncs(3, { post })).posted).toHaveLength(3);
    expect(waits).toEqual([30_000]);
  });

  test('get a request without a condition too, because their attachment pod may be refused', async () => {
    cluster.put(VMMRQS, aVmmrq());
    cluster.put(MIGRATIONS, aMigration(withCondition()));
    expect(namespacesOf(await resyncs(1))).toEqual(['tenant']);
  });

  test.each<[string, Parameters<typeof aMigration>]>([
    ['running', [inPhase('Scheduling')]],
    ['succeeded', [inPhase('Succeeded')]],
    ['cancelled', [beingDeleted()]],
    ['of another namespace', [inNamespace('other')]],
  ])('%s: get no request', async (_, changes) => {
    cluster.put(VMMRQS, aVmmrq());
    cluster.put(MIGRATIONS, aMigration(...changes));
    expect(namespacesOf(await resyncs(3))).toEqual([]);
  });

  test.each([
    [CONDITION.blocking, ['tenant']],
    [CONDITION.locked, ['tenant']],
    [CONDITION.raised, ['tenant']],
    [CONDITION.ready, []],
  ])('a VMMRQ that still reports %s: a report may be lost', async (type, want) => {
    cluster.put(VMMRQS, busy(type));
    expect(namespacesOf(await resyncs(1))).toEqual(want);
  });

  test.each<[string, Migration, number[]]>([
    ['refused by a quota: at resyncs 1, 2, 4, and every 4th', aMigration(), [1, 2, 4, 8, 12, 16, 20, 24]],
    [
      'not refused: at resyncs 1, 2, 4, 8, 16, 32, and every 20th',
      aMigration(withCondition()),
      [1, 2, 4, 8, 16, 32, 52, 72],
    ],
  ])('without a change get a request, %s', async (_, migration, want) => {
    cluster.put(VMMRQS, aVmmrq());
    cluster.put(MIGRATIONS, migration);
    const { posted } = await resyncs((want.at(-1) ?? 0) + 3);
    const asked = posted.flatMap((events, index) => (events.length > 0 ? [index + 1] : []));
    expect(asked).toEqual(want);
    const causes = posted.flat().map(({ cause }) => cause);
    expect(new Set(causes).size).toBe(causes.length);
  });

  test('get requests as at first after each lock of their namespace', async () => {
    cluster.put(CLUSTER_VMMRQS, aClusterVmmrq());
    cluster.put(MIGRATIONS, aMigration());
    const { posted } = await resyncs(12, {
      before: (count) => {
        if (count === 10) unlocks = new Map([['tenant', 1]]);
      },
    });
    const asked = posted.flatMap((events, index) => (events.length > 0 ? [index + 1] : []));
    expect(asked).toEqual([1, 2, 4, 8, 10, 11]);
  });

  test('get a request at once when another migration is blocked', async () => {
    cluster.put(VMMRQS, aVmmrq());
    cluster.put(MIGRATIONS, aMigration());
    const { posted } = await resyncs(7, {
      before: (count) => {
        if (count === 7) cluster.put(MIGRATIONS, aMigration(named('mig1')));
      },
    });
    expect(posted.map(({ length }) => length)).toEqual([1, 1, 0, 1, 0, 0, 1]);
  });

  test('get a request at once when they are blocked again', async () => {
    cluster.put(VMMRQS, aVmmrq());
    const { posted } = await resyncs(7, {
      before: (count) => cluster.put(MIGRATIONS, aMigration(inPhase(count === 6 ? 'Running' : 'Pending'))),
    });
    expect(posted.map(({ length }) => length)).toEqual([1, 1, 0, 1, 0, 0, 1]);
  });

  test('have their own interval in each namespace', async () => {
    for (const namespace of ['a', 'b']) {
      cluster.put(VMMRQS, aVmmrq(inNamespace(namespace)));
      cluster.put(MIGRATIONS, aMigration(inNamespace(namespace)));
    }
    expect(namespacesOf(await resyncs(1)).toSorted()).toEqual(['a', 'b']);
  });

  test('a failed resync is in the log, and the next one sends the request again', async () => {
    cluster.put(VMMRQS, aVmmrq());
    cluster.put(MIGRATIONS, aMigration());
    let fails = 2;
    const { posted, logged } = await resyncs(4, {
      post: () => {
        fails -= 1;
        return fails >= 0 ? Promise.reject(new Error('no Broker')) : Promise.resolve();
      },
    });
    expect(posted.map(({ length }) => length)).toEqual([1, 1, 1, 1]);
    expect(logged).toEqual(new Array(2).fill('a resync failed: Error: no Broker'));
  });

  test('one that fails in the middle goes on there, and does not begin again', async () => {
    for (const namespace of ['a', 'b', 'c']) {
      cluster.put(VMMRQS, aVmmrq(inNamespace(namespace)));
      cluster.put(MIGRATIONS, aMigration(inNamespace(namespace)));
    }
    let calls = 0;
    const { posted } = await resyncs(2, {
      post: () => {
        calls += 1;
        return calls === 2 ? Promise.reject(new Error('no Broker')) : Promise.resolve();
      },
    });
    expect(posted.map(({ length }) => length)).toEqual([2, 3]);
    const taken = posted.flat().filter(({ namespace }) => namespace === posted[0]?.[0]?.namespace);
    const [before, after] = taken.map((event) => 'cause' in event && event.cause);
    expect(after).not.toBe(before);
  });
});

describe('grants without their label', () => {
  const hidden = annotated(ANNOTATION.grant, JSON.stringify(aGrant()));

  test('get a repair, once for each namespace', async () => {
    cluster.put(RESOURCE_QUOTAS, aQuota(hidden));
    cluster.put(RESOURCE_QUOTAS, aQuota(named('more'), hidden));
    cluster.put(RESOURCE_QUOTAS, aQuota(inNamespace('other'), annotated(ANNOTATION.grant, '{')));
    const { repaired, logged } = await resyncs(1);
    expect(repaired).toEqual([['tenant undefined', 'other undefined']]);
    expect(logged).toContain('a ResourceQuota holds a grant without the label, and is repaired');
  });

  test('with their label get none, because the watch sees them', async () => {
    cluster.put(RESOURCE_QUOTAS, aQuota());
    cluster.put(RESOURCE_QUOTAS, aQuota(named('raised'), holding(aGrant())));
    expect((await resyncs(1)).repaired).toEqual([[]]);
  });

  test('are listed at start and every hour', async () => {
    cluster.put(RESOURCE_QUOTAS, aQuota(hidden));
    const { repaired } = await resyncs(4, {
      before: (count) => {
        if (count === 3) elapsed += HOUR_MS - 1;
        if (count === 4) elapsed += 1;
      },
    });
    expect(repaired.map(({ length }) => length)).toEqual([1, 0, 0, 1]);
  });

  test('a failed repair does not stop those of other namespaces, and the next resync tries again', async () => {
    cluster.put(RESOURCE_QUOTAS, aQuota(hidden));
    cluster.put(RESOURCE_QUOTAS, aQuota(inNamespace('other'), hidden));
    const { repaired } = await resyncs(2, {
      repair: (namespace) =>
        namespace === 'tenant' ? Promise.reject(new Error('refused')) : Promise.resolve(),
    });
    expect(repaired).toEqual(new Array(2).fill(['tenant undefined', 'other undefined']));
  });

  test('get a repair while the Broker is down', async () => {
    cluster.put(VMMRQS, aVmmrq());
    cluster.put(MIGRATIONS, aMigration());
    cluster.put(RESOURCE_QUOTAS, aQuota(hidden));
    const { repaired } = await resyncs(1, { post: () => Promise.reject(new Error('no Broker')) });
    expect(repaired).toEqual([['tenant undefined']]);
  });
});

test('old records of namespaces are looked for at start and every hour, whether the list works or not', async () => {
  cluster.failLists(NAMESPACES, new Error('too busy'));
  const { logged } = await resyncs(4, {
    before: (count) => {
      if (count === 3) elapsed += HOUR_MS - 1;
      if (count === 4) elapsed += 1;
    },
  });
  expect(cluster.asked.filter((what) => what === 'list namespaces')).toHaveLength(2);
  expect(logged).toEqual(new Array(2).fill('a resync failed: Error: too busy'));
});

test('after an unlock they are looked for when its record may be over, and then when each is', async () => {
  const clocks = new Array<number>();
  await resyncs(7, {
    before: (count) => {
      if (count === 2) unlockCount = 1;
      if (count === 3) elapsed += WINDOW_MS - 1;
      if (count === 4) {
        elapsed += 1;
        cluster.put(
          NAMESPACES,
          aNamespace(afterAttempt(anAttempt({ at: seconds(-WINDOW_MS / 1_000), failures: 1 }))),
        );
      }
      if (count === 5) elapsed += 29_999;
      if (count === 6) elapsed += 1;
      clocks.push(cluster.asked.filter((what) => what === 'list namespaces').length);
    },
  });
  // Before each resync; one failure pauses 30 s.
  expect(clocks).toEqual([0, 1, 1, 1, 2, 2, 3]);
});

test('beside the incumbent no record is looked for', async () => {
  await resyncs(1, { incumbent: 'the incumbent is installed' });
  expect(cluster.asked).not.toContain('list namespaces');
});

test('the wait is the configured number of seconds, plus or minus a fifth', async () => {
  waits.length = 0;
  const chances = [0, 0.5, 1];
  await resyncs(4, { random: () => chances.shift() ?? 0 });
  expect(waits.map(Math.round)).toEqual([24_000, 30_000, 36_000]);
});
