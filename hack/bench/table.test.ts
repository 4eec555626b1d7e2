import { expect, test } from '@jest/globals';
import type { Figure } from './figures.ts';
import { tableOf } from './table.ts';

const figure = (more: Partial<Figure>): Figure => ({
  group: 'warm',
  name: 'window',
  unit: 'ms',
  samples: [30, 10, 20],
  ...more,
});

const rowOf = (more: Partial<Figure>): string =>
  tableOf([figure(more)])
    .split('\n')[2]
    ?.trim()
    .replaceAll(/ +/g, ' ') ?? '';

const cases: Readonly<Record<string, [figure: Partial<Figure>, want: string]>> = {
  'the median, its spread and how many': [{}, 'window 20 ms 10 30 3'],
  'a target that is met, to the last digit': [{ target: 20 }, 'window 20 ms 10 30 3 ≤ 20 met'],
  'a target that is missed': [{ target: 19 }, 'window 20 ms 10 30 3 ≤ 19 MISSED'],
  'another quantile than the median': [{ share: 0.99, target: 29 }, 'window, p99 30 ms 10 30 3 ≤ 29 MISSED'],
  'short times with a digit more': [{ samples: [1.26] }, 'window 1.3 ms 1.3 1.3 1'],
  'a ratio': [{ unit: '×', samples: [3.456] }, 'window 3.46 × 3.46 3.46 1'],
  'what was not measured is not met': [{ samples: [], target: 5 }, 'window – ms – – 0 ≤ 5.0 MISSED'],
  'nor is what has a hole in it': [{ samples: [NaN], target: 5 }, 'window – ms – – 1 ≤ 5.0 MISSED'],
};

test.each(Object.entries(cases))('%s', (_name, [more, want]) => {
  expect(rowOf(more)).toBe(want);
});

test('the table has a heading for each group, and aligned columns', () => {
  const text = tableOf([
    figure({ name: 'a' }),
    figure({ group: 'cold', name: 'much longer', samples: [1_234] }),
    figure({ name: 'b', samples: [100] }),
  ]);

  expect(`\n${text}`).toBe(`
                 value  least  most  n  target
warm
  a              20 ms     10    30  3
  b             100 ms    100   100  1
cold
  much longer  1234 ms   1234  1234  1
`);
});
