import { describe, expect, test } from '@jest/globals';
import { systemClock } from '../../../../functions/runtime/clock.ts';
import { Backoff } from './backoff.ts';
import { Queue } from './queue.ts';

const ignore = (): void => undefined;

describe('Queue', () => {
  test('works by priority, then in order of arrival, and contains each key once', async () => {
    const priorities: Record<string, number> = { critical: 100, active: 1000, last: -1 };
    const worked: string[] = [];
    const gate = Promise.withResolvers<undefined>();
    const done = Promise.withResolvers<undefined>();
    const queue = new Queue({
      workers: 1,
      work: async (key) => {
        if (key === 'first') await gate.promise;
        worked.push(key);
        if (key === 'last') done.resolve(undefined);
        return undefined;
      },
      priority: (key) => priorities[key] ?? 0,
      clock: systemClock,
      log: ignore,
    });
    for (const key of ['first', 'last', 'one', 'critical', 'two', 'active', 'one']) queue.add(key);
    gate.resolve(undefined);
    await done.promise;
    await queue.stop();
    expect(worked).toEqual(['first', 'active', 'critical', 'one', 'two', 'last']);
  });

  test('waits for a key that is to come again in a millisecond, also while a virtual clock stands', async () => {
    let works = 0;
    const queue = new Queue({
      workers: 1,
      work: () => {
        works += 1;
        return Promise.resolve(works < 9 ? { afterMs: 1 } : undefined);
      },
      clock: { ...systemClock, elapsed: () => 0, after: () => ignore },
      log: ignore,
    });
    queue.add('key');
    await new Promise((resolve) => setImmediate(resolve));
    expect(works).toBe(1);
    await queue.stop();
  });

  test('replaces a later time by an earlier one, and repeats a key that changes during its work', async () => {
    const worked: string[] = [];
    const done = Promise.withResolvers<undefined>();
    const queue: Queue = new Queue({
      workers: 1,
      work: (key) => {
        worked.push(key);
        if (worked.length === 1) queue.add(key);
        else done.resolve(undefined);
        return Promise.resolve(undefined);
      },
      clock: systemClock,
      log: ignore,
    });
    queue.add('key', 1_000_000);
    queue.add('key');
    await done.promise;
    await queue.stop();
    expect(worked).toEqual(['key', 'key']);
  });

  test('repeats a failed key', async () => {
    const lines: string[] = [];
    const done = Promise.withResolvers<undefined>();
    let attempts = 0;
    const queue = new Queue({
      workers: 1,
      work: () => {
        attempts += 1;
        if (attempts < 3) return Promise.reject(new Error('refused'));
        done.resolve(undefined);
        return Promise.resolve(undefined);
      },
      clock: systemClock,
      log: (line) => lines.push(line),
    });
    queue.add('key');
    await done.promise;
    await queue.stop();
    expect(lines).toEqual(['key: Error: refused', 'key: Error: refused']);
  });
});

describe('Backoff', () => {
  test('starts at 5 ms, doubles up to 1000 s, and resets after success', () => {
    const backoff = new Backoff();
    expect([1, 2, 3, 4].map(() => backoff.next('key', 0))).toEqual([5, 10, 20, 40]);
    for (let failures = 5; failures < 30; failures++) backoff.next('key', failures * 1000);
    expect(backoff.next('key', 31_000)).toBe(1_000_000);
    backoff.forget('key');
    expect(backoff.next('key', 32_000)).toBe(5);
  });

  test('allows 100 keys at once and 10 a second for all keys together', () => {
    const backoff = new Backoff();
    const delays = Array.from({ length: 102 }, (_, index) => backoff.next(`key${index}`, 0));
    expect(delays.slice(0, 100)).toEqual(Array.from({ length: 100 }, () => 5));
    expect(delays.slice(100)).toEqual([100, 200]);
  });
});
