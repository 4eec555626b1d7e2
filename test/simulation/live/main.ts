import { runScript, wholeNumber } from '../../../hack/script.ts';
import { newSimulation, type SimulationFlags } from '../seeds/command-line.ts';
import { mutate } from '../seeds/mutate.ts';
import { newProgress } from '../seeds/progress.ts';
import { LIVE_KILLING_SEEDS } from './seeds/killing-seeds.ts';
import { mutationNamed, MUTATIONS } from './seeds/mutations.ts';
import { simulateLive, type LiveSummary } from './seeds/pool.ts';

const SIMULATE = newSimulation(
  'simulate:live',
  'Moves VMs between two simulated clusters, from seeds.',
  MUTATIONS,
).option('--workers <n>', 'on so many threads', wholeNumber(1), 1);

interface Flags extends SimulationFlags {
  readonly workers: number;
}

/** Runs the seeds S, S+1, …; prints how often each disturbance happened and how the runs ended, and the seeds that broke a rule. */
async function main({ runs, seed, workers, mutation, trace, findSeeds }: Flags): Promise<boolean> {
  if (findSeeds) return LIVE_KILLING_SEEDS.renew(print);
  if (trace) return showOne(seed, mutation);
  const started = performance.now();
  const summary = await simulateLive({
    from: seed,
    count: runs,
    workers,
    mutation,
    onProgress: newProgress(runs),
  });
  print(textOf(summary, performance.now() - started));
  return summary.violations.length === 0;
}

/** The run of one seed, line by line. */
async function showOne(seed: number, mutation: string | undefined): Promise<boolean> {
  if (mutation !== undefined) mutate(mutationNamed(mutation));
  const { runSeed } = await import('./world/run.ts');
  const { trace, violation } = await runSeed(seed);
  print(trace.join('\n'));
  return violation === undefined;
}

function textOf({ runs, moved, hits, violations }: LiveSummary, ms: number): string {
  const table = [...hits].toSorted().map(([hit, times]) => `${String(times).padStart(9)}  ${hit}`);
  const total =
    `${String(runs)} runs in ${(ms / 1_000).toFixed(1)} s (${(ms / runs).toFixed(1)} ms each), ${String(moved)} moved; ` +
    `${String(violations.length)} broke a rule`;
  return ['', ...table, '', total].join('\n');
}

const print = (text: string): void => void process.stdout.write(`${text}\n`);

await runScript(SIMULATE, main);
