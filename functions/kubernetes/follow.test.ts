import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { WatchedCluster } from '../../test/support/builders/cluster.ts';
import { aMigration, inPhase } from '../../test/support/builders/kubevirt.ts';
import { metadata, named } from '../../test/support/builders/object.ts';
import { isFinal } from '../domain/migration.ts';
import type { Migration } from '../domain/objects.ts';
import type { Cluster, ListedType } from './cluster.ts';
import { ApiError, Unreachable } from './errors.ts';
import { follow, type Followed } from './follow.ts';
import { DEFINITIONS, MIGRATIONS } from './resources.ts';

/** Migrations without kind and finalizers; nothing of a migration that has ended. */
const OPEN_MIGRATIONS: ListedType<Migration> = {
  ...MIGRATIONS,
  trim: ({ kind, metadata: { finalizers, ...metadata }, ...more }) => {
    const object = { ...more, metadata };
    return isFinal(object) ? undefined : { object, size: 1 };
  },
};
type Kind = typeof MIGRATIONS | typeof OPEN_MIGRATIONS;

let cluster: WatchedCluster;
let stop: AbortController;
let ended: Promise<void>;
/** What the follower was called with, in order: "list mig0,mig1", "change mig0 Pending". */
let saw: string[];
let changed: object[];
let onLost: (isLost: boolean) => void;

beforeEach(() => {
  jest.useFakeTimers();
  cluster = new WatchedCluster();
  stop = new AbortController();
  [saw, changed] = [[], []];
  onLost = () => undefined;
});

afterEach(async () => {
  stop.abort();
  await ended;
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

async function start(
  type: Kind = MIGRATIONS,
  more: Pick<Followed<never>, 'listEveryMs' | 'isOptional' | 'isUncached'> = {},
  server: Cluster = cluster.asCluster(),
): Promise<void> {
  ended = follow(
    server,
    { type, where: {}, signal: stop.signal, ...more },
    {
      onList: (migrations) => saw.push(`list ${migrations.map(({ metadata }) => metadata.name).join()}`),
      onChange: (migration) => {
        changed.push(migration);
        saw.push(`change ${migration.metadata.name} ${migration.status?.phase ?? ''}`);
      },
      onGone: ({ metadata }) => saw.push(`gone ${metadata.name}`),
      onError: (error, isLost) => {
        saw.push(`error ${(error as Error).message}`);
        onLost(isLost);
      },
    },
  );
  await during(0);
}

/** Returns the calls and requests within so many milliseconds. */
async function during(ms: number): Promise<{ saw: string[]; asked: string[] }> {
  const [before, asked] = [saw.length, cluster.asked.length];
  await jest.advanceTimersByTimeAsync(ms);
  const short = (each: string): string => each.replace(` ${MIGRATIONS.plural}`, '');
  return { saw: saw.slice(before), asked: cluster.asked.slice(asked).map(short) };
}

test('lists once, then watches', async () => {
  cluster.put(MIGRATIONS, aMigration());
  await start();
  cluster.put(MIGRATIONS, aMigration(named('mig1')));
  cluster.put(MIGRATIONS, aMigration(inPhase('Running')));
  cluster.remove(MIGRATIONS, aMigration());
  await during(0);
  expect(saw).toEqual(['list mig0', 'change mig1 Pending', 'change mig0 Running', 'gone mig0']);
  expect(cluster.asked).toHaveLength(2);
});

describe('a watch', () => {
  test('that is silent for 75 s is cut, and a list shows what it hid', async () => {
    await start();
    expect((await during(74_999)).asked).toEqual([]);
    expect((await during(1)).asked).toEqual(['list', 'watch']);
    cluster.put(MIGRATIONS, aMigration());
    expect((await during(0)).saw).toEqual(['change mig0 Pending']);
  });

  test('that is silent while lists beside it answer is resumed without another one', async () => {
    await start(MIGRATIONS, { listEveryMs: 10_000 });
    await during(74_000);
    expect((await during(1_000)).asked).toEqual(['watch']);
  });

  test('that is silent, of a kind without bookmarks, is resumed without a list', async () => {
    await start(MIGRATIONS, { isUncached: true });
    expect((await during(75_000)).asked).toEqual(['watch']);
  });

  test('that fails for longer than 75 s has lost what happened meanwhile, and lists', async () => {
    const lost: boolean[] = [];
    onLost = (isLost) => lost.push(isLost);
    await start();
    cluster.break(MIGRATIONS, new ApiError('watch', { code: 403, reason: 'Forbidden' }, new Date()));
    await during(70_000);
    expect(new Set(lost)).toEqual(new Set([false]));
    await during(20_000);
    expect(lost.at(-1)).toBe(true);
    cluster.restoreWatch(MIGRATIONS);
    cluster.put(MIGRATIONS, aMigration());
    expect(await during(10_000)).toEqual({ saw: ['list mig0'], asked: ['list', 'watch'] });
  });

  test('whose first list is answered with 410 has lost what happened too', async () => {
    const lost: boolean[] = [];
    onLost = (isLost) => lost.push(isLost);
    cluster.failLists(MIGRATIONS, new ApiError('list', { code: 410, reason: 'Expired' }, new Date()));
    await start();
    expect(lost).toEqual([true]);
  });

  test.each<[string, () => void]>([
    ['bookmarks', () => cluster.bookmark(MIGRATIONS)],
    ['events', () => cluster.put(MIGRATIONS, aMigration())],
  ])('is kept while %s come', async (_, send) => {
    await start();
    for (let minute = 0; minute < 5; minute += 1) {
      cluster.put({ ...MIGRATIONS, plural: 'others' }, aMigration());
      send();
      expect((await during(60_000)).asked).toEqual([]);
    }
  });

  test.each<[string, () => void]>([
    ['an event', () => cluster.put(MIGRATIONS, aMigration())],
    [
      'a bookmark',
      () => {
        cluster.put({ ...MIGRATIONS, plural: 'others' }, aMigration());
        cluster.bookmark(MIGRATIONS);
      },
    ],
  ])('is resumed from the last version seen: of %s', async (_, send) => {
    await start();
    send();
    await during(10_000);
    cluster.forget();
    cluster.end(MIGRATIONS);
    // Any earlier version would be 410, and a list.
    expect((await during(1_000)).asked).toEqual(['watch']);
  });

  test('that ends in good order after its time is resumed at once, and nothing is seen twice', async () => {
    await start();
    cluster.put(MIGRATIONS, aMigration());
    await during(60_000);
    cluster.end(MIGRATIONS);
    expect(await during(0)).toEqual({ saw: [], asked: ['watch'] });
  });

  test('that ends at once is resumed after a pause that doubles up to 10 s', async () => {
    await start();
    const asked: number[] = [];
    for (let at = 0; at < 60_000; at += 100) {
      cluster.end(MIGRATIONS);
      if ((await during(100)).asked.length > 0) asked.push(at + 100);
    }
    const waits = asked.map((at, index) => at - (asked[index - 1] ?? 0));
    expect(waits.slice(0, 3)).toEqual([200, 400, 800]);
    expect(asked.length).toBeLessThan(12);
    expect(waits.at(-1)).toBe(10_000);
    expect(saw).toEqual(['list ']);
  });

  test('that breaks is resumed after a pause, without a list', async () => {
    await start();
    await during(60_000);
    cluster.break(MIGRATIONS, new Unreachable('gone'));
    cluster.restoreWatch(MIGRATIONS);
    cluster.put(MIGRATIONS, aMigration());
    expect(await during(200)).toEqual({
      saw: ['error gone', 'change mig0 Pending'],
      asked: ['watch'],
    });
  });

  test('lists again when the server no longer has the version, and reports no error', async () => {
    cluster.put(MIGRATIONS, aMigration());
    await start();
    await during(60_000);
    cluster.end(MIGRATIONS);
    cluster.remove(MIGRATIONS, aMigration());
    cluster.put(MIGRATIONS, aMigration(named('mig1')));
    cluster.forget();
    expect(await during(1_000)).toEqual({ saw: ['list mig1'], asked: ['watch', 'list', 'watch'] });
  });

  test('lists again when a restored backup made the version too new', async () => {
    await start();
    const causes = [{ reason: 'ResourceVersionTooLarge' }];
    cluster.break(MIGRATIONS, new ApiError('watch', { code: 504, details: { causes } }, new Date()));
    cluster.restoreWatch(MIGRATIONS);
    expect((await during(200)).asked).toEqual(['list', 'watch']);
  });
});

describe('lists beside the watch', () => {
  test('find a change that a silent watch hides', async () => {
    await start(MIGRATIONS, { listEveryMs: 10_000 });
    expect((await during(9_999)).asked).toEqual([]);
    expect(await during(1)).toEqual({ saw: ['list '], asked: ['list'] });
  });

  test('show a storage that was restored from a backup, once the watch was silent', async () => {
    cluster.put(MIGRATIONS, aMigration());
    const server = cluster.asCluster();
    const restored = await server.list(MIGRATIONS, {});
    await start(
      MIGRATIONS,
      { listEveryMs: 10_000 },
      { ...server, list: () => Promise.resolve(restored as never) },
    );
    cluster.put(MIGRATIONS, aMigration(named('mig1')));
    expect((await during(74_000)).saw).toEqual(['change mig1 Pending']);
    expect((await during(2_000)).saw[0]).toBe('list mig0');
  });

  test('that are older than the watch are ignored', async () => {
    cluster.put(MIGRATIONS, aMigration());
    const server = cluster.asCluster();
    const late = await server.list(MIGRATIONS, {});
    const slow = { ...server, list: () => Promise.resolve(late) } as Partial<Cluster> as Cluster;
    await start(MIGRATIONS, { listEveryMs: 10_000 }, slow);
    cluster.remove(MIGRATIONS, aMigration());
    expect((await during(60_000)).saw).toEqual(['gone mig0']);
  });

  test('a list that fails is an error, and the watch goes on', async () => {
    await start(MIGRATIONS, { listEveryMs: 10_000 });
    await during(9_000);
    cluster.failLists(MIGRATIONS, new Unreachable('gone'));
    expect((await during(1_000)).saw).toEqual(['error gone']);
    cluster.put(MIGRATIONS, aMigration());
    expect((await during(0)).saw).toEqual(['change mig0 Pending']);
  });
});

describe('a trimmed kind', () => {
  test('is trimmed in events too', async () => {
    await start(OPEN_MIGRATIONS);
    cluster.put(MIGRATIONS, aMigration());
    await during(0);
    expect(changed).toEqual([expect.not.objectContaining({ kind: expect.anything() })]);
    expect(changed[0]).not.toHaveProperty('metadata.finalizers');
  });

  test('an object of which nothing is kept any more is gone', async () => {
    await start(OPEN_MIGRATIONS);
    cluster.put(MIGRATIONS, aMigration());
    cluster.put(MIGRATIONS, aMigration(inPhase('Succeeded')));
    expect((await during(0)).saw).toEqual(['change mig0 Pending', 'gone mig0']);
  });
});

describe('a kind that is not installed', () => {
  const missing = new ApiError('list', { code: 404, reason: 'NotFound' }, new Date());

  const { namespace: _, ...named } = metadata(`${MIGRATIONS.plural}.kubevirt.io`);
  const definition = { metadata: named };
  const define = (): void => cluster.put(DEFINITIONS, definition);
  /** Returns the requests of so many minutes with bookmarks. */
  async function minutes(count: number): Promise<string[]> {
    const asked: string[] = [];
    for (let minute = 0; minute < count; minute += 1) {
      cluster.put({ ...MIGRATIONS, plural: 'others' }, aMigration());
      cluster.bookmark(DEFINITIONS);
      asked.push(...(await during(60_000)).asked);
    }
    return asked;
  }

  beforeEach(() => cluster.break(MIGRATIONS, missing));

  test('is empty where it may be missing, and costs no request until it is installed', async () => {
    await start(MIGRATIONS, { isOptional: true });
    expect(saw).toEqual(['list ']);
    expect(await minutes(10)).toEqual([]);
    cluster.put(DEFINITIONS, { metadata: { ...named, name: 'others.kubevirt.io' } });
    expect((await during(1_000)).asked).toEqual([]);
    cluster.restoreWatch(MIGRATIONS);
    cluster.put(MIGRATIONS, aMigration());
    define();
    expect(await during(0)).toEqual({ saw: ['list mig0'], asked: ['list', 'watch'] });
  });

  test('is tried again while its definition is there and it is not served yet, ever more seldom', async () => {
    await start(MIGRATIONS, { isOptional: true });
    define();
    const tries = async (ms: number): Promise<number> =>
      (await during(ms)).asked.filter((asked) => asked === 'list').length;
    expect(await tries(1_000)).toBeGreaterThan(1);
    await minutes(60);
    expect(await tries(60_000)).toBe(0);
    cluster.restoreWatch(MIGRATIONS);
    define();
    expect((await during(0)).asked.slice(0, 2)).toEqual(['list', 'watch']);
  });

  test('is tried again at once when its definition changes', async () => {
    await start(MIGRATIONS, { isOptional: true });
    define();
    await minutes(60);
    define();
    expect((await during(0)).asked[0]).toBe('list');
  });

  test('is found again after it was removed and installed', async () => {
    cluster.restoreWatch(MIGRATIONS);
    define();
    await start(MIGRATIONS, { isOptional: true });
    await during(10_000);
    cluster.remove(DEFINITIONS, definition);
    cluster.break(MIGRATIONS, missing);
    expect((await during(1_000)).saw).toEqual(['list ']);
    expect(await minutes(5)).toEqual([]);
    cluster.restoreWatch(MIGRATIONS);
    define();
    expect((await during(0)).saw).toEqual(['list ']);
  });

  test('is looked for every 5 s by an account that may not watch definitions', async () => {
    const forbidden = new ApiError('list', { code: 403, reason: 'Forbidden' }, new Date());
    cluster.failLists(DEFINITIONS, forbidden);
    await start(MIGRATIONS, { isOptional: true });
    expect((await during(4_999)).asked).toEqual([]);
    cluster.restoreWatch(MIGRATIONS);
    cluster.put(MIGRATIONS, aMigration());
    expect(await during(1)).toEqual({ saw: ['list mig0'], asked: ['list', 'watch'] });
  });

  test('is an error elsewhere', async () => {
    await start();
    expect(saw).toEqual(['error list: NotFound']);
  });
});

test('stopped while it lists: it ends, and no watch is left open', async () => {
  const real = cluster.asCluster();
  const list: Cluster['list'] = (...asked) => {
    stop.abort();
    return real.list(...asked);
  };
  await start(MIGRATIONS, {}, { ...real, list });
  await ended;
  expect(cluster.asked.filter((asked) => asked.startsWith('watch'))).toEqual([]);
});
