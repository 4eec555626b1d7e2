/** Runs work that no other call of this process is running under the same key. */
export type Exclusively = <T>(key: string, work: () => Promise<T>, otherwise: T) => Promise<T>;

/** Only for courtesy, as first-times.ts: other processes do not know of it. A key is free again when its work has ended. */
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
