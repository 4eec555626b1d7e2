import { START } from './time.ts';

/** What happened in a run, one line an event: when, who, what. Empty unless it is asked for. */
export class Trace {
  readonly lines: string[] = [];
  readonly isOn: boolean;
  readonly #now: () => number;

  constructor(isOn: boolean, now: () => number) {
    this.isOn = isOn;
    this.#now = now;
  }

  /** `what` is only made when somebody reads it. */
  log(actor: string, what: () => string): void {
    if (!this.isOn) return;
    const seconds = ((this.#now() - START) / 1_000).toFixed(3);
    this.lines.push(`${seconds.padStart(9)}  ${actor.padEnd(16)} ${what()}`);
  }
}
