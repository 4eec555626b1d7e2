import { expect, test } from '@jest/globals';
import { placesOf } from './finished-migrations.ts';

const countIn = (count: number, namespace: string): number =>
  placesOf(count, 'measured').filter((place) => place.namespace === namespace).length;

test.each<[count: number, here: number, elsewhere: number]>([
  [1, 1, 0],
  [30_000, 30_000, 0],
  [100_000, 30_000, 70_000],
])('%i finished migrations: %i in the measured namespace, %i elsewhere', (count, here, elsewhere) => {
  expect([countIn(count, 'measured'), countIn(count, 'bench-finished')]).toEqual([here, elsewhere]);
});

test('each has a name of its own', () => {
  expect(new Set(placesOf(40_000, 'measured').map(({ name }) => name)).size).toBe(40_000);
});
