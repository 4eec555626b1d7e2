/** Starts the works in order, at most `limit` at a time; returns a promise for each name. A failure does not stop the others. */
export function atOnce<T>(
  limit: number,
  works: ReadonlyMap<string, () => Promise<T>>,
): Map<string, Promise<T>> {
  const waiting: (() => void)[] = [];
  let running = 0;
  const enter = async (): Promise<void> => {
    if (running < limit) running += 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
  };
  const leave = (): void => {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  };
  const started = [...works].map(([name, work]) => {
    const done = enter().then(() => work().finally(leave));
    // The caller of this work's promise gets the error; without a caller it must not be an unhandled rejection.
    done.catch(() => undefined);
    return [name, done] as const;
  });
  return new Map(started);
}
