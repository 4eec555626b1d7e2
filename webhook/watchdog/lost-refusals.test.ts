import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { aMigration, inPhase, withCondition } from '../../test/support/builders/kubevirt.ts';
import { createdAt, inNamespace, named } from '../../test/support/builders/object.ts';
import type { OurEvent } from '../../functions/domain/events.ts';
import { EVENT } from '../../functions/domain/names.ts';
import type { Migration } from '../../functions/domain/objects.ts';
import type { ClusterState } from '../../functions/domain/view/slots.ts';
import { systemClock } from '../../functions/runtime/clock.ts';
import { LostRefusals } from './lost-refusals.ts';

let posted: OurEvent[];
let logged: string[];
let postFails: boolean;
let migrations: readonly Migration[];
let held: ClusterState['held'];
let cluster: number;
let isReady: boolean;
let lost: LostRefusals;

/** A refused migration of the namespace. */
const refusedIn = (namespace: string): Migration =>
  aMigration(named(`mig-${namespace}`), inNamespace(namespace));

beforeEach(() => {
  jest.useFakeTimers();
  [posted, logged, postFails] = [[], [], false];
  [migrations, held, cluster, isReady] = [[refusedIn('a')], [], 5, true];
  lost = new LostRefusals({
    clock: systemClock,
    log: (_, message) => void logged.push(message),
    post: (event) => {
      posted.push(event);
      return postFails ? Promise.reject(new Error('no Broker')) : Promise.resolve();
    },
    state: () => {
      if (!isReady) return undefined;
      const limits = { cluster, node: 100 };
      return { migrations, held, served: new Set(['a', 'b', 'c']), limits, nodes: new Map() };
    },
    random: () => 0.5,
  });
});

afterEach(() => {
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

/** The namespaces of the events of the next `ms` milliseconds. */
async function saidIn(ms: number): Promise<string[]> {
  const before = posted.length;
  await jest.advanceTimersByTimeAsync(ms);
  return posted.slice(before).map(({ namespace }) => namespace);
}

test('a refusal without an answer is posted again after 3 s and after 9 s, each up to a second later', async () => {
  lost.refused('a');
  expect(await saidIn(3_499)).toEqual([]);
  expect(await saidIn(1)).toEqual(['a']);
  expect(posted).toEqual([
    {
      type: EVENT.resyncRequested,
      from: 'guard',
      namespace: 'a',
      cause: expect.stringMatching(/^refused-\d+$/),
    },
  ]);
  expect(await saidIn(5_999)).toEqual([]);
  expect(await saidIn(1)).toEqual(['a']);
  expect(new Set(posted.map(({ cause }) => cause)).size).toBe(2);
  expect(await saidIn(60_000)).toEqual([]);
});

test('an answer within that time: nothing is posted, and no timer is left', async () => {
  lost.refused('a');
  await saidIn(3_000);
  lost.answered('a');
  expect(jest.getTimerCount()).toBe(0);
  expect(await saidIn(60_000)).toEqual([]);
});

test('an answer to one namespace is none to another', async () => {
  migrations = ['a', 'b'].map(refusedIn);
  for (const namespace of ['a', 'b']) lost.refused(namespace);
  lost.answered('a');
  expect(await saidIn(4_000)).toEqual(['b']);
  lost.answered('b');
});

test.each<[string, () => void]>([
  ['whose migration is over', (): void => void (migrations = [])],
  ['whose migration got its pod', (): void => void (migrations = [inPhase('Running')(refusedIn('a'))])],
  [
    'whose migration is not refused any more',
    (): void => void (migrations = [withCondition()(refusedIn('a'))]),
  ],
])('a namespace %s is left alone', async (_, change) => {
  lost.refused('a');
  change();
  expect(await saidIn(60_000)).toEqual([]);
});

test.each<[string, () => void, () => void]>([
  ['no migration slot is free', (): void => void (cluster = 0), (): void => void (cluster = 5)],
  [
    'it is locked',
    (): void => void (held = [{ namespace: 'a', token: 'token', launchers: [] }]),
    (): void => void (held = []),
  ],
])('a namespace waits while %s, and not for longer than 15 s', async (_, close, open) => {
  lost.refused('a');
  close();
  expect(await saidIn(5_000)).toEqual([]);
  open();
  expect(await saidIn(1_000)).toEqual(['a']);
  close();
  expect(await saidIn(10_000)).toEqual([]);
  open();
  expect(await saidIn(60_000)).toEqual([]);
});

test('at most as many at once as there are free slots, in the order of their turns', async () => {
  cluster = 2;
  migrations = ['a', 'b', 'c'].map((name, index) => createdAt(index)(refusedIn(name)));
  for (const namespace of ['c', 'b', 'a']) lost.refused(namespace);
  expect(await saidIn(3_500)).toEqual(['a', 'b']);
  expect(await saidIn(1_000)).toEqual(['c']);
  for (const namespace of ['a', 'b', 'c']) lost.answered(namespace);
});

test('a refusal does not wait for an earlier one', async () => {
  migrations = ['a', 'b'].map(refusedIn);
  lost.refused('a');
  expect(await saidIn(4_000)).toEqual(['a']);
  lost.refused('b');
  expect(await saidIn(3_499)).toEqual([]);
  expect(await saidIn(1)).toEqual(['b']);
  lost.stop();
});

test('without a view it looks again', async () => {
  isReady = false;
  lost.refused('a');
  expect(await saidIn(6_000)).toEqual([]);
  isReady = true;
  expect(await saidIn(1_000)).toEqual(['a']);
  lost.stop();
});

test('a Broker that is away is logged', async () => {
  postFails = true;
  lost.refused('a');
  expect(await saidIn(60_000)).toEqual(['a', 'a']);
  expect(logged).toEqual(Array(2).fill('not posted: Error: no Broker'));
});
