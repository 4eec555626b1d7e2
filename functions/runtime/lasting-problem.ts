import { systemClock, type Clock } from './clock.ts';
import type { Log } from './log.ts';

/** A problem may heal by itself for so long, milliseconds: `kubectl apply` of all manifests takes some seconds. */
const LASTING_MS = 60_000;

/**
 * Logs a problem that may heal by itself, as while the manifests are being applied: once as a warning, and as an error only if it lasts. A
 * problem with another text is another one.
 */
export class LastingProblem {
  readonly #log: Log;
  readonly #clock: Clock;
  #problem: string | undefined;
  #cancel = (): void => undefined;

  constructor(log: Log, clock: Clock = systemClock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** The problem as it is now; undefined: there is none. */
  get text(): string | undefined {
    return this.#problem;
  }

  note(problem: string | undefined): void {
    if (problem === this.#problem) return;
    this.#cancel();
    this.#problem = problem;
    if (problem === undefined) return;
    this.#log('warn', `waiting until this is over: ${problem}`);
    this.#cancel = this.#clock.after(LASTING_MS, () => this.#log('error', problem));
  }
}
