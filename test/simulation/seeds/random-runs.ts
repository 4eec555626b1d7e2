import { expect } from '@jest/globals';
import { simulate, type Summary } from './pool.ts';
import { failureText, hitsTable } from './report.ts';
import { shrink } from './shrink.ts';

/** Runs the seeds 1 to `count`, and prints a summary. */
export async function runRandomly(count: number): Promise<Summary> {
  const started = performance.now();
  const summary = await simulate({ from: 1, count });
  const seconds = ((performance.now() - started) / 1_000).toFixed(0);
  const { steps, cycles, failures, podsOutsideLock } = summary;
  process.stdout.write(
    `${hitsTable(summary.hits)}\n\n${String(count)} runs in ${seconds} s: ${String(steps)} turns, ${String(cycles)} cycles, ` +
      `${String(failures)} locks that failed, ${String(podsOutsideLock)} pods under way before the proof\n`,
  );
  return summary;
}

/** Fails with the seed and the shortest trace of the first run that violated an invariant. */
export async function expectUnbroken({ violations }: Summary): Promise<void> {
  const [first] = violations;
  const shrunk = first === undefined ? undefined : await shrink(first.seed);
  expect(shrunk === undefined ? '' : failureText(first?.seed ?? 0, shrunk)).toBe('');
  expect(violations).toEqual([]);
}

/** Guards against useless runs: a run without any cycle violates no invariant either. */
export function expectBusy({ runs, cycles, failures }: Summary): void {
  expect(cycles).toBeGreaterThan(runs / 10);
  expect(failures).toBeGreaterThan(runs / 100);
}
