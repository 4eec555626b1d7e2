import { expect, test } from '@jest/globals';
import { formatAge } from './age.ts';

test.each([
  [-5_000, '0s'],
  [0, '0s'],
  [999, '0s'],
  [15_000, '15s'],
  [75_000, '1m15s'],
  [3_600_000, '1h'],
  [3_661_000, '1h1m'],
  [90_061_000, '1d1h'],
])('%d ms is %s', (ms, text) => {
  expect(formatAge(ms)).toBe(text);
});
