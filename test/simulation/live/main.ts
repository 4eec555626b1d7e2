import { parseArgs } from 'node:util';
import { mutate } from '../seeds/mutate.ts';
import { newProgress } from '../seeds/progress.ts';
import { LIVE_KILLING_SEEDS } from './seeds/killing-seeds.ts';
import { mutationNamed } from './seeds/mutations.ts';
import { simulateLive, type LiveSummary } from './seeds/pool.ts';

const USAGE =
  'npm run simulate:live -- [--runs N] [--seed S] [--workers W] [--mutation NAME] [--trace] | --find-seeds';

/** Runs the seeds S, S+1, …; prints how often each disturbance happened and how the runs ended, and the seeds that broke a rule. */
async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      runs: { type: 'string', default: '1000' },
      seed: { type: 'string', default: '1' },
      workers: { type: 'string', default: '1' },
      mutation: { type: 'string' },
      trace: { type: 'boolean', default: false },
      'find-seeds': { type: 'boolean', default: false },
    },
  });
  const [count, from, workers] = [Number(values.runs), Number(values.seed), Number(values.workers)];
  if (![count, from, workers].every(Number.isSafeInteger) || count < 1) throw new Error(USAGE);
  if (values['find-seeds']) {
    const found = await LIVE_KILLING_SEEDS.mend(print);
    LIVE_KILLING_SEEDS.store(found);
    return found.missing.length;
  }
  const { mutation } = values;
  if (values.trace) return showOne(from, mutation);
  const started = performance.now();
  const summary = await simulateLive({
    from,
    count,
    workers,
    mutation,
    onProgress: newProgress(count),
  });
  print(textOf(summary, performance.now() - started));
  return summary.violations.length === 0 ? 0 : 1;
}

/** The run of one seed, line by line. */
async function showOne(seed: number, mutation: string | undefined): Promise<number> {
  if (mutation !== undefined) mutate(mutationNamed(mutation));
  const { runSeed } = await import('./world/run.ts');
  const { trace, violation } = await runSeed(seed);
  print(trace.join('\n'));
  return violation === undefined ? 0 : 1;
}

function textOf({ runs, moved, hits, violations }: LiveSummary, ms: number): string {
  const table = [...hits].toSorted().map(([hit, times]) => `${String(times).padStart(9)}  ${hit}`);
  const total =
    `${String(runs)} runs in ${(ms / 1_000).toFixed(1)} s (${(ms / runs).toFixed(1)} ms each), ${String(moved)} moved; ` +
    `${String(violations.length)} broke a rule`;
  return ['', ...table, '', total].join('\n');
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);

process.exitCode = await main();
