import type { Clock } from './clock.ts';

/** Repeating timers by key. Each key has one chain of timers until it is cleared. */
export class Timers {
  readonly #pending = new Map<string, Armed>();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Runs `work` in `firstMs`, then after every wait that `nextMs` gives for the number of runs so far. A key that is
   * running already keeps its chain.
   */
  start(
    key: string,
    work: () => Promise<void>,
    waits: { firstMs: number; nextMs: (run: number) => number },
  ): void {
    if (this.#pending.has(key)) return;
    this.#arm(key, { work, nextMs: waits.nextMs, waitMs: waits.firstMs, run: 1 });
  }

  #arm(key: string, chainRun: ChainRun): void {
    const armed: Armed = {
      cancel: this.#clock.after(chainRun.waitMs, () => void this.#fire(key, armed, chainRun)),
    };
    this.#pending.set(key, armed);
  }

  async #fire(key: string, armed: Armed, { work, nextMs, run }: ChainRun): Promise<void> {
    await work();
    // The key was cleared, or cleared and started again, while `work` ran.
    if (this.#pending.get(key) !== armed) return;
    this.#arm(key, { work, nextMs, waitMs: nextMs(run), run: run + 1 });
  }

  /** Ends every chain whose key starts with this. */
  clear(prefix: string): void {
    for (const [key, { cancel }] of this.#pending) {
      if (!key.startsWith(prefix)) continue;
      cancel();
      this.#pending.delete(key);
    }
  }

  /** Keys of the chains that run. */
  keys(): string[] {
    return [...this.#pending.keys()];
  }
}

/** A wait of a chain. */
interface Armed {
  readonly cancel: () => void;
}

interface ChainRun {
  readonly work: () => Promise<void>;
  readonly nextMs: (run: number) => number;
  readonly waitMs: number;
  readonly run: number;
}

/** Doubling waits: 1, 2, 4, … seconds, `maxMs` at most. */
export const doubling =
  (maxMs: number) =>
  (run: number): number =>
    Math.min(1_000 * 2 ** (run - 1), maxMs);
