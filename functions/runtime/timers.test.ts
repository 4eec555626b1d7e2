import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { systemClock } from './clock.ts';
import { doubling, Timers } from './timers.ts';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

const advance = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

describe('Timers', () => {
  const counting = (): { work: () => Promise<void>; runs: () => number } => {
    let runs = 0;
    return {
      work: () => {
        runs += 1;
        return Promise.resolve();
      },
      runs: () => runs,
    };
  };

  test('runs first, then after each wait that `nextMs` gives for the runs so far', async () => {
    const timers = new Timers(systemClock);
    const { work, runs } = counting();
    const waits: number[] = [];
    const nextMs = (run: number): number => {
      waits.push(run);
      return run * 1_000;
    };
    timers.start('a', work, { firstMs: 500, nextMs });
    const seen: number[] = [];
    for (const ms of [499, 1, 999, 1, 1_999, 1]) {
      await advance(ms);
      seen.push(runs());
    }
    expect(seen).toEqual([0, 1, 1, 2, 2, 3]);
    expect(waits).toEqual([1, 2, 3]);
    timers.clear('');
  });

  test('a key that is running keeps its chain', async () => {
    const timers = new Timers(systemClock);
    const [first, second] = [counting(), counting()];
    const waits = { firstMs: 1_000, nextMs: () => 1_000 };
    timers.start('a', first.work, waits);
    await advance(999);
    timers.start('a', second.work, { firstMs: 0, nextMs: () => 1 });
    await advance(1);
    expect([first.runs(), second.runs()]).toEqual([1, 0]);
    timers.clear('');
  });

  test('clear ends every chain of the prefix, and no other', async () => {
    const timers = new Timers(systemClock);
    const [one, two, other] = [counting(), counting(), counting()];
    const waits = { firstMs: 10, nextMs: () => 10 };
    timers.start('lock/a/one', one.work, waits);
    timers.start('lock/a/two', two.work, waits);
    timers.start('lock/ab/one', other.work, waits);
    timers.clear('lock/a/');
    expect(timers.keys()).toEqual(['lock/ab/one']);
    await advance(10);
    expect([one.runs(), two.runs(), other.runs()]).toEqual([0, 0, 1]);
    timers.clear('');
    expect(jest.getTimerCount()).toBe(0);
  });

  test('cleared while it runs: it does not run again', async () => {
    const timers = new Timers(systemClock);
    const { work, runs } = counting();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    const slow = async (): Promise<void> => {
      await work();
      await promise;
    };
    timers.start('a', slow, { firstMs: 10, nextMs: () => 10 });
    await advance(10);
    timers.clear('a');
    resolve(undefined);
    await advance(1_000);
    expect(runs()).toBe(1);
    expect(timers.keys()).toEqual([]);
  });

  test('cleared and started again while it runs: only the new chain remains', async () => {
    const timers = new Timers(systemClock);
    const next = counting();
    const { promise, resolve } = Promise.withResolvers<undefined>();
    timers.start('a', () => promise, { firstMs: 10, nextMs: () => 1 });
    await advance(10);
    timers.clear('a');
    timers.start('a', next.work, { firstMs: 100, nextMs: () => 1_000 });
    resolve(undefined);
    await advance(99);
    expect(next.runs()).toBe(0);
    await advance(1);
    expect(next.runs()).toBe(1);
    expect(jest.getTimerCount()).toBe(1);
    timers.clear('');
  });

  test('a run that takes longer than its wait is never run twice at once', async () => {
    const timers = new Timers(systemClock);
    let running = 0;
    let max = 0;
    const work = async (): Promise<void> => {
      running += 1;
      max = Math.max(max, running);
      await new Promise((resolve) => setTimeout(resolve, 100));
      running -= 1;
    };
    timers.start('a', work, { firstMs: 0, nextMs: () => 1 });
    await advance(1_000);
    expect(max).toBe(1);
    timers.clear('');
  });
});

test('doubling: 1, 2, 4, … seconds, and then the maximum', () => {
  expect([1, 2, 3, 4, 5, 6, 2_000].map(doubling(10_000))).toEqual([
    ...[1_000, 2_000, 4_000, 8_000],
    ...[10_000, 10_000, 10_000],
  ]);
});
