import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { pause, systemClock, within } from './clock.ts';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

test('a pause ends at its time', async () => {
  const ended: string[] = [];
  void pause(systemClock, 100).then(() => ended.push('pause'));
  await jest.advanceTimersByTimeAsync(99);
  expect(ended).toEqual([]);
  await jest.advanceTimersByTimeAsync(1);
  expect(ended).toEqual(['pause']);
});

test('a pause ends when its signal aborts, before or meanwhile, and leaves no timer', async () => {
  const stop = new AbortController();
  const paused = pause(systemClock, 100, stop.signal);
  stop.abort();
  await paused;
  await pause(systemClock, 100, stop.signal);
});

test('the signal aborts when the time is over', async () => {
  const result = within(
    systemClock,
    100,
    (signal) => new Promise((resolve) => signal.addEventListener('abort', () => resolve('over'))),
  );
  await jest.advanceTimersByTimeAsync(100);
  await expect(result).resolves.toBe('over');
});

test('work that ends in time leaves no timer, however it ends', async () => {
  await expect(within(systemClock, 100, () => Promise.resolve('done'))).resolves.toBe('done');
  await expect(within(systemClock, 100, () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
});

test('the elapsed time goes forward with the timers', async () => {
  const before = systemClock.elapsed();
  await jest.advanceTimersByTimeAsync(250);
  expect(systemClock.elapsed() - before).toBe(250);
});
