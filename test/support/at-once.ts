/** Runs works, so many at a time, in their order; each one's promise by its name. A failure ends only itself. */
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
    // Whoever asks for it hears of it; nobody else must.
    done.catch(() => undefined);
    return [name, done] as const;
  });
  return new Map(started);
}
