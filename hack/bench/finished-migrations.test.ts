import { expect, test } from '@jest/globals';
import { placesOf } from './finished-migrations.ts';

/** Number of migrations in each namespace. */
const countsOf = (count: number): [string, number][] =>
  [...Map.groupBy(placesOf(count, 'measured'), ({ namespace }) => namespace)].map(([name, { length }]) => [
    name,
    length,
  ]);

test('1,000 in each namespace, and the measured one is the first', () => {
  expect(countsOf(2_500)).toEqual([
    ['measured', 1_000],
    ['bench-finished-1', 1_000],
    ['bench-finished-2', 500],
  ]);
});

test('each has a name of its own', () => {
  expect(new Set(placesOf(2_500, 'measured').map(({ name }) => name)).size).toBe(2_500);
});
