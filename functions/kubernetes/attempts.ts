import { isConflict } from './errors.ts';

/** Runs `work` again after each conflict; it must read again. Rejects with the last of so many conflicts, and at once with another error. */
export async function retryOnConflict<T>(attempts: number, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isConflict(error) || attempt >= attempts) throw error;
    }
  }
}

/** Runs `work` until it has a result; undefined: another writer was first. Rejects with `message` after so many attempts. */
export async function untilResolved<T>(
  attempts: number,
  work: () => Promise<T | undefined>,
  message: string,
): Promise<T> {
  for (let attempt = 1; attempt <= attempts; attempt += 1) {
    const result = await work();
    if (result !== undefined) return result;
  }
  throw new Error(message);
}
