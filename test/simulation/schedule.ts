import type { Random } from './random.ts';
import type { Time } from './time.ts';

/** Something that can go on now. */
interface Ready {
  readonly actor: string;
  readonly go: () => void;
}

/** How a run's requests are held up. */
export interface Pacing {
  /** How often a request stops at all where it may. */
  readonly suspendRate: number;
  /** How often one that stops does so for long, though nothing else is to do. */
  readonly longDelayRate: number;
  /** For how long then, milliseconds at most. */
  readonly maxDelayMs: number;
}

/** Lets everything that is promised by now happen; nothing of the simulation waits for the machine. */
export const drained = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** What is in flight, and whose turn it is: one after the other, by chance; time passes a little with each. */
export class Schedule {
  readonly time: Time;
  /** From now on what comes first goes first, and hardly anything stops: for the end of a run, and for a short trace. */
  isCalm = false;
  /** How often somebody had the turn. */
  steps = 0;
  readonly #ready: Ready[] = [];
  readonly #random: Random;
  readonly #pacing: Pacing;

  constructor({ time, random, pacing }: { time: Time; random: Random; pacing: Pacing }) {
    this.time = time;
    this.#random = random;
    this.#pacing = pacing;
  }

  /** Something is ready to go on. */
  get isBusy(): boolean {
    return this.#ready.length > 0;
  }

  /** Goes on at once, or when it has the turn. `must`: never at once. */
  suspend(actor: string, go: () => void, must = false): void {
    const { suspendRate, longDelayRate, maxDelayMs } = this.#pacing;
    if (this.isCalm ? !must : !must && !this.#random.chance(suspendRate)) go();
    else if (!this.isCalm && this.#random.chance(longDelayRate))
      this.later(actor, this.#random.below(maxDelayMs), go);
    else this.#ready.push({ actor, go });
  }

  /** Has its turn some time after so many milliseconds. */
  later(actor: string, ms: number, go: () => void): void {
    this.time.after(ms, () => this.#ready.push({ actor, go }));
  }

  /** Gives somebody the turn. False: there is nobody. */
  async step(): Promise<boolean> {
    if (this.#ready.length === 0) return false;
    const index = this.isCalm ? 0 : this.#random.below(this.#ready.length);
    const [ready] = this.#ready.splice(index, 1);
    this.steps += 1;
    ready?.go();
    await drained();
    await this.advance(this.#random.between(1, 4));
    return true;
  }

  /** Time passes by so many milliseconds. */
  async advance(ms: number): Promise<void> {
    const until = this.time.now + ms;
    for (let work = this.time.popDue(until); work !== undefined; work = this.time.popDue(until)) {
      work();
      await drained();
    }
    this.time.now = Math.max(this.time.now, until);
  }

  /** Nothing is ready: on to the next alarm. False: there is none, or it is after `until`. */
  async skip(until = Infinity): Promise<boolean> {
    const next = this.time.next();
    if (next === undefined || next > until) return false;
    await this.advance(Math.max(0, next - this.time.now));
    return true;
  }
}
