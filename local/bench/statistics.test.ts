import { describe, expect, test } from '@jest/globals';
import { median, quantile, ratios } from './statistics.ts';

describe('median', () => {
  const cases: Readonly<Record<string, [samples: number[], want: number]>> = {
    'of an odd number: the one in the middle, in whatever order they come': [[9, 1, 5], 5],
    'of an even number: between the two in the middle': [[4, 1, 2, 100], 3],
    'of numbers, not of texts': [[10, 9, 100], 10],
    'of one': [[7], 7],
    'of none': [[], NaN],
  };

  test.each(Object.entries(cases))('%s', (_name, [samples, want]) => {
    expect(median(samples)).toBe(want);
  });
});

describe('quantile', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);

  test.each([
    [0, 1],
    [0.5, 50],
    [0.99, 99],
    [0.991, 100],
    [1, 100],
  ])('%d of 1 to 100 is %d', (share, want) => {
    expect(quantile(hundred, share)).toBe(want);
  });

  test('of few, p99 is the greatest: one bad one is not hidden', () => {
    expect(quantile([1, 1, 1, 50], 0.99)).toBe(50);
  });

  test('of none', () => {
    expect(quantile([], 0.5)).toBeNaN();
  });
});

describe('ratios', () => {
  test('pair by pair, not of the medians: a slow minute that hits both drops out', () => {
    expect(ratios([100, 1_000, 110], [50, 500, 55])).toEqual([2, 2, 2]);
  });

  test('what has no partner is left out, and what is divided by nothing', () => {
    expect(ratios([4, 6, 8], [2, 0])).toEqual([2]);
  });
});
