import { parseArgs } from 'node:util';
import { KILLING_SEEDS } from './seeds/killing-seeds.ts';
import { mutate, mutationNamed } from './seeds/mutate.ts';
import { simulate, type Summary } from './seeds/pool.ts';
import { newProgress } from './seeds/progress.ts';
import { failureText, hitsTable } from './seeds/report.ts';

const USAGE = 'npm run simulate -- [--runs N] [--seed S] [--mutation NAME] [--trace] | --find-seeds';

/** Runs the seeds S, S+1, …; prints how often each fault hit each step, and for a failure its seed and a short trace. */
async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '1000' },
      seed: { type: 'string', default: '1' },
      mutation: { type: 'string' },
      trace: { type: 'boolean', default: false },
      'find-seeds': { type: 'boolean', default: false },
    },
  });
  const [count, from] = [Number(values.runs), Number(values.seed)];
  if (!Number.isSafeInteger(count) || !Number.isSafeInteger(from) || count < 1) throw new Error(USAGE);
  const { mutation } = values;
  if (values['find-seeds']) {
    const found = await KILLING_SEEDS.mend(print);
    KILLING_SEEDS.store(found);
    return found.missing.length;
  }
  if (mutation !== undefined) mutationNamed(mutation);
  if (values.trace) return showOne(from, mutation);
  const started = performance.now();
  const onProgress = newProgress(count);
  const summary = await simulate({ from, count, mutation, onProgress });
  print(`\n${hitsTable(summary.hits)}\n\n${summaryText(summary, performance.now() - started)}`);
  const [first] = summary.violations;
  if (first === undefined) return 0;
  await explain(first.seed, mutation);
  return 1;
}

/** The run of one seed, line by line. */
async function showOne(seed: number, mutation: string | undefined): Promise<number> {
  if (mutation !== undefined) mutate(mutationNamed(mutation));
  const { runSeed } = await import('./world/run.ts');
  const { trace, violation } = await runSeed(seed, { trace: true });
  print(trace.join('\n'));
  return violation === undefined ? 0 : 1;
}

async function explain(seed: number, mutation: string | undefined): Promise<void> {
  if (mutation !== undefined) mutate(mutationNamed(mutation));
  const { shrink } = await import('./seeds/shrink.ts');
  const shrunk = await shrink(seed);
  if (shrunk !== undefined) print(`\nThe shortest that was found:\n${failureText(seed, shrunk)}`);
}

function summaryText(
  { runs, steps, cycles, failures, podsOutsideLock, violations }: Summary,
  ms: number,
): string {
  return (
    `${String(runs)} runs in ${(ms / 1_000).toFixed(1)} s (${(ms / runs).toFixed(1)} ms each), ${String(steps)} turns; ` +
    `${String(cycles)} cycles, ${String(failures)} locks that failed, ${String(podsOutsideLock)} pods under way before the proof; ` +
    `${String(violations.length)} runs broke an invariant`
  );
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);

process.exitCode = await main();
