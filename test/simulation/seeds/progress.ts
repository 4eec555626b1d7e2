import type { Found } from './pool.ts';

/** Each failing seed at once: a long search may be stopped before its end. */
export function newProgress(of: number): (soFar: Found) => void {
  let shown = 0;
  return ({ runs, violations }) => {
    for (const { seed, violation } of violations.slice(shown))
      process.stdout.write(`seed ${String(seed)}: ${violation}\n`);
    shown = violations.length;
    if (process.stderr.isTTY || runs % 1_000 === 0)
      process.stderr.write(`\r${String(runs)} of ${String(of)} runs, ${String(shown)} failures`);
  };
}
