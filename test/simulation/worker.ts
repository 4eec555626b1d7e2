import { parentPort, workerData } from 'node:worker_threads';
import { mutate, mutationNamed } from './mutate.ts';
import type { Batch, Summary } from './pool.ts';

/** What a worker thread is started with. */
export interface WorkerData {
  /** The mutation that its code has, by name; undefined: none. */
  readonly mutation: string | undefined;
}

// Refusals are errors, and their stacks are read by nobody.
Error.stackTraceLimit = 0;
const { mutation } = workerData as WorkerData;
if (mutation !== undefined) mutate(mutationNamed(mutation));
// Only now: what is imported is mutated.
const { runSeed } = await import('./run.ts');

parentPort?.on('message', (batch: Batch) => void answer(batch));

async function answer({ from, count }: Batch): Promise<void> {
  const hits = new Map<string, number>();
  const summary = { runs: 0, turns: 0, cycles: 0, failures: 0, strangers: 0 };
  const breaches: Summary['breaches'][number][] = [];
  for (let seed = from; seed < from + count; seed += 1) {
    const result = await runSeed(seed);
    summary.runs += 1;
    for (const key of ['turns', 'cycles', 'failures', 'strangers'] as const) summary[key] += result[key];
    for (const [hit, times] of result.hits) hits.set(hit, (hits.get(hit) ?? 0) + times);
    if (result.breach !== undefined) breaches.push({ seed, breach: result.breach });
    if (breaches.length > 0 && mutation !== undefined) break;
  }
  parentPort?.postMessage({ ...summary, hits, breaches } satisfies Summary);
}
