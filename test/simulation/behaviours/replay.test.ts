import { describe, expect, test } from '@jest/globals';
import { run, runSeed, type RunResult } from '../world/run.ts';
import { scenarioOf } from '../world/scenario.ts';

const SEEDS = [1, 7, 42, 4_711];

const observed = ({ trace, happened, violation }: RunResult): unknown => ({ trace, happened, violation });

describe('a replay', () => {
  test.each(SEEDS)('of seed %d gives the same run, line by line', async (seed) => {
    const [first, second] = [await runSeed(seed, { trace: true }), await runSeed(seed, { trace: true })];
    expect(first.trace.length).toBeGreaterThan(50);
    expect(observed(second)).toEqual(observed(first));
  });

  test.each(SEEDS)('of the faults of seed %d as a plan gives the same run', async (seed) => {
    const first = await runSeed(seed, { trace: true });
    const planned = await run(scenarioOf(seed), { trace: true, plan: first.happened });
    expect(observed(planned)).toEqual(observed(first));
  });

  test('of another seed gives another run', async () => {
    const [one, other] = [await runSeed(1, { trace: true }), await runSeed(2, { trace: true })];
    expect(other.trace).not.toEqual(one.trace);
  });
});
