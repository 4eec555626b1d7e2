import { beforeAll, expect, test } from '@jest/globals';
import type { Summary } from './pool.ts';
import { expectBusy, expectUnbroken, runRandomly } from './random-runs.ts';

const RUNS = 2_000;

let summary: Summary;
beforeAll(async () => {
  summary = await runRandomly(RUNS);
});

test('no run breaks an invariant; one that does prints its seed and the shortest trace that was found', async () => {
  await expectUnbroken(summary);
  expect(summary.runs).toBe(RUNS);
});

test('releases are what most of it is about, and locks fail too', () => {
  expectBusy(summary);
});
