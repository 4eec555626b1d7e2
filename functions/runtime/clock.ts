/**
 * A process's own time: for measuring and waiting, never for a decision's `now`, which is the API server's Date. Everything in
 * functions/ and webhook/ waits by a Clock, so that the simulation can supply its own.
 */
export interface Clock {
  /** Monotonic milliseconds from an arbitrary start. */
  elapsed(): number;
  /** The time of day on this machine, for people to read. */
  now(): Date;
  /** Runs `work` once after `ms` milliseconds. The returned function cancels it. */
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

/** Runs `work` with a signal that aborts after `ms` milliseconds. */
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
