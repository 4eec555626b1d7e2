import { expect, test } from '@jest/globals';
import { mapAtMost } from './map-at-most.ts';

test('keeps the order, and never has more works than allowed', async () => {
  let running = 0;
  let highest = 0;
  const work = async (item: number): Promise<number> => {
    running += 1;
    highest = Math.max(highest, running);
    for (let turn = 0; turn < item; turn += 1) await Promise.resolve();
    running -= 1;
    return item * 10;
  };
  expect(await mapAtMost(2, [5, 1, 4, 0, 3], work)).toEqual([50, 10, 40, 0, 30]);
  expect(highest).toBe(2);
});

test('rejects with the first failure', async () => {
  const work = (item: number): Promise<number> =>
    item === 2 ? Promise.reject(new Error('two')) : Promise.resolve(item);
  await expect(mapAtMost(2, [1, 2, 3], work)).rejects.toThrow('two');
});
