import { expect, test } from '@jest/globals';
import { nowRfc3339Nano, parseDuration } from './times.ts';

test.each([
  ['PT0.2S', 200],
  ['PT1S', 1_000],
  ['PT10S', 10_000],
  ['PT1M30S', 90_000],
  ['PT1H', 3_600_000],
  ['P1D', 86_400_000],
  ['P1DT1S', 86_401_000],
])('%s is %d ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each(['', 'P', 'PT', 'P1DT', '1s', 'PT1', 'P1M', 'P1Y', '-PT1S'])('%j is no duration', (text) => {
  expect(() => parseDuration(text)).toThrow(/no ISO 8601 duration/);
});

test('now, as Go writes it', () => {
  const before = Date.now();
  const now = nowRfc3339Nano();
  expect(now).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{0,8}[1-9])?Z$/);
  // The monotonic clock and the system clock may differ by some milliseconds.
  expect(Math.abs(Date.parse(now) - before)).toBeLessThan(60_000);
});
