import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { WatchedCluster } from '../../test/support/builders/cluster.ts';
import { aLock, aNamespace, lockedBy, lockedUnreadably } from '../../test/support/builders/namespace.ts';
import {
  inNamespace,
  labelled,
  named,
  seconds,
  type MetaChange,
} from '../../test/support/builders/object.ts';
import {
  aGrant,
  aQuota,
  enforced,
  hard,
  holding,
  loweredBy,
  raisedBy,
  recounted,
  used,
} from '../../test/support/builders/quota.ts';
import { aVmmrq } from '../../test/support/builders/snapshot.ts';
import { systemClock } from '../../functions/runtime/clock.ts';
import type { OurEvent } from '../../functions/domain/events.ts';
import type { Lock } from '../../functions/domain/lock.ts';
import { MAX_LOCK_SECONDS } from '../../functions/runtime/limits.ts';
import { ANNOTATION, EVENT, LABEL } from '../../functions/domain/names.ts';
import type { ResourceQuota } from '../../functions/domain/objects.ts';
import type { ResourceType } from '../../functions/kubernetes/cluster.ts';
import { Unreachable } from '../../functions/kubernetes/errors.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../functions/kubernetes/resources.ts';
import type { Level } from '../../functions/runtime/log.ts';
import type { Watched } from '../observability/metrics.ts';
import { Watchdog } from './watchdog.ts';

const HELD = aNamespace(lockedBy(aLock()));
const RAISED = raisedBy(aVmmrq())(aQuota());
/** The events that the guard says again while a lock stands. */
const STATIONS: readonly string[] = [
  EVENT.namespaceLocked,
  EVENT.quotaRaised,
  EVENT.quotaUndone,
  EVENT.quotaLowered,
];
/** The silence and the next list, of two watches. */
const IDLE_TIMERS = 4;

class WatchdogFixture {
  readonly cluster = new WatchedCluster();
  /** What it did, in order: "expired token-1", "repair tenant token-1". */
  readonly did: string[] = [];
  readonly posted: OurEvent[] = [];
  readonly stations: OurEvent[] = [];
  readonly logged: [Level, string][] = [];
  postFails: Error | undefined;
  repairFails: Error | undefined;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly watchdog: Watchdog;

  constructor() {
    this.watchdog = new Watchdog(
      { STALL_SECONDS: 3, OVERDUE_SECONDS: 5 },
      {
        cluster: {
          ...this.cluster.asCluster(),
          replace: (type, object) => {
            this.cluster.put(type, object);
            return Promise.resolve({ object, date: new Date() });
          },
        },
        clock: systemClock,
        log: (level, message) => this.logged.push([level, message]),
        post: (event) => {
          const isStation = STATIONS.includes(event.type);
          (isStation ? this.stations : this.posted).push(event);
          if (!isStation)
            this.did.push(`${event.type.split('.').slice(-1).join()} ${event.token ?? event.cause ?? ''}`);
          return this.postFails === undefined ? Promise.resolve() : Promise.reject(this.postFails);
        },
        repair: (namespace, token) => {
          this.did.push(`repair ${namespace} ${String(token)}`);
          return this.repairFails === undefined ? Promise.resolve() : Promise.reject(this.repairFails);
        },
      },
    );
    this.#running = this.watchdog.run(this.#stop.signal);
  }

  /** What it did in the next so many milliseconds, beside its stations. */
  async during(ms: number): Promise<string[]> {
    const before = this.did.length;
    await jest.advanceTimersByTimeAsync(ms);
    return this.did.slice(before);
  }

  /** The stations that it said again in the next so many milliseconds. */
  async stationsIn(ms: number): Promise<string[]> {
    const before = this.stations.length;
    await jest.advanceTimersByTimeAsync(ms);
    return this.stations.slice(before).map(({ type }) => type);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

let fixture: WatchdogFixture;

beforeEach(async () => {
  jest.useFakeTimers();
  fixture = new WatchdogFixture();
  await fixture.during(0);
});

afterEach(async () => {
  await fixture.stop();
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

test('at rest: two empty watches, their two timers each, and nothing is said', async () => {
  expect(fixture.cluster.asked).toEqual([
    `list namespaces ${LABEL.locked}=true`,
    `list resourcequotas ${LABEL.raised}=true`,
    `watch namespaces ${LABEL.locked}=true`,
    `watch resourcequotas ${LABEL.raised}=true`,
  ]);
  expect(jest.getTimerCount()).toBe(IDLE_TIMERS);
  expect(await fixture.during(3_600_000)).toEqual([]);
  expect(await fixture.stationsIn(3_600_000)).toEqual([]);
});

describe('a locked namespace', () => {
  test('past its time: says so, and says it again, less and less often', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    expect(await fixture.during(29_999)).toEqual([]);
    expect(await fixture.during(1)).toEqual(['expired token-1']);
    expect(await fixture.during(1_000)).toEqual(['expired token-1']);
    expect(await fixture.during(2_000)).toEqual(['expired token-1']);
    expect(fixture.posted[0]).toEqual({
      type: EVENT.lockExpired,
      from: 'guard',
      namespace: 'tenant',
      token: 'token-1',
    });
  });

  test('overdue: repairs by itself, with the token that it watched, until it is done', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(34_999);
    expect(await fixture.during(1)).toEqual(['repair tenant token-1']);
    const repairs = (await fixture.during(60_000)).filter((did) => did.startsWith('repair'));
    expect(repairs).toHaveLength(8); // After 1, 2, 4, 8 and then every 10 s.
    fixture.cluster.put(NAMESPACES, aNamespace());
    expect(await fixture.during(60_000)).toEqual([]);
  });

  test('the time it counts is its own: what the lock says of clocks does not matter', async () => {
    fixture.cluster.put(
      NAMESPACES,
      aNamespace(lockedBy(aLock({ acquiredAt: seconds(-9_000), expiresAt: seconds(-8_990) }))),
    );
    expect(await fixture.during(9_999)).toEqual([]);
    expect(await fixture.during(1)).toEqual(['expired token-1']);
  });

  test.each<[string, Partial<Lock>, number]>([
    ['longer than a lock may be: the longest', { expiresAt: seconds(9_000) }, MAX_LOCK_SECONDS * 1_000],
    ['an end before its start: at once', { expiresAt: seconds(-60) }, 0],
  ])('%s', async (_, lock, lifetime) => {
    fixture.cluster.put(NAMESPACES, aNamespace(lockedBy(aLock(lock))));
    if (lifetime > 0) expect(await fixture.during(lifetime - 1)).toEqual([]);
    expect(await fixture.during(1)).toEqual(['expired token-1']);
  });

  test('cannot be read: at once, and repaired without a token', async () => {
    fixture.cluster.put(NAMESPACES, aNamespace(lockedUnreadably()));
    const [expired, ...more] = await fixture.during(4_999);
    expect(expired).toMatch(/^expired malformed /);
    expect(more.filter((did) => did.startsWith('repair'))).toEqual([]);
    expect(await fixture.during(1)).toContain('repair tenant undefined');
    expect(fixture.posted[0]).not.toHaveProperty('token');
  });

  test('changes that are not about the lock do not start its time anew', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(20_000);
    fixture.cluster.put(NAMESPACES, labelled('env', 'test')(HELD));
    expect(await fixture.during(10_000)).toEqual(['expired token-1']);
  });

  test('another token is another time', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(20_000);
    fixture.cluster.put(NAMESPACES, aNamespace(lockedBy(aLock({ token: 'token-2' }))));
    expect(await fixture.during(29_999)).toEqual([]);
    expect(await fixture.during(1)).toEqual(['expired token-2']);
  });

  describe('ended early', () => {
    /** The lock lives from -5 to 25; it is seen from its start, and ended so late, in milliseconds. */
    const endedAfter = async (ms: number): Promise<void> => {
      fixture.cluster.put(NAMESPACES, HELD);
      await fixture.during(ms);
      const ended = { expiresAt: seconds(-5 + ms / 1_000), ended: { reason: 'NoProof', message: '' } };
      fixture.cluster.put(NAMESPACES, aNamespace(lockedBy(aLock(ended))));
    };

    test.each([1_000, 14_000, 29_000])('after %d ms: posts lock.expired at once', async (ms) => {
      await endedAfter(ms);
      expect(await fixture.during(0)).toEqual(['expired token-1']);
    });

    test.each([1_000, 14_000, 29_000])('after %d ms: repairs after OVERDUE_SECONDS', async (ms) => {
      await endedAfter(ms);
      expect((await fixture.during(4_999)).filter((did) => did.startsWith('repair'))).toEqual([]);
      expect(await fixture.during(1)).toContain('repair tenant token-1');
    });
  });

  test('another end of the same token: the time that the lock has lived counts', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(20_000);
    fixture.cluster.put(NAMESPACES, aNamespace(lockedBy(aLock({ expiresAt: seconds(20) }))));
    expect(await fixture.during(4_999)).toEqual([]);
    expect(await fixture.during(1)).toEqual(['expired token-1']);
    expect((await fixture.during(4_999)).filter((did) => did.startsWith('repair'))).toEqual([]);
    expect(await fixture.during(1)).toContain('repair tenant token-1');
  });

  test.each<[string, (cluster: WatchedCluster) => void]>([
    ['unlocked', (cluster) => cluster.put(NAMESPACES, aNamespace())],
    ['deleted', (cluster) => cluster.remove(NAMESPACES, HELD)],
  ])('%s: nothing more is due', async (_, change) => {
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(29_999);
    change(fixture.cluster);
    expect(await fixture.during(120_000)).toEqual([]);
    expect(jest.getTimerCount()).toBe(IDLE_TIMERS);
  });

  test('each namespace has its own time', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(10_000);
    fixture.cluster.put(NAMESPACES, aNamespace(named('tenant-b'), lockedBy(aLock({ token: 'token-b' }))));
    expect(await fixture.during(20_000)).toEqual(['expired token-1']);
    fixture.cluster.put(NAMESPACES, aNamespace());
    expect(await fixture.during(10_000)).toEqual(['expired token-b']);
  });

  test('what cannot be posted or repaired now is tried again, and said', async () => {
    fixture.postFails = new Error('no Broker');
    fixture.repairFails = new Error('no API server');
    fixture.cluster.put(NAMESPACES, HELD);
    expect(await fixture.during(36_000)).toEqual(
      expect.arrayContaining(['expired token-1', 'repair tenant token-1', 'repair tenant token-1']),
    );
    expect(fixture.logged).toContainEqual(['warn', 'not posted: Error: no Broker']);
    expect(fixture.logged).toContainEqual(['error', 'not repaired yet: Error: no API server']);
  });
});

describe('a raised quota', () => {
  beforeEach(async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(0);
  });

  test('nothing came of it for STALL_SECONDS after it was enforced: says so, then every two seconds', async () => {
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    expect(await fixture.during(2_999)).toEqual([]);
    expect(await fixture.during(1)).toEqual(['stalled token-1']);
    expect(await fixture.during(4_000)).toEqual(['stalled token-1', 'stalled token-1']);
    expect(fixture.posted[0]).toEqual({
      type: EVENT.lockStalled,
      from: 'guard',
      namespace: 'tenant',
      token: 'token-1',
    });
  });

  test('the time starts when it is enforced, not before', async () => {
    fixture.cluster.put(RESOURCE_QUOTAS, recounted()(RAISED));
    expect(await fixture.during(10_000)).toEqual([]);
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    expect(await fixture.during(3_000)).toEqual(['stalled token-1']);
  });

  test.each<[string, (quota: ResourceQuota) => ResourceQuota]>([
    ['it is used', used({ 'requests.cpu': '2010m' })],
    ['something else changed', labelled('env', 'test')],
  ])('%s: the time goes on', async (_, change) => {
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    await fixture.during(2_000);
    fixture.cluster.put(RESOURCE_QUOTAS, change(RAISED));
    expect(await fixture.during(1_000)).toEqual(['stalled token-1']);
  });

  test.each<[string, (cluster: WatchedCluster) => void]>([
    ['let go of: without its label', (cluster) => cluster.put(RESOURCE_QUOTAS, aQuota())],
    ['deleted', (cluster) => cluster.remove(RESOURCE_QUOTAS, RAISED)],
  ])('%s: nothing more is due', async (_, change) => {
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    await fixture.during(1_000);
    change(fixture.cluster);
    expect(await fixture.during(20_000)).toEqual([]);
  });
});

describe('the step that a lock waits for', () => {
  const QUOTA = holding(aGrant())(aQuota());
  const raised = enforced({ ...QUOTA.spec.hard, 'requests.cpu': '2605m' })(QUOTA);

  test('is said again where it does not come: after 2 s, then every 3 s', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    expect(await fixture.stationsIn(1_999)).toEqual([]);
    expect(await fixture.stationsIn(1)).toEqual([EVENT.namespaceLocked]);
    expect(await fixture.stationsIn(2_999)).toEqual([]);
    expect(await fixture.stationsIn(1)).toEqual([EVENT.namespaceLocked]);
    expect(fixture.stations[0]).toEqual({
      type: EVENT.namespaceLocked,
      from: 'guard',
      namespace: 'tenant',
      token: 'token-1',
      quotas: ['quota'],
      vmmrqs: ['vmmrq'],
    });
  });

  test.each<[string, ResourceQuota[], string | undefined]>([
    ['nothing is raised: the raise', [], EVENT.namespaceLocked],
    ['raised, and nothing charged: its pods', [raised], undefined],
    ['charged: that the quotas are raised', [used({ 'requests.cpu': '2010m' })(raised)], EVENT.quotaRaised],
    ['undone by a recount: that', [QUOTA], EVENT.quotaUndone],
    ['raised by another lock: the raise', [raisedBy(aVmmrq(), 'token-0')(aQuota())], EVENT.namespaceLocked],
  ])('%s', async (_, quotas, want) => {
    fixture.cluster.put(NAMESPACES, HELD);
    for (const quota of quotas) fixture.cluster.put(RESOURCE_QUOTAS, quota);
    expect(await fixture.stationsIn(2_000)).toEqual(want === undefined ? [] : [want]);
  });

  test('raised before, and put back: that it can be unlocked', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    fixture.cluster.put(RESOURCE_QUOTAS, raised);
    await fixture.during(1_000);
    fixture.cluster.put(RESOURCE_QUOTAS, loweredBy()(raised));
    expect(await fixture.stationsIn(1_000)).toEqual([EVENT.quotaLowered]);
  });

  describe('of two quotas, and the raise died between them', () => {
    const quotas = ['q1', 'q2'].map((name) => ({ name, uid: `uid-of-${name}`, need: { pods: '1' } }));
    const raisedAs = (name: string): ResourceQuota => named(name)(raised);

    beforeEach(() => {
      fixture.cluster.put(NAMESPACES, aNamespace(lockedBy(aLock({ quotas }))));
      fixture.cluster.put(RESOURCE_QUOTAS, raisedAs('q1'));
    });

    test('the raise is said again, at most three times', async () => {
      expect(await fixture.stationsIn(1_999)).toEqual([]);
      expect(await fixture.stationsIn(1)).toEqual([EVENT.namespaceLocked]);
      expect(await fixture.stationsIn(2_999)).toEqual([]);
      expect(await fixture.stationsIn(1)).toEqual([EVENT.namespaceLocked]);
      expect(await fixture.stationsIn(20_000)).toEqual([EVENT.namespaceLocked]);
    });

    test('once the other is raised no more is said', async () => {
      expect(await fixture.stationsIn(2_000)).toEqual([EVENT.namespaceLocked]);
      fixture.cluster.put(RESOURCE_QUOTAS, raisedAs('q2'));
      expect(await fixture.stationsIn(20_000)).toEqual([]);
    });

    test('the other is lowered before: it is not raised again', async () => {
      fixture.cluster.put(RESOURCE_QUOTAS, raisedAs('q2'));
      await fixture.during(1_000);
      fixture.cluster.put(RESOURCE_QUOTAS, loweredBy()(raisedAs('q2')));
      expect(await fixture.stationsIn(20_000)).toEqual([]);
    });
  });

  test.each<[string, MetaChange]>([
    ['ended early: only its end is due', lockedBy(aLock({ ended: { reason: 'NoProof', message: '' } }))],
    ['a lock that cannot be read has none', lockedUnreadably()],
  ])('%s', async (_, change) => {
    fixture.cluster.put(NAMESPACES, aNamespace(change));
    expect(await fixture.stationsIn(20_000)).toEqual([]);
  });
});

describe('a migration has ended', () => {
  test('the locks that are for it are said so, no others', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    const migrations = [{ name: 'mig1', uid: 'uid-of-mig1', vmi: 'uid-of-vm1' }];
    fixture.cluster.put(
      NAMESPACES,
      aNamespace(named('tenant-b'), lockedBy(aLock({ token: 'token-b', migrations }))),
    );
    await fixture.during(0);
    fixture.watchdog.migrationEnded('uid-of-mig1');
    fixture.watchdog.migrationEnded('uid-of-mig2');
    await fixture.during(0);
    expect(fixture.posted).toEqual([
      {
        type: EVENT.migrationEnded,
        from: 'guard',
        namespace: 'tenant-b',
        token: 'token-b',
        cause: 'uid-of-mig1',
      },
    ]);
  });
});

describe('a lock that is gone, and nothing of it was raised', () => {
  const inStore = (): ResourceQuota | undefined => fixture.cluster.all(RESOURCE_QUOTAS)[0];
  const fenced = (): string | undefined => inStore()?.metadata.annotations?.[ANNOTATION.lastRelease];

  test.each<[string, ResourceQuota, string | undefined]>([
    ['fenced: its raise may be on the way', aQuota(), 'removed-token-1 failed'],
    ['released by it: left alone', loweredBy()(aQuota()), 'token-1 admitted'],
    [
      'another quota of that name: left alone (F21)',
      aQuota((quota) => ({ ...quota, metadata: { ...quota.metadata, uid: 'new' } })),
      undefined,
    ],
  ])('%s', async (_, quota, want) => {
    fixture.cluster.put(RESOURCE_QUOTAS, quota);
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(0);
    fixture.cluster.put(NAMESPACES, aNamespace());
    await fixture.during(0);
    expect(fenced()).toBe(want);
  });

  test('the namespace is held by it after all: left alone', async () => {
    fixture.cluster.put(RESOURCE_QUOTAS, aQuota());
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(0);
    fixture.cluster.put(NAMESPACES, aNamespace());
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(0);
    expect(fenced()).toBeUndefined();
  });

  test('something of it was raised: lower puts that back, and fences it', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    await fixture.during(0);
    fixture.cluster.put(NAMESPACES, aNamespace());
    await fixture.during(0);
    expect(fenced()).toBeUndefined();
  });
});

describe('a lock of two quotas that is gone', () => {
  const quotas = ['q1', 'q2'].map((name) => ({ name, uid: `uid-of-${name}` }));
  const BOTH = aNamespace(lockedBy(aLock({ quotas })));
  const raisedAs = (name: string): ResourceQuota => raisedBy(aVmmrq())(aQuota(named(name)));
  const fences = (): (string | undefined)[] =>
    fixture.cluster
      .all(RESOURCE_QUOTAS)
      .map(({ metadata }) => metadata.annotations?.[ANNOTATION.lastRelease]);
  const reads = (): string[] => fixture.cluster.asked.filter((asked) => asked.startsWith('get'));

  const removed = async (one: ResourceQuota, other: ResourceQuota): Promise<void> => {
    fixture.cluster.put(NAMESPACES, BOTH);
    fixture.cluster.put(RESOURCE_QUOTAS, one);
    fixture.cluster.put(RESOURCE_QUOTAS, other);
    await fixture.during(0);
    fixture.cluster.put(NAMESPACES, aNamespace());
    await fixture.during(0);
  };

  test.each<[string, ResourceQuota, string | undefined]>([
    ['one is raised: the other is fenced', aQuota(named('q2')), 'removed-token-1 failed'],
    [
      'one is raised, and the other was released: left alone',
      loweredBy()(aQuota(named('q2'))),
      'token-1 admitted',
    ],
  ])('%s', async (_, other, want) => {
    await removed(raisedAs('q1'), other);
    expect(fences()).toEqual([undefined, want]);
  });

  test('both are raised: lower puts them back, and the guard reads nothing for it', async () => {
    await removed(raisedAs('q1'), raisedAs('q2'));
    expect(fences()).toEqual([undefined, undefined]);
    expect(reads()).toEqual([]);
  });

  test('both were raised and are lowered: the guard reads nothing', async () => {
    fixture.cluster.put(NAMESPACES, BOTH);
    for (const { name } of quotas) fixture.cluster.put(RESOURCE_QUOTAS, raisedAs(name));
    await fixture.during(0);
    await removed(loweredBy()(raisedAs('q1')), loweredBy()(raisedAs('q2')));
    expect(fences()).toEqual(['token-1 admitted', 'token-1 admitted']);
    expect(reads()).toEqual([]);
  });
});

describe('a raised quota in a namespace that nobody holds', () => {
  test('is given two seconds, then said and repaired, until it is gone', async () => {
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    expect(await fixture.during(1_999)).toEqual([]);
    const saidAndRepaired = [
      'expired orphan',
      'repair tenant undefined',
      // Nobody unlocks what was not locked: this brings the VMMRQs' status up to date.
      expect.stringMatching(/^requested orphan-/),
    ];
    expect(await fixture.during(1)).toEqual(saidAndRepaired);
    expect((await fixture.during(1_000)).slice(-3)).toEqual(saidAndRepaired);
    fixture.cluster.put(RESOURCE_QUOTAS, aQuota());
    expect(await fixture.during(60_000)).toEqual([]);
  });

  test('the watch of namespaces may be late: no orphan', async () => {
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    await fixture.during(1_999);
    fixture.cluster.put(NAMESPACES, HELD);
    expect((await fixture.during(20_000)).filter((did) => did.includes('orphan'))).toEqual([]);
  });

  test('the lock was broken by hand: it is one now', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    await fixture.during(2_500);
    fixture.cluster.put(NAMESPACES, aNamespace());
    expect(await fixture.during(5_000)).toContain('repair tenant undefined');
  });

  test('a grant that cannot be read, or that was put back, is one too', async () => {
    fixture.cluster.put(RESOURCE_QUOTAS, aQuota(labelled(LABEL.raised)));
    fixture.cluster.put(RESOURCE_QUOTAS, aQuota(named('back'), inNamespace('other'), holding(aGrant())));
    expect(await fixture.during(2_000)).toEqual(
      expect.arrayContaining(['repair tenant undefined', 'repair other undefined']),
    );
    expect(fixture.did.filter((did) => did.startsWith('stalled'))).toEqual([]);
  });
});

describe('what it sees, for the metrics', () => {
  const NOTHING = { lockedNamespaces: 0, raisedQuotas: 0, longestLockSeconds: 0 };
  const seen = (): Watched => fixture.watchdog.watched();

  test('at rest, and again after all is gone: nothing', async () => {
    expect(seen()).toEqual(NOTHING);
    fixture.cluster.put(NAMESPACES, HELD);
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    await fixture.during(1_000);
    expect(seen()).toEqual({ lockedNamespaces: 1, raisedQuotas: 1, longestLockSeconds: 1 });
    fixture.cluster.put(RESOURCE_QUOTAS, aQuota());
    fixture.cluster.remove(NAMESPACES, HELD);
    await fixture.during(0);
    expect(seen()).toEqual(NOTHING);
  });

  test('each raised quota once, whatever is due for it, while it is said too', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    fixture.cluster.put(RESOURCE_QUOTAS, aQuota(named('other'), labelled(LABEL.raised)));
    for (const ms of [0, 3_000, 60_000]) {
      await fixture.during(ms);
      expect(seen().raisedQuotas).toBe(2);
    }
  });

  test('the oldest of several locks; one ended early is as old as it was, another token is not', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(10_000);
    fixture.cluster.put(NAMESPACES, aNamespace(named('tenant-b'), lockedBy(aLock({ token: 'token-b' }))));
    await fixture.during(5_000);
    expect(seen()).toMatchObject({ lockedNamespaces: 2, longestLockSeconds: 15 });
    fixture.cluster.put(NAMESPACES, aNamespace(lockedBy(aLock({ expiresAt: seconds(20) }))));
    await fixture.during(1_000);
    expect(seen()).toMatchObject({ longestLockSeconds: 16 });
    fixture.cluster.put(NAMESPACES, aNamespace(lockedBy(aLock({ token: 'token-2' }))));
    await fixture.during(0);
    expect(seen()).toMatchObject({ lockedNamespaces: 2, longestLockSeconds: 6 });
  });

  test('asks nothing', async () => {
    const before = fixture.cluster.asked.length;
    seen();
    await fixture.during(0);
    expect(fixture.cluster.asked).toHaveLength(before);
  });
});

describe('when a watch breaks', () => {
  const lost = new Unreachable('the watch is gone');
  const PAUSE_MS = 200;
  /** The first pause, and the next one after the server said that the version is too old. */
  const PAUSES_MS = PAUSE_MS + 2 * PAUSE_MS;
  /** Takes the pauses before it watches again. */
  async function breakAndRestore(
    type: ResourceType,
    meanwhile: () => void,
    pausesMs = PAUSE_MS,
  ): Promise<void> {
    const again = fixture.cluster.nextWatch(type);
    fixture.cluster.break(type, lost);
    meanwhile();
    fixture.cluster.restoreWatch(type);
    await fixture.during(pausesMs);
    await again;
  }

  test('it sees what was unlocked meanwhile, and what was locked', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(2_000);
    await breakAndRestore(NAMESPACES, () => {
      fixture.cluster.put(NAMESPACES, aNamespace());
      fixture.cluster.put(NAMESPACES, aNamespace(named('tenant-b'), lockedBy(aLock({ token: 'token-b' }))));
    });
    expect(await fixture.during(29_999)).toEqual([]);
    expect(await fixture.during(1)).toEqual(['expired token-b']);
    expect(fixture.logged).toContainEqual(['warn', 'watching again: Unreachable: the watch is gone']);
  });

  test("what a list finds may be past its time: that is asked at once, by the API server's clock, and once", async () => {
    await breakAndRestore(
      NAMESPACES,
      () => {
        fixture.cluster.put(NAMESPACES, HELD);
        fixture.cluster.forget();
      },
      PAUSES_MS,
    );
    await fixture.during(25_000);
    expect(fixture.did).toEqual(['repair tenant undefined']);
  });

  test('it goes on from what it saw last: a lock that it missed has its whole life before it', async () => {
    await breakAndRestore(NAMESPACES, () => fixture.cluster.put(NAMESPACES, HELD));
    expect(await fixture.during(29_999)).toEqual([]);
    expect(await fixture.during(1)).toEqual(['expired token-1']);
  });

  test('its time goes on over the break', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(29_000);
    await breakAndRestore(NAMESPACES, () => undefined);
    expect(await fixture.during(1_000 - PAUSE_MS)).toEqual(['expired token-1']);
  });

  test('quotas that were let go of meanwhile are forgotten', async () => {
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    fixture.cluster.put(RESOURCE_QUOTAS, raisedBy(aVmmrq())(aQuota(named('other'), hard({ cpu: '1' }))));
    await fixture.during(1_000);
    await breakAndRestore(
      RESOURCE_QUOTAS,
      () => {
        fixture.cluster.put(RESOURCE_QUOTAS, aQuota());
        fixture.cluster.remove(RESOURCE_QUOTAS, aQuota(named('other')));
        fixture.cluster.forget();
      },
      PAUSES_MS,
    );
    await fixture.during(0);
    expect(jest.getTimerCount()).toBe(IDLE_TIMERS);
  });
});
