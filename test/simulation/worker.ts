import { enableCompileCache } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { mutate, mutationNamed } from './mutate.ts';
import type { Batch, Summary } from './pool.ts';

/** Start parameters of a worker thread. */
export interface WorkerData {
  /** The name of the mutation in its code; undefined: none. */
  readonly mutation: string | undefined;
}

// Each mutation has a worker of its own, which imports everything: half of that is Node's work on their types.
enableCompileCache('node_modules/.cache/node');
// Refusals are errors, and no code reads their stacks.
Error.stackTraceLimit = 0;
const { mutation } = workerData as WorkerData;
if (mutation !== undefined) mutate(mutationNamed(mutation));
// Imported only now, so that the mutation applies.
const { runSeed } = await import('./run.ts');

parentPort?.on('message', (batch: Batch) => void answer(batch));

async function answer({ from, count }: Batch): Promise<void> {
  const hits = new Map<string, number>();
  const summary = { runs: 0, steps: 0, cycles: 0, failures: 0, podsOutsideLock: 0 };
  const violations: Summary['violations'][number][] = [];
  for (let seed = from; seed < from + count; seed += 1) {
    const result = await runSeed(seed);
    summary.runs += 1;
    for (const key of ['steps', 'cycles', 'failures', 'podsOutsideLock'] as const)
      summary[key] += result[key];
    for (const [hit, times] of result.hits) hits.set(hit, (hits.get(hit) ?? 0) + times);
    if (result.violation !== undefined) violations.push({ seed, violation: result.violation });
    if (violations.length > 0 && mutation !== undefined) break;
  }
  parentPort?.postMessage({ ...summary, hits, violations } satisfies Summary);
}
