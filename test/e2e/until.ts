import { setTimeout as delay } from 'node:timers/promises';

export interface Wait {
  readonly what: string;
  readonly seconds: number;
  /** Aborts the wait: `until` rejects with its reason. */
  readonly signal: AbortSignal;
}

/** Thrown with the list of what is still missing. */
class NotInTime extends Error {
  override readonly name = 'NotInTime';
}

const LOOK_EVERY_MS = 250;

/** Polls what is missing; resolves once the answer is '', rejects with NotInTime and the last answer. */
export async function until(
  { what, seconds, signal }: Wait,
  missing: () => string | Promise<string>,
): Promise<void> {
  const end = performance.now() + seconds * 1_000;
  for (;;) {
    const answer = await missing();
    if (answer === '') return;
    if (performance.now() > end) throw new NotInTime(`not within ${String(seconds)} s: ${what}\n${answer}`);
    await delay(LOOK_EVERY_MS, undefined, { signal });
  }
}
