import { enableCompileCache } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { mutate } from '../mutate.ts';
import type { Batch } from '../pool.ts';
import type { WorkerData } from '../worker.ts';
import { mutationNamed } from './mutations.ts';
import type { LiveSummary } from './pool.ts';

// As in ../worker.ts.
enableCompileCache('node_modules/.cache/node');
Error.stackTraceLimit = 0;
const { mutation } = workerData as WorkerData;
if (mutation !== undefined) mutate(mutationNamed(mutation));
// Imported only now, so that the mutation applies.
const { runSeed } = await import('./run.ts');

parentPort?.on('message', (batch: Batch) => void answer(batch));

async function answer({ from, count }: Batch): Promise<void> {
  const hits = new Map<string, number>();
  const violations: LiveSummary['violations'][number][] = [];
  let [runs, moved] = [0, 0];
  for (let seed = from; seed < from + count; seed += 1) {
    const { violation, hasMoved, ...result } = await runSeed(seed);
    runs += 1;
    moved += Number(hasMoved);
    for (const [hit, times] of result.hits) hits.set(hit, (hits.get(hit) ?? 0) + times);
    if (violation !== undefined) violations.push({ seed, violation });
    if (violation !== undefined && mutation !== undefined) break;
  }
  parentPort?.postMessage({ runs, moved, hits, violations } satisfies LiveSummary);
}
