/**
 * Time as a process sees it: what it measures and what it waits for. Never a decision's `now`: that is the API server's
 * Date. Everything in functions/ and webhook/ that waits does it by a Clock, so that the simulation can run on its own.
 */
export interface Clock {
  /** Milliseconds since some moment; only ever goes forward. */
  elapsed(): number;
  /** The process's idea of the time of day: for what people read. */
  now(): Date;
  /** Runs `work` once, in `ms` milliseconds, unless what it returns is called before. */
  after(ms: number, work: () => void): () => void;
}

export const systemClock: Clock = {
  elapsed: () => performance.now(),
  now: () => new Date(),
  after: (ms, work) => {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms` milliseconds, or when `signal` aborts. Never rejects. */
export async function pause(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return;
  const { promise, resolve } = Promise.withResolvers<undefined>();
  const resume = (): void => resolve(undefined);
  const cancel = clock.after(ms, resume);
  signal?.addEventListener('abort', resume, { once: true });
  await promise;
  cancel();
  signal?.removeEventListener('abort', resume);
}

/** What `work` comes to; the signal that it gets aborts after `ms` milliseconds. */
export async function within<T>(
  clock: Clock,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const cancel = clock.after(ms, () => over.abort());
  try {
    return await work(over.signal);
  } finally {
    cancel();
  }
}
