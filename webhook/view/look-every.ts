import { describeError } from '../../functions/kubernetes/errors.ts';
import { pause, type Clock } from '../../functions/runtime/clock.ts';
import type { Log } from '../../functions/runtime/log.ts';

interface Looking {
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** The subject of the looks, for the log of a failed look. */
  readonly what: string;
}

/**
 * Looks every so many milliseconds until `signal` aborts. An unforeseen error, such as from a status of another writer, is logged once
 * and must not end the guard, which reviews and repairs.
 */
export async function lookEvery(
  ms: number,
  look: () => void | Promise<void>,
  { clock, log, signal, what }: Looking,
): Promise<void> {
  let problem = '';
  while (!signal.aborted) {
    const before = problem;
    problem = '';
    try {
      await look();
    } catch (error) {
      problem = describeError(error);
      if (problem !== before) log('warn', `${what} are not looked at: ${problem}`);
    }
    await pause(clock, ms, signal);
  }
}
