import { expect, test } from '@jest/globals';
import { setImmediate as turn } from 'node:timers/promises';
import { inGroups } from './in-groups.ts';

test('a hundred items, twenty at once, the results in their order', async () => {
  const items = Array.from({ length: 101 }, (_, index) => index);
  let running = 0;
  let most = 0;
  const results = await inGroups(items, async (item) => {
    running += 1;
    most = Math.max(most, running);
    await turn();
    running -= 1;
    return item * 2;
  });
  expect(results).toEqual(items.map((item) => item * 2));
  expect(most).toBe(20);
});

test('an error keeps no other item back, and is the result', async () => {
  const done: number[] = [];
  const items = Array.from({ length: 30 }, (_, index) => index);
  const work = (item: number): Promise<void> => {
    if (item === 3) return Promise.reject(new Error('no'));
    done.push(item);
    return Promise.resolve();
  };
  await expect(inGroups(items, work)).rejects.toThrow('no');
  expect(done).toHaveLength(29);
  expect(await inGroups([], () => Promise.reject(new Error('no')))).toEqual([]);
});
