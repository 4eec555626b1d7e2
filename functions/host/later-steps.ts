import type { Clock } from '../runtime/clock.ts';

/** How long a function that has answered counts as ready, milliseconds. Knative keeps a pod for a minute after its last request. */
const READY_MS = 30_000;

/**
 * Asks whether the functions of the later steps answer: once for calls at the same moment, and not again for READY_MS. A courtesy, never
 * a state: where a function ends meanwhile, the guard ends the lock.
 *
 * @param ask resolves with the URLs that do not answer; never rejects
 */
export function newLaterSteps(
  ask: () => Promise<readonly string[]>,
  { elapsed }: Pick<Clock, 'elapsed'>,
): () => Promise<readonly string[]> {
  let readyAt = -Infinity;
  let asking: Promise<readonly string[]> | undefined;
  const askOnce = async (): Promise<readonly string[]> => {
    const silent = await ask();
    if (silent.length === 0) readyAt = elapsed();
    asking = undefined;
    return silent;
  };
  return () => (elapsed() - readyAt < READY_MS ? Promise.resolve([]) : (asking ??= askOnce()));
}
