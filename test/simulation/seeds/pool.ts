import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { WorkerData } from './serve-seeds.ts';

/** Seeds from `from` on. */
export interface Batch {
  readonly from: number;
  readonly count: number;
}

/** What every kind of run tells; the numbers of several runs are added. */
export interface Found {
  readonly runs: number;
  /** "crashBefore raise": how often. */
  readonly hits: ReadonlyMap<string, number>;
  readonly violations: readonly { readonly seed: number; readonly violation: string }[];
}

/** The combined result of some runs. */
export interface Summary extends Found {
  readonly steps: number;
  readonly cycles: number;
  readonly failures: number;
  readonly podsOutsideLock: number;
}

export interface Order<S extends Found = Summary> extends Batch {
  readonly mutation?: string | undefined;
  /** Left out: one for each core. */
  readonly workers?: number;
  /** Called with the summary so far, after each batch. */
  readonly onProgress?: (soFar: S) => void;
}

const BATCH = 50;
export const NONE: Summary = {
  runs: 0,
  steps: 0,
  cycles: 0,
  failures: 0,
  podsOutsideLock: 0,
  hits: new Map(),
  violations: [],
};

/** Runs every seed of the order on worker threads; with a mutation, until the first violation. */
export const simulate = (order: Order): Promise<Summary> =>
  runBatches(order, { script: new URL('worker.ts', import.meta.url), none: NONE });

interface Kind<S extends Found> {
  /** Of the worker threads: answers each Batch. */
  readonly script: URL;
  /** Of no run. */
  readonly none: S;
}

export async function runBatches<S extends Found>(order: Order<S>, { script, none }: Kind<S>): Promise<S> {
  const { from, count, mutation, workers = availableParallelism(), onProgress } = order;
  let next = from;
  let sum = none;
  const isOver = (): boolean => next >= from + count || (mutation !== undefined && sum.violations.length > 0);
  const work = async (): Promise<void> => {
    const worker = new Worker(script, {
      workerData: { mutation } satisfies WorkerData,
    });
    try {
      while (!isOver()) {
        const batch = { from: next, count: Math.min(BATCH, from + count - next) };
        next += batch.count;
        const part = await answered<S>(worker, batch);
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

function answered<S>(worker: Worker, batch: Batch): Promise<S> {
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
    worker.postMessage(batch);
  }).finally(() => {
    worker.removeAllListeners('message');
    worker.removeAllListeners('error');
  }) as Promise<S>;
}

/** The summary of both. */
export function added<S extends Found>(one: S, other: S): S {
  const hits = new Map(one.hits);
  for (const [hit, times] of other.hits) hits.set(hit, (hits.get(hit) ?? 0) + times);
  const sums = Object.entries(one).flatMap(([key, value]) =>
    typeof value === 'number' ? [[key, value + Number(other[key as keyof S])]] : [],
  );
  const violations = [...one.violations, ...other.violations];
  return { ...one, ...(Object.fromEntries(sums) as Partial<S>), hits, violations };
}
