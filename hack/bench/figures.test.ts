import { describe, expect, test } from '@jest/globals';
import { quantile, ratios } from './figures.ts';

describe('quantile', () => {
  const hundred = Array.from({ length: 101 }, (_, index) => 100 - index);

  const cases: Readonly<Record<string, [samples: number[], share: number, want: number]>> = {
    'the median of an odd number is the one in the middle, in any order': [[9, 1, 5], 0.5, 5],
    'the median of an even number is between the two in the middle': [[4, 1, 2, 100], 0.5, 3],
    'samples are compared as numbers, not as texts': [[10, 9, 100], 0.5, 10],
    'one sample is every quantile': [[7], 0.25, 7],
    '0 is the least': [hundred, 0, 0],
    '1 is the most': [hundred, 1, 100],
    '0.99 of 0 to 100 is 99': [hundred, 0.99, 99],
    '0.25 interpolates': [[1, 2], 0.25, 1.25],
    'without samples there is none': [[], 0.5, NaN],
  };

  test.each(Object.entries(cases))('%s', (_, [samples, share, want]) => {
    expect(quantile(samples, share)).toBe(want);
  });
});

describe('ratios', () => {
  test('are of each pair, not of the medians', () => {
    expect(ratios([100, 1_000, 110], [50, 500, 55])).toEqual([2, 2, 2]);
  });

  test('leave out a sample without a partner', () => {
    expect(ratios([4, 6, 8], [2, 3])).toEqual([2, 2]);
    expect(ratios([4, 6], [2, 3, 4])).toEqual([2, 2]);
  });
});
