import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { aMigration, inPhase } from '../../test/support/builders/kubevirt.ts';
import { createdAt, inNamespace, named } from '../../test/support/builders/object.ts';
import { systemClock } from '../../functions/runtime/clock.ts';
import type { OurEvent } from '../../functions/domain/events.ts';
import { EVENT } from '../../functions/domain/names.ts';
import type { Migration } from '../../functions/domain/objects.ts';
import type { ClusterState } from '../../functions/domain/view/slots.ts';
import { SlotNotifier } from './slot-notifier.ts';

/** A migration that waits for the only slot; `first` is older than `second`. */
const waiting = (namespace: string, after: number): Migration =>
  aMigration(named(`of-${namespace}`), inNamespace(namespace), createdAt(after));
const FIRST = waiting('first', -600);
const SECOND = waiting('second', -60);

let posted: OurEvent[];
let logged: string[];
let state: ClusterState | undefined;
let slotNotifier: SlotNotifier;
let postFails: Error | undefined;
let looks: number;
/** Milliseconds of a look, as among many migrations. */
let lookMs: number;

const stateOf = (...migrations: Migration[]): ClusterState => ({
  migrations,
  held: [],
  served: new Set(['first', 'second']),
  limits: { cluster: 1, node: 1 },
  nodes: new Map(),
});

beforeEach(() => {
  jest.useFakeTimers();
  posted = [];
  logged = [];
  postFails = undefined;
  state = stateOf(FIRST, SECOND);
  looks = 0;
  lookMs = 0;
  slotNotifier = new SlotNotifier({
    clock: systemClock,
    log: (_level, message) => void logged.push(message),
    post: (event) => {
      posted.push(event);
      return postFails === undefined ? Promise.resolve() : Promise.reject(postFails);
    },
    state: () => {
      looks += 1;
      jest.advanceTimersByTime(lookMs);
      return state;
    },
  });
});

afterEach(() => {
  slotNotifier.stop();
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

/** The namespaces that the notifier notifies in the next `ms` milliseconds. */
async function notifiedNamespaces(ms: number): Promise<string[]> {
  const before = posted.length;
  await jest.advanceTimersByTimeAsync(ms);
  return posted.slice(before).map(({ namespace }) => namespace);
}

test('a free slot notifies the first waiting namespace by an event sweep.requested', () => {
  slotNotifier.freed();
  expect(posted).toEqual([
    {
      type: EVENT.resyncRequested,
      from: 'guard',
      namespace: 'first',
      migrations: [{ name: 'of-first', uid: 'uid-of-of-first' }],
      vmis: ['vm0'],
      cause: expect.stringMatching(/^slot-\d+-1$/),
    },
  ]);
});

test('while the slot stays free, each namespace gets two events, then again after a pause', async () => {
  slotNotifier.freed();
  expect(await notifiedNamespaces(999)).toEqual([]);
  expect(await notifiedNamespaces(1)).toEqual(['first']);
  expect(await notifiedNamespaces(1_000)).toEqual(['second']);
  expect(await notifiedNamespaces(1_000)).toEqual(['second']);
  expect(await notifiedNamespaces(4_499)).toEqual([]);
  expect(await notifiedNamespaces(1)).toEqual(['first']);
  expect(await notifiedNamespaces(3_000)).toEqual(['first', 'second', 'second']);
});

test('a namespace that is locked gets no second event until another slot is free', async () => {
  state = stateOf(FIRST);
  slotNotifier.freed();
  slotNotifier.locked('first');
  expect(await notifiedNamespaces(10_000)).toEqual([]);
  slotNotifier.freed();
  expect(await notifiedNamespaces(0)).toEqual([]);
  expect(posted).toHaveLength(2);
});

test('locks that end do not delay the next namespace', async () => {
  slotNotifier.freed();
  slotNotifier.freed();
  slotNotifier.freed();
  await notifiedNamespaces(100);
  slotNotifier.freed();
  await notifiedNamespaces(100);
  expect(posted.map(({ namespace }) => namespace)).toEqual(['first', 'first', 'second']);
});

test('a hundred migrations that end in a second bring a turn every tenth of it', async () => {
  for (let ended = 0; ended < 100; ended += 1) {
    slotNotifier.freed();
    await jest.advanceTimersByTimeAsync(10);
  }
  expect(posted.length).toBeLessThanOrEqual(11);
  expect(posted.length).toBeGreaterThan(3);
});

test('ten thousand migrations that end at once bring one look, and another after nine times as long', async () => {
  state = stateOf();
  lookMs = 20;
  for (let ended = 0; ended < 10_000; ended += 1) slotNotifier.freed();
  expect(looks).toBe(1);
  await notifiedNamespaces(179);
  expect(looks).toBe(1);
  state = stateOf(FIRST);
  expect(await notifiedNamespaces(1)).toEqual(['first']);
  expect(looks).toBe(2);
});

test('after a complete round another free slot starts with the first namespace', async () => {
  slotNotifier.freed();
  await notifiedNamespaces(3_000);
  const before = posted.length;
  slotNotifier.freed();
  await notifiedNamespaces(100);
  expect(posted.slice(before).map(({ namespace }) => namespace)).toEqual(['first']);
});

describe('a namespace that cannot migrate', () => {
  test('goes after one that begins to wait while it has another turn', async () => {
    state = stateOf(FIRST);
    slotNotifier.freed();
    await notifiedNamespaces(60_000);
    slotNotifier.freed();
    state = stateOf(FIRST, SECOND);
    expect(await notifiedNamespaces(3_000)).toEqual(['second', 'second', 'first']);
  });

  test.each([
    ['goes after one that was locked since', 'second'],
    ['begins to count again once it is locked', 'first'],
  ])('%s', async (_what, locked) => {
    slotNotifier.freed();
    await notifiedNamespaces(60_000);
    slotNotifier.locked(locked);
    slotNotifier.freed();
    expect(posted.at(-1)?.namespace).toBe(locked);
  });
});

test.each<[string, Partial<ClusterState>]>([
  ['no slot is free', { migrations: [inPhase('Running')(waiting('third', -900)), FIRST, SECOND] }],
  [
    'its node has none',
    {
      migrations: [inPhase('Running')(waiting('third', -900)), FIRST, SECOND],
      limits: { cluster: 9, node: 1 },
      nodes: new Map(['third', 'first', 'second'].map((name) => [`uid-of-of-${name}`, 'node'])),
    },
  ],
])('a migration that ends while %s takes nobody’s turn', async (_, inUse) => {
  slotNotifier.freed();
  expect(await notifiedNamespaces(1_000)).toEqual(['first']);
  state = { ...stateOf(), ...inUse };
  slotNotifier.freed();
  expect(await notifiedNamespaces(60_000)).toEqual([]);
  state = stateOf(FIRST, SECOND);
  slotNotifier.freed();
  expect(posted.at(-1)?.namespace).toBe('second');
});

test('a namespace that stopped waiting starts a new count', async () => {
  slotNotifier.freed();
  await notifiedNamespaces(1_000);
  state = stateOf(SECOND);
  await notifiedNamespaces(1_000);
  state = stateOf(FIRST, SECOND);
  await notifiedNamespaces(100);
  slotNotifier.freed();
  expect(posted.at(-1)?.namespace).toBe('first');
});

test('each event has another cause', async () => {
  slotNotifier.freed();
  await notifiedNamespaces(3_000);
  expect(new Set(posted.map(({ cause }) => cause)).size).toBe(posted.length);
});

test('after all rounds the notifier is silent until another slot becomes free', async () => {
  slotNotifier.freed();
  await notifiedNamespaces(60_000);
  expect(await notifiedNamespaces(600_000)).toEqual([]);
  slotNotifier.freed();
  expect(await notifiedNamespaces(0)).toEqual([]);
  expect(posted.at(-1)?.namespace).toBe('first');
});

test.each<[string, () => ClusterState | undefined]>([
  ['no migration waits', (): ClusterState => stateOf()],
  ['the slot is in use', (): ClusterState => stateOf(inPhase('Running')(FIRST), SECOND)],
  ['a watch has not listed yet', (): undefined => undefined],
])('%s: the notifier posts nothing, and leaves no timer', async (_, is) => {
  state = is();
  slotNotifier.freed();
  expect(jest.getTimerCount()).toBe(0);
  expect(await notifiedNamespaces(60_000)).toEqual([]);
  expect(posted).toEqual([]);
});

test('events that cannot be posted are no turn: each namespace has its turns once they can', async () => {
  postFails = new Error('no Broker');
  slotNotifier.freed();
  await notifiedNamespaces(60_000);
  postFails = undefined;
  expect((await notifiedNamespaces(8_000)).slice(0, 4)).toEqual(['first', 'first', 'second', 'second']);
});

test('a notifier that was stopped posts no more, also where a post fails after that', async () => {
  postFails = new Error('no Broker');
  slotNotifier.freed();
  slotNotifier.stop();
  expect(await notifiedNamespaces(60_000)).toEqual([]);
});

test('the notifier logs an event that it cannot post, and tries again', async () => {
  postFails = new Error('no Broker');
  slotNotifier.freed();
  expect(await notifiedNamespaces(1_000)).toEqual(['first']);
  expect(logged).toContain('not posted: Error: no Broker');
});
