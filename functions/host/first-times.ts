import type { Clock } from '../runtime/clock.ts';

/** Maximum number of keys. Beyond it all are forgotten, and count as new again. */
const MAX_KEYS = 1_000;

/** Returns the milliseconds since this process was first asked about a key; 0: now. */
export function firstTimes({ elapsed }: Pick<Clock, 'elapsed'>): (what: string) => number {
  const known = new Map<string, number>();
  return (what) => {
    const first = known.get(what);
    // Never 0 the second time.
    if (first !== undefined) return Math.max(elapsed() - first, 1);
    if (known.size >= MAX_KEYS) known.clear();
    known.set(what, elapsed());
    return 0;
  };
}
