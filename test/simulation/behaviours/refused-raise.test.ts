import { expect, test } from '@jest/globals';
import { smallCase } from '../seeds/exhaustive.ts';
import { run, type RunResult } from '../world/run.ts';

const DRY_RUN = /raise-\d+ +PUT ResourceQuota quota \(dry run\)/;
const LOCK = /lock-\d+ +PUT Namespace/;

/** Indices of the lines that match. */
const linesOf = ({ trace }: RunResult, pattern: RegExp): number[] =>
  trace.flatMap((line, index) => (pattern.test(line) ? [index] : []));

const resultOf = ({ violation, cycles, failures }: RunResult): object => ({ violation, cycles, failures });

const NEW = { ...smallCase(1), areTried: false };

test('a policy of another party refuses the raise: the migration is reported, and no lock is taken', async () => {
  const result = await run({ ...NEW, refusesRaises: true }, { plan: [], trace: true });
  expect(resultOf(result)).toEqual({ violation: undefined, cycles: 0, failures: 0 });
  expect(linesOf(result, LOCK)).toEqual([]);
});

test('the policy goes: the migration gets through at the next resync', async () => {
  const isGone = { at: 'world#400', fault: 'refuseRaises' } as const;
  const scenario = { ...NEW, isOrderly: false, steps: 3_000, refusesRaises: true };
  const result = await run(scenario, { plan: [isGone], trace: true });
  expect(result.happened).toEqual([isGone]);
  expect(resultOf(result)).toEqual({ violation: undefined, cycles: 1, failures: 0 });
});

test('the policy comes after a raise: one lock shows it', async () => {
  const result = await run({ ...smallCase(1), refusesRaises: true }, { plan: [], trace: true });
  expect(resultOf(result)).toEqual({ violation: undefined, cycles: 0, failures: 1 });
});

test('a raise is tried before the first lock only', async () => {
  const result = await run({ ...smallCase(3), areTried: false }, { plan: [], trace: true });
  expect(resultOf(result)).toEqual({ violation: undefined, cycles: 3, failures: 0 });
  const [first = 0] = linesOf(result, LOCK);
  const tried = linesOf(result, DRY_RUN);
  expect(tried.length).toBeGreaterThan(0);
  expect(tried.filter((index) => index > first)).toEqual([]);
});
