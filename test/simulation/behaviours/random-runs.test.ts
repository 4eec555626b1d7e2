import { beforeAll, expect, jest, test } from '@jest/globals';
import type { Summary } from '../seeds/pool.ts';
import { expectBusy, expectUnbroken, runRandomly } from '../seeds/random-runs.ts';

const RUNS = 1_000;
// They only compute: beside load 17 they took more than the usual 240 s.
jest.setTimeout(30 * 60_000);

let summary: Summary;
beforeAll(async () => {
  summary = await runRandomly(RUNS);
});

test('no run violates an invariant; a failing run prints its seed and the shortest trace', async () => {
  await expectUnbroken(summary);
  expect(summary.runs).toBe(RUNS);
});

test('most runs contain cycles, and some locks fail', () => {
  expectBusy(summary);
});
