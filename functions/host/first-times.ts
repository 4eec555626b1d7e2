import type { Clock } from '../runtime/clock.ts';

/** When this process was first asked about each key. */
export interface FirstTimes {
  /** Returns the milliseconds since then; 0: now. */
  readonly sinceFirst: (what: string) => number;
  /** The same, and is no question itself; undefined: it was never asked. */
  readonly sinceAsked: (what: string) => number | undefined;
}

/** Maximum number of keys. Beyond it all are forgotten, and count as new again. */
const MAX_KEYS = 1_000;

export function newFirstTimes({ elapsed }: Pick<Clock, 'elapsed'>): FirstTimes {
  const known = new Map<string, number>();
  const sinceAsked = (what: string): number | undefined => {
    const first = known.get(what);
    // Never 0 the second time.
    return first === undefined ? undefined : Math.max(elapsed() - first, 1);
  };
  const sinceFirst = (what: string): number => {
    const since = sinceAsked(what);
    if (since !== undefined) return since;
    if (known.size >= MAX_KEYS) known.clear();
    known.set(what, elapsed());
    return 0;
  };
  return { sinceFirst, sinceAsked };
}
