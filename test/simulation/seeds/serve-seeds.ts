import { enableCompileCache } from 'node:module';
import { parentPort, workerData } from 'node:worker_threads';
import { mutate } from './mutate.ts';
import { added, type Batch, type Found } from './pool.ts';

/** Start parameters of a worker thread. */
export interface WorkerData {
  /** The name of the mutation in its code; undefined: none. */
  readonly mutation: string | undefined;
}

interface Served<S extends Found> {
  readonly mutationNamed: (name: string) => Parameters<typeof mutate>[0];
  /** Imports what runs a seed: called after the mutation, so that it applies. */
  readonly load: () => Promise<(seed: number) => Promise<S>>;
  /** Of no run. */
  readonly none: S;
}

/** Makes this worker thread answer each Batch with the summary of its runs; with a mutation, until the first violation. */
export async function serveSeeds<S extends Found>({ mutationNamed, load, none }: Served<S>): Promise<void> {
  // Each mutation has a worker of its own, which imports everything: half of that is Node's work on their types.
  enableCompileCache('node_modules/.cache/node');
  // Refusals are errors, and no code reads their stacks.
  Error.stackTraceLimit = 0;
  const { mutation } = workerData as WorkerData;
  if (mutation !== undefined) mutate(mutationNamed(mutation));
  const runOne = await load();
  parentPort?.on('message', ({ from, count }: Batch) => void answer(from, from + count));

  async function answer(from: number, end: number): Promise<void> {
    let sum = none;
    for (let seed = from; seed < end; seed += 1) {
      sum = added(sum, await runOne(seed));
      if (sum.violations.length > 0 && mutation !== undefined) break;
    }
    parentPort?.postMessage(sum);
  }
}

/** As a summary has it. */
export const violationsOf = (seed: number, violation: string | undefined): Found['violations'] =>
  violation === undefined ? [] : [{ seed, violation }];
