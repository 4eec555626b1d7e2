import { expect, test } from '@jest/globals';
import { placesOf } from './finished-migrations.ts';

/** How many each namespace has. */
const countsOf = (count: number): [string, number][] =>
  [...Map.groupBy(placesOf(count, 'measured'), ({ namespace }) => namespace)].map(([name, { length }]) => [
    name,
    length,
  ]);

test.each<[count: number, here: number, others: number]>([
  [1, 1, 0],
  [30_000, 30_000, 0],
  [100_000, 30_000, 70],
])(
  '%i finished migrations: %i in the measured namespace, and 1,000 in each of %i others',
  (count, here, others) => {
    const [measured, ...elsewhere] = countsOf(count);
    expect(measured).toEqual(['measured', here]);
    expect(elsewhere.map(([, each]) => each)).toEqual(Array.from({ length: others }, () => 1_000));
  },
);

test('each has a name of its own', () => {
  expect(new Set(placesOf(40_000, 'measured').map(({ name }) => name)).size).toBe(40_000);
});
