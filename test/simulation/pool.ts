import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { WorkerData } from './worker.ts';

/** Seeds from `from` on. */
export interface Batch {
  readonly from: number;
  readonly count: number;
}

/** The combined result of some runs. */
export interface Summary {
  readonly runs: number;
  readonly steps: number;
  readonly cycles: number;
  readonly failures: number;
  readonly podsOutsideLock: number;
  /** "crashBefore raise": how often. */
  readonly hits: ReadonlyMap<string, number>;
  readonly violations: readonly { readonly seed: number; readonly violation: string }[];
}

export interface Order extends Batch {
  readonly mutation?: string | undefined;
  /** Left out: one for each core. */
  readonly workers?: number;
  /** Called with the summary so far, after each batch. */
  readonly onProgress?: (soFar: Summary) => void;
}

const BATCH = 50;
const NONE: Summary = {
  runs: 0,
  steps: 0,
  cycles: 0,
  failures: 0,
  podsOutsideLock: 0,
  hits: new Map(),
  violations: [],
};

/** Runs every seed of the order on worker threads; with a mutation, until the first violation. */
export async function simulate(order: Order): Promise<Summary> {
  const { from, count, mutation, workers = availableParallelism(), onProgress } = order;
  let next = from;
  let sum = NONE;
  const isOver = (): boolean => next >= from + count || (mutation !== undefined && sum.violations.length > 0);
  const work = async (): Promise<void> => {
    const worker = new Worker(new URL('worker.ts', import.meta.url), {
      workerData: { mutation } satisfies WorkerData,
    });
    try {
      while (!isOver()) {
        const batch = { from: next, count: Math.min(BATCH, from + count - next) };
        next += batch.count;
        const part = await answered(worker, batch);
        sum = added(sum, part);
        onProgress?.(sum);
      }
    } finally {
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: Math.min(workers, Math.ceil(count / BATCH)) }, work));
  const violations = sum.violations.toSorted((one, other) => one.seed - other.seed);
  return { ...sum, violations };
}

function answered(worker: Worker, batch: Batch): Promise<Summary> {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.postMessage(batch);
  }).finally(() => {
    worker.removeAllListeners('message');
    worker.removeAllListeners('error');
  }) as Promise<Summary>;
}

function added(one: Summary, other: Summary): Summary {
  const hits = new Map(one.hits);
  for (const [hit, times] of other.hits) hits.set(hit, (hits.get(hit) ?? 0) + times);
  return {
    runs: one.runs + other.runs,
    steps: one.steps + other.steps,
    cycles: one.cycles + other.cycles,
    failures: one.failures + other.failures,
    podsOutsideLock: one.podsOutsideLock + other.podsOutsideLock,
    hits,
    violations: [...one.violations, ...other.violations],
  };
}
