import type { Clock } from '../runtime/clock.ts';

/** How much is remembered: what comes after that is taken for new once more. */
const MAX_KEYS = 1_000;

/** What a process remembers of the first times that it was asked about something. */
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
