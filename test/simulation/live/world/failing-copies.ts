import { Random } from '../../engine/random.ts';
import type { Clusters } from './clusters.ts';

const FAILS = 'the copy fails by itself';
export const FAILING_COPY_HITS: readonly string[] = [FAILS];

/** When after the beginning of a copy, which takes a second; milliseconds. */
const WITHIN_MS = 1_000;

interface FailingCopiesOptions {
  readonly seed: number;
  readonly clusters: Clusters;
  readonly onHit: (what: string) => void;
}

/** Migrations of some runs only, by numbers of their own: the other runs of a seed stay as they were. */
export class FailingCopies {
  readonly #options: FailingCopiesOptions;
  readonly #random: Random;
  readonly #isToCome: boolean;
  readonly #seen = new Set<string>();

  constructor(options: FailingCopiesOptions) {
    this.#options = options;
    this.#random = new Random(options.seed + 2 ** 46);
    this.#isToCome = this.#random.chance(0.08);
  }

  watch(): void {
    if (!this.#isToCome) return;
    const { transfers } = this.#options.clusters.pair;
    transfers.onChange(() => {
      for (const id of transfers.running()) if (!this.#seen.has(id)) this.#plan(id);
    });
  }

  #plan(id: string): void {
    this.#seen.add(id);
    const { clusters, onHit } = this.#options;
    const { transfers, schedule } = clusters.pair;
    schedule.later('node', this.#random.below(WITHIN_MS), () => {
      transfers.fail(id);
      if (transfers.stateOf(id) === 'failed') onHit(FAILS);
    });
  }
}
