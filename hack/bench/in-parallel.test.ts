import { expect, test } from '@jest/globals';
import { inParallel } from './in-parallel.ts';

test('works on each item once, and on no more than so many at a time', async () => {
  let running = 0;
  let most = 0;
  const done: number[] = [];
  await inParallel([1, 2, 3, 4, 5], 2, async (item) => {
    running += 1;
    most = Math.max(most, running);
    await Promise.resolve();
    running -= 1;
    done.push(item);
  });
  expect({ most, done: done.toSorted() }).toEqual({ most: 2, done: [1, 2, 3, 4, 5] });
});

test('one that is slow delays only its own worker', async () => {
  const slow = Promise.withResolvers<undefined>();
  const done: number[] = [];
  await inParallel([1, 2, 3, 4], 2, async (item) => {
    if (item === 1) await slow.promise;
    done.push(item);
    if (item === 4) slow.resolve(undefined);
  });
  expect(done).toEqual([2, 3, 4, 1]);
});
