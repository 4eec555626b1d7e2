import { START } from './time.ts';

/** The steps of a run, one line each: time, actor, text. Empty unless the caller enables it. */
export class Trace {
  readonly lines: string[] = [];
  readonly isOn: boolean;
  readonly #now: () => number;

  constructor(isOn: boolean, now: () => number) {
    this.isOn = isOn;
    this.#now = now;
  }

  /** Calls `what` only when the trace is enabled. */
  log(actor: string, what: () => string): void {
    if (!this.isOn) return;
    const seconds = ((this.#now() - START) / 1_000).toFixed(3);
    this.lines.push(`${seconds.padStart(9)}  ${actor.padEnd(16)} ${what()}`);
  }
}
