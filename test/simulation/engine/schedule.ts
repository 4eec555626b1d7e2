import type { Random } from './random.ts';
import type { Time } from './time.ts';

/** Work that can continue now. */
interface Ready {
  readonly actor: string;
  readonly go: () => void;
}

/** How a run delays its requests. */
export interface Pacing {
  /** Chance that a request is suspended at a phase. */
  readonly suspendRate: number;
  /** Chance that a suspended request waits for long, even when no other work is ready. */
  readonly longDelayRate: number;
  /** Maximal length of that wait, milliseconds. */
  readonly maxDelayMs: number;
  /** The time that a turn takes: whole milliseconds, from the first to the second. Left out: 1 to 4. */
  readonly turnMs?: readonly [number, number];
}

const TURN_MS = [1, 4] as const;

/** Resolves when all pending promises have run: the simulation never waits for real time or I/O. */
export const drained = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The work in flight. One random item has the turn at a time, and each turn takes a little virtual time. */
export class Schedule {
  readonly time: Time;
  /** From now on work runs in order of arrival, and few requests are suspended: for the end of a run, and for a short trace. */
  isCalm = false;
  /** Number of turns so far. */
  steps = 0;
  readonly #ready: Ready[] = [];
  readonly #random: Random;
  readonly #pacing: Pacing;

  constructor({ time, random, pacing }: { time: Time; random: Random; pacing: Pacing }) {
    this.time = time;
    this.#random = random;
    this.#pacing = pacing;
  }

  /** Some work is ready. */
  get isBusy(): boolean {
    return this.#ready.length > 0;
  }

  /** Runs `go` at once, or at a later turn. `must`: always at a later turn. */
  suspend(actor: string, go: () => void, must = false): void {
    const { suspendRate, longDelayRate, maxDelayMs } = this.#pacing;
    if (this.isCalm ? !must : !must && !this.#random.chance(suspendRate)) go();
    else if (!this.isCalm && this.#random.chance(longDelayRate))
      this.later(actor, this.#random.below(maxDelayMs), go);
    else this.#ready.push({ actor, go });
  }

  /** Makes `go` ready after `ms` milliseconds. */
  later(actor: string, ms: number, go: () => void): void {
    this.time.after(ms, () => this.#ready.push({ actor, go }));
  }

  /** Runs one turn. False: no work is ready. */
  async step(): Promise<boolean> {
    if (this.#ready.length === 0) return false;
    const index = this.isCalm ? 0 : this.#random.below(this.#ready.length);
    const [ready] = this.#ready.splice(index, 1);
    this.steps += 1;
    ready?.go();
    await drained();
    await this.advance(this.#random.between(...(this.#pacing.turnMs ?? TURN_MS)));
    return true;
  }

  /** Advances the virtual time by `ms` milliseconds. */
  async advance(ms: number): Promise<void> {
    const until = this.time.now + ms;
    for (let work = this.time.popDue(until); work !== undefined; work = this.time.popDue(until)) {
      work();
      await drained();
    }
    this.time.now = Math.max(this.time.now, until);
  }

  /** With no work ready, advances to the next alarm. False: there is none, or it is after `until`. */
  async skip(until = Infinity): Promise<boolean> {
    const next = this.time.next();
    if (next === undefined || next > until) return false;
    await this.advance(Math.max(0, next - this.time.now));
    return true;
  }
}
