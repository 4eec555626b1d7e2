import { describe, expect, test } from '@jest/globals';
import { LIMITS, runBurst, type BurstFigures } from '../burst/burst.ts';

/** Ten migrations in one namespace, in virtual time: what they may cost (`npm run simulate:burst` prints all of it). */

const TEN = 10;
const SEED = 100;

const known = new Map<number | undefined, Promise<BurstFigures>>();

/** Each burst runs once. */
function burst(given: number | undefined): Promise<BurstFigures> {
  const figures = known.get(given) ?? runBurst({ seed: SEED, migrations: TEN, given, limits: LIMITS.raised });
  known.set(given, figures);
  return figures;
}

const sumOf = (counts: Iterable<number>): number => [...counts].reduce((sum, each) => sum + each, 0);

const requestsOf = ({ requests }: BurstFigures, of: RegExp): number =>
  sumOf([...requests].flatMap(([what, count]) => (of.test(what) ? [count] : [])));

test.each<[string, number, { requests: number; locks: number; lockedMs: number; longestMs: number }]>([
  ['for all', TEN, { requests: 15, locks: 3, lockedMs: 1_000, longestMs: 700 }],
  ['for one', 1, { requests: 75, locks: TEN, lockedMs: 1_700, longestMs: 300 }],
])('the VMMRQ gives %s: each gets through, by few requests and short locks', async (_, given, most) => {
  const figures = await burst(given);
  expect(figures).toMatchObject({ isThrough: true, failures: 0, violation: undefined });
  expect(sumOf(figures.requests.values()) / TEN).toBeLessThanOrEqual(most.requests);
  expect(figures.locks.length).toBeLessThanOrEqual(most.locks);
  expect(sumOf(figures.locks)).toBeLessThanOrEqual(most.lockedMs);
  expect(Math.max(...figures.locks)).toBeLessThanOrEqual(most.longestMs);
});

describe('requests that change nothing', () => {
  test('a lock is announced a few times, not to each migration that comes while it lives', async () => {
    const figures = await burst(TEN);
    expect(requestsOf(figures, /^raise LIST EndpointSlice/)).toBeLessThanOrEqual(4);
    expect(requestsOf(figures, /^lock GET Namespace/)).toBeLessThanOrEqual(8);
  });

  test('that others go first is written once for each migration, however often the headroom changes', async () => {
    const figures = await burst(1);
    expect(requestsOf(figures, /^feasibility (POST|PATCH) Event/)).toBeLessThanOrEqual(3 * TEN);
  });
});

test('ten that the VMMRQ gives for take little longer than with a quota that refuses none', async () => {
  const [blocked, unblocked] = [await burst(TEN), await burst(undefined)];
  expect(blocked.ms).toBeLessThanOrEqual(1.15 * unblocked.ms);
});
