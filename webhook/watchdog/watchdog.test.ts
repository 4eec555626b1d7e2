import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { WatchedCluster } from '../../test/support/builders/cluster.ts';
import { aLock, aNamespace, lockedBy, lockedUnreadably } from '../../test/support/builders/namespace.ts';
import {
  annotated,
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
import { LOCK_VERSION, type Lock } from '../../functions/domain/lock.ts';
import { MAX_LOCK_SECONDS } from '../../functions/runtime/limits.ts';
import { ANNOTATION, EVENT, LABEL, REASON } from '../../functions/domain/names.ts';
import type { ResourceQuota } from '../../functions/domain/objects.ts';
import type { ResourceType } from '../../functions/kubernetes/cluster.ts';
import { Unreachable } from '../../functions/kubernetes/errors.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../functions/kubernetes/resources.ts';
import type { Level } from '../../functions/runtime/log.ts';
import type { Watched } from '../observability/metrics.ts';
import { Watchdog } from './watchdog.ts';

const HELD = aNamespace(lockedBy(aLock()));
const RAISED = raisedBy(aVmmrq())(aQuota());
/** The events that the guard sends again during a lock. */
const STATIONS: readonly string[] = [
  EVENT.namespaceLocked,
  EVENT.quotaRaised,
  EVENT.quotaUndone,
  EVENT.quotaLowered,
];
/** The silence timer and the list timer of two watches. */
const IDLE_TIMERS = 4;

class WatchdogFixture {
  readonly cluster = new WatchedCluster();
  /** The watchdog's actions in order: "expired token-1", "repair tenant token-1". */
  readonly did: string[] = [];
  readonly posted: OurEvent[] = [];
  readonly stations: OurEvent[] = [];
  readonly logged: [Level, string][] = [];
  isAnySilent = false;
  postFails: Error | undefined;
  repairFails: Error | undefined;
  replaceFails: Error | undefined;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly watchdog: Watchdog;
  /** UIDs of the migrations that wait. */
  readonly waiting = new Set<string>();

  constructor() {
    this.watchdog = new Watchdog(
      { STALL_SECONDS: 3, OVERDUE_SECONDS: 5 },
      {
        cluster: {
          ...this.cluster.asCluster(),
          replace: (type, object) => {
            if (this.replaceFails !== undefined) return Promise.reject(this.replaceFails);
            this.cluster.put(type, object);
            return Promise.resolve({ object, date: new Date() });
          },
        },
        clock: systemClock,
        isAnySilent: () => Promise.resolve(this.isAnySilent),
        log: (level, message) => this.logged.push([level, message]),
        post: (event) => {
          const isStation = STATIONS.includes(event.type);
          (isStation ? this.stations : this.posted).push(event);
          if (!isStation)
            this.did.push(`${event.type.split('.').slice(-1).join()} ${event.token ?? event.cause ?? ''}`);
          return this.postFails === undefined ? Promise.resolve() : Promise.reject(this.postFails);
        },
        isWaiting: (uid) => this.waiting.has(uid),
        repair: (namespace, token) => {
          this.did.push(`repair ${namespace} ${String(token)}`);
          return this.repairFails === undefined ? Promise.resolve() : Promise.reject(this.repairFails);
        },
      },
    );
    this.#running = this.watchdog.run(this.#stop.signal);
  }

  /** The actions in the next `ms` milliseconds, without the stations. */
  async during(ms: number): Promise<string[]> {
    const before = this.did.length;
    await jest.advanceTimersByTimeAsync(ms);
    return this.did.slice(before);
  }

  /** The stations that the watchdog sends again in the next `ms` milliseconds. */
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

test('an idle watchdog has two empty watches with two timers each, and posts nothing', async () => {
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
  test('that has expired gets lock.expired, again and again at growing intervals', async () => {
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

  test('that is overdue gets a repair with the watched token, until it is unlocked', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(34_999);
    expect(await fixture.during(1)).toEqual(['repair tenant token-1']);
    const repairs = (await fixture.during(60_000)).filter((did) => did.startsWith('repair'));
    expect(repairs).toHaveLength(8); // The pauses are 1, 2, 4, 8 and then 10 s.
    fixture.cluster.put(NAMESPACES, aNamespace());
    expect(await fixture.during(60_000)).toEqual([]);
  });

  test('has its time counted by the watchdog, not by the timestamps of the lock', async () => {
    fixture.cluster.put(
      NAMESPACES,
      aNamespace(lockedBy(aLock({ acquiredAt: seconds(-9_000), expiresAt: seconds(-8_990) }))),
    );
    expect(await fixture.during(9_999)).toEqual([]);
    expect(await fixture.during(1)).toEqual(['expired token-1']);
  });

  test.each<[string, Partial<Lock>, number]>([
    [
      'that is locked for too long expires after the longest lifetime',
      { expiresAt: seconds(9_000) },
      MAX_LOCK_SECONDS * 1_000,
    ],
    ['with a lock that ends before its start expires at once', { expiresAt: seconds(-60) }, 0],
  ])('%s', async (_, lock, lifetime) => {
    fixture.cluster.put(NAMESPACES, aNamespace(lockedBy(aLock(lock))));
    if (lifetime > 0) expect(await fixture.during(lifetime - 1)).toEqual([]);
    expect(await fixture.during(1)).toEqual(['expired token-1']);
  });

  test('with an unreadable lock expires at once, and gets a repair without a token', async () => {
    fixture.cluster.put(NAMESPACES, aNamespace(lockedUnreadably()));
    const [expired, ...more] = await fixture.during(4_999);
    expect(expired).toMatch(/^expired malformed /);
    expect(more.filter((did) => did.startsWith('repair'))).toEqual([]);
    expect(await fixture.during(1)).toContain('repair tenant undefined');
    expect(fixture.posted[0]).not.toHaveProperty('token');
  });

  test('does not restart its time on changes outside the lock', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(20_000);
    fixture.cluster.put(NAMESPACES, labelled('env', 'test')(HELD));
    expect(await fixture.during(10_000)).toEqual(['expired token-1']);
  });

  test('restarts its time with another token', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(20_000);
    fixture.cluster.put(NAMESPACES, aNamespace(lockedBy(aLock({ token: 'token-2' }))));
    expect(await fixture.during(29_999)).toEqual([]);
    expect(await fixture.during(1)).toEqual(['expired token-2']);
  });

  describe('ended early', () => {
    /** The lock lasts from -5 to 25 s. The watchdog sees it from its start; the raise ends it after `ms` milliseconds. */
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

  test('keeps its elapsed time with another end of the same token', async () => {
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

  test('has its own time', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(10_000);
    fixture.cluster.put(NAMESPACES, aNamespace(named('tenant-b'), lockedBy(aLock({ token: 'token-b' }))));
    expect(await fixture.during(20_000)).toEqual(['expired token-1']);
    fixture.cluster.put(NAMESPACES, aNamespace());
    expect(await fixture.during(10_000)).toEqual(['expired token-b']);
  });

  test('gets another try and a log line after a failed post or repair', async () => {
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

  test('without progress for STALL_SECONDS gets lock.stalled, then every two seconds', async () => {
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    expect(await fixture.during(2_999)).toEqual([]);
    expect(await fixture.during(1)).toEqual(['stalled token-1']);
    expect(await fixture.during(3_000)).toEqual(['stalled token-1']);
    expect(fixture.posted[0]).toEqual({
      type: EVENT.lockStalled,
      from: 'guard',
      namespace: 'tenant',
      token: 'token-1',
    });
  });

  test('one of two of the same lock: one event, until both are lowered', async () => {
    const other = raisedBy(aVmmrq())(aQuota(named('other')));
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    fixture.cluster.put(RESOURCE_QUOTAS, other);
    expect(await fixture.during(3_000)).toEqual(['stalled token-1']);
    fixture.cluster.remove(RESOURCE_QUOTAS, other);
    expect(await fixture.during(2_000)).toEqual(['stalled token-1']);
    fixture.cluster.remove(RESOURCE_QUOTAS, RAISED);
    expect(await fixture.during(20_000)).not.toContain('stalled token-1');
  });

  test('by the next lock, where the watch missed the end of the former: the next one’s time counts', async () => {
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    await fixture.during(2_000);
    fixture.cluster.put(NAMESPACES, aNamespace(lockedBy(aLock({ token: 'token-2' }))));
    fixture.cluster.put(RESOURCE_QUOTAS, raisedBy(aVmmrq(), 'token-2')(aQuota()));
    expect(await fixture.during(2_999)).not.toContain('stalled token-1');
    expect(await fixture.during(1)).toContain('stalled token-2');
  });

  test('starts its time when it is enforced, not before', async () => {
    fixture.cluster.put(RESOURCE_QUOTAS, recounted()(RAISED));
    expect(await fixture.during(3_500)).toEqual([]);
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    expect(await fixture.during(3_000)).toEqual(['stalled token-1']);
  });

  test.each<[string, (quota: ResourceQuota) => ResourceQuota]>([
    ['used', used({ 'requests.cpu': '2010m' })],
    ['changed elsewhere', labelled('env', 'test')],
  ])('%s: the time continues', async (_, change) => {
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    await fixture.during(2_000);
    fixture.cluster.put(RESOURCE_QUOTAS, change(RAISED));
    expect(await fixture.during(1_000)).toEqual(['stalled token-1']);
  });

  test.each<[string, (cluster: WatchedCluster) => void]>([
    ['lowered: without its label', (cluster) => cluster.put(RESOURCE_QUOTAS, aQuota())],
    ['deleted', (cluster) => cluster.remove(RESOURCE_QUOTAS, RAISED)],
  ])('%s: no more lock.stalled', async (_, change) => {
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    await fixture.during(1_000);
    change(fixture.cluster);
    expect(await fixture.during(20_000)).not.toContain('stalled token-1');
  });
});

describe('the event of the step that a lock waits for', () => {
  const QUOTA = holding(aGrant())(aQuota());
  const raised = enforced({ ...QUOTA.spec.hard, 'requests.cpu': '2605m' })(QUOTA);

  test('is sent again after 2 s, then every 2.5 s', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    expect(await fixture.stationsIn(1_999)).toEqual([]);
    expect(await fixture.stationsIn(1)).toEqual([EVENT.namespaceLocked]);
    expect(await fixture.stationsIn(2_499)).toEqual([]);
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
    ['no quota is raised: namespace.locked', [], EVENT.namespaceLocked],
    ['raised, and not charged: none, the lock waits for its pods', [raised], undefined],
    ['charged: quota.raised', [used({ 'requests.cpu': '2010m' })(raised)], EVENT.quotaRaised],
    ['undone by a recount: quota.undone', [QUOTA], EVENT.quotaUndone],
    [
      'raised by another lock: namespace.locked',
      [raisedBy(aVmmrq(), 'token-0')(aQuota())],
      EVENT.namespaceLocked,
    ],
  ])('%s', async (_, quotas, want) => {
    fixture.cluster.put(NAMESPACES, HELD);
    for (const quota of quotas) fixture.cluster.put(RESOURCE_QUOTAS, quota);
    expect(await fixture.stationsIn(2_000)).toEqual(want === undefined ? [] : [want]);
  });

  test('raised before, and lowered: quota.lowered', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    fixture.cluster.put(RESOURCE_QUOTAS, raised);
    await fixture.during(1_000);
    fixture.cluster.put(RESOURCE_QUOTAS, loweredBy()(raised));
    expect(await fixture.stationsIn(1_000)).toEqual([EVENT.quotaLowered]);
  });

  describe('without effect for 7 s', () => {
    const charged = used({ 'requests.cpu': '2010m' })(raised);
    /** Lives for 15 s. */
    const USUAL = aNamespace(lockedBy(aLock({ expiresAt: seconds(10) })));
    const repairsIn = async (ms: number): Promise<string[]> =>
      (await fixture.during(ms)).filter((did) => did.startsWith('repair'));

    test.each<[string, ResourceQuota[]]>([
      ['quota.raised', [charged]],
      ['quota.lowered', [raised, loweredBy()(raised)]],
    ])('%s: the guard ends the lock itself, until it is gone', async (_, quotas) => {
      fixture.cluster.put(NAMESPACES, USUAL);
      for (const quota of quotas) fixture.cluster.put(RESOURCE_QUOTAS, quota);
      expect(await repairsIn(6_999)).toEqual([]);
      expect(fixture.stations).toHaveLength(2);
      fixture.repairFails = new Error('no API server');
      expect(await repairsIn(1)).toEqual(['repair tenant token-1']);
      expect(await repairsIn(2_500)).toEqual(['repair tenant token-1']);
      expect(fixture.stations).toHaveLength(2);
      fixture.cluster.put(RESOURCE_QUOTAS, loweredBy()(raised));
      fixture.cluster.put(NAMESPACES, aNamespace());
      expect(await repairsIn(60_000)).toEqual([]);
    });

    test.each<[string, ResourceQuota[], string[], number]>([
      ['namespace.locked', [], [], 4],
      ['quota.undone', [QUOTA], ['repair tenant undefined', 'repair tenant undefined'], 4],
      ['none', [raised], ['repair tenant undefined', 'repair tenant undefined'], 0],
    ])(
      '%s: where it is raised, the guard looks for its pods; it ends it where a function is silent',
      async (_, quotas, looks, stations) => {
        fixture.cluster.put(NAMESPACES, USUAL);
        for (const quota of quotas) fixture.cluster.put(RESOURCE_QUOTAS, quota);
        expect(await repairsIn(11_000)).toEqual(looks);
        fixture.isAnySilent = true;
        expect(await repairsIn(1_000)).toEqual(['repair tenant token-1']);
        expect(fixture.stations).toHaveLength(stations);
      },
    );

    test('a lock of another version is not ended before its time, though a function is silent', async () => {
      fixture.isAnySilent = true;
      fixture.cluster.put(
        NAMESPACES,
        aNamespace(lockedBy(aLock({ v: LOCK_VERSION + 1, expiresAt: seconds(10) }))),
      );
      fixture.cluster.put(RESOURCE_QUOTAS, raised);
      expect(await repairsIn(14_000)).toEqual([]);
      expect(await repairsIn(7_000)).toContain('repair tenant token-1');
    });

    test.each([
      [5, 0],
      [30, 12],
    ])(
      'a lock that lives for %d s is late after nearly half of that, and never before 7 s',
      async (life, want) => {
        fixture.cluster.put(NAMESPACES, aNamespace(lockedBy(aLock({ expiresAt: seconds(life - 5) }))));
        fixture.cluster.put(RESOURCE_QUOTAS, charged);
        expect(await repairsIn(want === 0 ? 6_999 : 1_000 * want)).toEqual([]);
        expect(await repairsIn(2_500)).toContain('repair tenant token-1');
      },
    );
  });

  describe('with two quotas, after a raise that failed between them', () => {
    const quotas = ['q1', 'q2'].map((name) => ({ name, uid: `uid-of-${name}`, need: { pods: '1' } }));
    const raisedAs = (name: string): ResourceQuota => named(name)(raised);

    beforeEach(() => {
      fixture.cluster.put(NAMESPACES, aNamespace(lockedBy(aLock({ quotas }))));
      fixture.cluster.put(RESOURCE_QUOTAS, raisedAs('q1'));
    });

    test('is namespace.locked, at most three times', async () => {
      expect(await fixture.stationsIn(1_999)).toEqual([]);
      expect(await fixture.stationsIn(1)).toEqual([EVENT.namespaceLocked]);
      expect(await fixture.stationsIn(2_499)).toEqual([]);
      expect(await fixture.stationsIn(1)).toEqual([EVENT.namespaceLocked]);
      expect(await fixture.stationsIn(20_000)).toEqual([EVENT.namespaceLocked]);
    });

    test('is not sent again once the other is raised', async () => {
      expect(await fixture.stationsIn(2_000)).toEqual([EVENT.namespaceLocked]);
      fixture.cluster.put(RESOURCE_QUOTAS, raisedAs('q2'));
      expect(await fixture.stationsIn(20_000)).toEqual([]);
    });

    test('is not sent again when the other is lowered already', async () => {
      fixture.cluster.put(RESOURCE_QUOTAS, raisedAs('q2'));
      await fixture.during(1_000);
      fixture.cluster.put(RESOURCE_QUOTAS, loweredBy()(raisedAs('q2')));
      expect(await fixture.stationsIn(20_000)).toEqual([]);
    });
  });

  test.each<[string, MetaChange]>([
    [
      'is not sent for a lock that ended early',
      lockedBy(aLock({ ended: { reason: 'NoProof', message: '' } })),
    ],
    ['is not sent for an unreadable lock', lockedUnreadably()],
  ])('%s', async (_, change) => {
    fixture.cluster.put(NAMESPACES, aNamespace(change));
    expect(await fixture.stationsIn(20_000)).toEqual([]);
  });
});

describe('the end of a migration', () => {
  test('causes migration.ended only once no other one of its lock waits', async () => {
    const migrations = ['1', '2'].map((n) => ({
      name: `mig${n}`,
      uid: `uid-of-mig${n}`,
      vmi: `uid-of-vm${n}`,
    }));
    fixture.cluster.put(NAMESPACES, aNamespace(lockedBy(aLock({ migrations }))));
    await fixture.during(0);
    fixture.waiting.add('uid-of-mig2');
    fixture.watchdog.migrationEnded('uid-of-mig1');
    await fixture.during(0);
    expect(fixture.posted).toEqual([]);
    fixture.waiting.clear();
    fixture.watchdog.migrationEnded('uid-of-mig2');
    await fixture.during(0);
    expect(fixture.posted.map(({ type }) => type)).toEqual([EVENT.migrationEnded]);
  });

  test('causes migration.ended for its own locks only', async () => {
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

describe('the quota of a removed lock without a raise', () => {
  const inStore = (): ResourceQuota | undefined => fixture.cluster.all(RESOURCE_QUOTAS)[0];
  const fenced = (): string | undefined => inStore()?.metadata.annotations?.[ANNOTATION.lastRelease];

  test.each<[string, ResourceQuota, string | undefined]>([
    [
      'not raised yet: the guard fences it, because a raise may still be running',
      aQuota(),
      'removed-token-1 failed',
    ],
    ['lowered by that lock: the guard leaves it unchanged', loweredBy()(aQuota()), 'token-1 admitted'],
    [
      'another quota of that name: the guard leaves it unchanged (F21)',
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

  test('fenced by the other guard: the guard leaves it unchanged', async () => {
    fixture.cluster.put(
      RESOURCE_QUOTAS,
      annotated(ANNOTATION.lastRelease, 'removed-token-1 failed')(aQuota()),
    );
    fixture.cluster.put(NAMESPACES, HELD);
    const before = inStore();
    await fixture.during(0);
    fixture.cluster.put(NAMESPACES, aNamespace());
    await fixture.during(0);
    expect(inStore()).toBe(before);
  });

  test('the write fails: the guard fences it again and again until it succeeds, also under the next lock', async () => {
    fixture.cluster.put(RESOURCE_QUOTAS, aQuota());
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(0);
    fixture.replaceFails = new Unreachable('connection refused');
    fixture.cluster.put(NAMESPACES, aNamespace());
    await fixture.during(0);
    fixture.cluster.put(NAMESPACES, aNamespace(lockedBy(aLock({ token: 'token-2' }))));
    await fixture.during(1_000);
    expect(fenced()).toBeUndefined();
    fixture.replaceFails = undefined;
    await fixture.during(2_000);
    expect(fenced()).toBe('removed-token-1 failed');
  });

  test('a policy refused the fence: the guard does not try it', async () => {
    const ended = { reason: REASON.refusedByPolicy, message: 'no', unfenced: true };
    fixture.cluster.put(RESOURCE_QUOTAS, aQuota());
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(0);
    fixture.cluster.put(NAMESPACES, aNamespace(lockedBy(aLock({ ended, expiresAt: seconds(0) }))));
    await fixture.during(0);
    fixture.replaceFails = new Unreachable('must not be asked');
    fixture.cluster.put(NAMESPACES, aNamespace());
    await fixture.during(60_000);
    expect(fixture.cluster.asked.filter((asked) => asked.startsWith('get'))).toEqual([]);
    expect(jest.getTimerCount()).toBe(IDLE_TIMERS);
  });

  test('the watch shows the next lock at once: the guard fences it', async () => {
    fixture.cluster.put(RESOURCE_QUOTAS, aQuota());
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(0);
    fixture.cluster.put(NAMESPACES, aNamespace(lockedBy(aLock({ token: 'token-2' }))));
    await fixture.during(0);
    expect(fenced()).toBe('removed-token-1 failed');
  });

  test('the lock is present again: the guard leaves it unchanged', async () => {
    fixture.cluster.put(RESOURCE_QUOTAS, aQuota());
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(0);
    fixture.cluster.put(NAMESPACES, aNamespace());
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(0);
    expect(fenced()).toBeUndefined();
  });

  test('raised: `lower` lowers and fences it', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    await fixture.during(0);
    fixture.cluster.put(NAMESPACES, aNamespace());
    await fixture.during(0);
    expect(fenced()).toBeUndefined();
  });
});

describe('a removed lock of two quotas', () => {
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
    ['one is raised: the guard fences the other', aQuota(named('q2')), 'removed-token-1 failed'],
    [
      'one is raised, and the other was lowered: the guard leaves it unchanged',
      loweredBy()(aQuota(named('q2'))),
      'token-1 admitted',
    ],
  ])('%s', async (_, other, want) => {
    await removed(raisedAs('q1'), other);
    expect(fences()).toEqual([undefined, want]);
  });

  test('both are raised: `lower` lowers them, and the guard reads nothing', async () => {
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

describe('a raised quota in a namespace without a lock', () => {
  test('gets lock.expired and a repair after two seconds, until it is lowered', async () => {
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    expect(await fixture.during(1_999)).toEqual([]);
    const saidAndRepaired = [
      'expired orphan',
      'repair tenant undefined',
      // No unlock follows without a lock: this event updates the VMMRQs' status.
      expect.stringMatching(/^requested orphan-/),
    ];
    expect(await fixture.during(1)).toEqual(saidAndRepaired);
    expect((await fixture.during(1_000)).slice(-3)).toEqual(saidAndRepaired);
    fixture.cluster.put(RESOURCE_QUOTAS, aQuota());
    expect(await fixture.during(60_000)).toEqual([]);
  });

  test('is no orphan when only the watch of namespaces is late', async () => {
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    await fixture.during(1_999);
    fixture.cluster.put(NAMESPACES, HELD);
    expect((await fixture.during(20_000)).filter((did) => did.includes('orphan'))).toEqual([]);
  });

  test('is an orphan after an admin has removed the lock', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    await fixture.during(2_500);
    fixture.cluster.put(NAMESPACES, aNamespace());
    expect(await fixture.during(5_000)).toContain('repair tenant undefined');
  });

  test('is an orphan too with an unreadable or undone grant', async () => {
    fixture.cluster.put(RESOURCE_QUOTAS, aQuota(labelled(LABEL.raised)));
    fixture.cluster.put(RESOURCE_QUOTAS, aQuota(named('back'), inNamespace('other'), holding(aGrant())));
    expect(await fixture.during(2_000)).toEqual(
      expect.arrayContaining(['repair tenant undefined', 'repair other undefined']),
    );
    expect(fixture.did.filter((did) => did.startsWith('stalled'))).toEqual([]);
  });
});

describe('watched, for the metrics', () => {
  const NOTHING = { lockedNamespaces: 0, raisedQuotas: 0, longestLockSeconds: 0 };
  const seen = (): Watched => fixture.watchdog.watched();

  test('counts nothing while idle, and again after the lock is gone', async () => {
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

  test('counts each raised quota once, with any number of due timers', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    fixture.cluster.put(RESOURCE_QUOTAS, RAISED);
    fixture.cluster.put(RESOURCE_QUOTAS, aQuota(named('other'), labelled(LABEL.raised)));
    for (const ms of [0, 3_000, 60_000]) {
      await fixture.during(ms);
      expect(seen().raisedQuotas).toBe(2);
    }
  });

  test('reports the age of the oldest lock; an early end keeps the age, another token resets it', async () => {
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

  test('sends no request', async () => {
    const before = fixture.cluster.asked.length;
    seen();
    await fixture.during(0);
    expect(fixture.cluster.asked).toHaveLength(before);
  });
});

describe('when a watch breaks', () => {
  const lost = new Unreachable('the watch is gone');
  const PAUSE_MS = 200;
  /** The first pause, and the next one after the API server has refused the version as too old. */
  const PAUSES_MS = PAUSE_MS + 2 * PAUSE_MS;
  /** Advances the clock over the pauses before the next watch. */
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

  test('the watchdog sees locks and unlocks during the break', async () => {
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

  test("a newly listed lock may have expired: the watchdog runs one repair at once, by the API server's clock", async () => {
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

  test('a lock from the missed changes gets its whole lifetime', async () => {
    await breakAndRestore(NAMESPACES, () => fixture.cluster.put(NAMESPACES, HELD));
    expect(await fixture.during(29_999)).toEqual([]);
    expect(await fixture.during(1)).toEqual(['expired token-1']);
  });

  test('the time of a lock continues during the break', async () => {
    fixture.cluster.put(NAMESPACES, HELD);
    await fixture.during(29_000);
    await breakAndRestore(NAMESPACES, () => undefined);
    expect(await fixture.during(1_000 - PAUSE_MS)).toEqual(['expired token-1']);
  });

  test('the watchdog forgets quotas that were lowered during the break', async () => {
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
