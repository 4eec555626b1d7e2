import { runScript } from '../../hack/script.ts';
import { newSimulation, type SimulationFlags } from './seeds/command-line.ts';
import { KILLING_SEEDS } from './seeds/killing-seeds.ts';
import { mutate, mutationNamed } from './seeds/mutate.ts';
import { MUTATIONS } from './seeds/mutations.ts';
import { simulate, type Summary } from './seeds/pool.ts';
import { newProgress } from './seeds/progress.ts';
import { failureText, hitsTable } from './seeds/report.ts';

const SIMULATE = newSimulation(
  'simulate',
  'Runs the steps and the guard against a model of the API server, from seeds, on all cores.',
  MUTATIONS,
);

/** Runs the seeds S, S+1, …; prints how often each fault hit each step, and for a failure its seed and a short trace. */
async function main({ runs, seed, mutation, trace, findSeeds }: SimulationFlags): Promise<boolean> {
  if (findSeeds) return KILLING_SEEDS.renew(print);
  if (trace) return showOne(seed, mutation);
  const started = performance.now();
  const onProgress = newProgress(runs);
  const summary = await simulate({ from: seed, count: runs, mutation, onProgress });
  print(`\n${hitsTable(summary.hits)}\n\n${summaryText(summary, performance.now() - started)}`);
  const [first] = summary.violations;
  if (first === undefined) return true;
  await explain(first.seed, mutation);
  return false;
}

/** The run of one seed, line by line. */
async function showOne(seed: number, mutation: string | undefined): Promise<boolean> {
  if (mutation !== undefined) mutate(mutationNamed(mutation));
  const { runSeed } = await import('./world/run.ts');
  const { trace, violation } = await runSeed(seed, { trace: true });
  print(trace.join('\n'));
  return violation === undefined;
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

await runScript(SIMULATE, main);
