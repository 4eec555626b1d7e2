/** Runs work unless another call of this process runs under the same key; then returns `otherwise`. */
export type Exclusively = <T>(key: string, work: () => Promise<T>, otherwise: T) => Promise<T>;

/** A courtesy only, like first-times.ts: other processes do not know of it. */
export function newExclusively(): Exclusively {
  const running = new Set<string>();
  return async (key, work, otherwise) => {
    if (running.has(key)) return otherwise;
    running.add(key);
    try {
      return await work();
    } finally {
      running.delete(key);
    }
  };
}
