import { runBatches, type Found, type Order } from '../../seeds/pool.ts';

export interface LiveSummary extends Found {
  /** Runs whose guest is on the target at last. */
  readonly moved: number;
}

export const NONE: LiveSummary = { runs: 0, moved: 0, hits: new Map(), violations: [] };

/** As `simulate`, of live migrations between clusters. */
export const simulateLive = (order: Order<LiveSummary>): Promise<LiveSummary> =>
  runBatches(order, { script: new URL('worker.ts', import.meta.url), none: NONE });
