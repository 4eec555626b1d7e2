import { describe, expect, test } from '@jest/globals';
import { retryOnConflict, untilResolved } from './attempts.ts';
import { ApiError } from './errors.ts';

const CONFLICT = new ApiError('PUT', { code: 409, reason: 'Conflict' }, new Date(0));
const FORBIDDEN = new ApiError('PUT', { code: 403, reason: 'Forbidden' }, new Date(0));

/** Each call has the next of these results: an error is thrown. */
function resultsOf<T>(...results: readonly (T | Error)[]): { work: () => Promise<T>; calls: () => number } {
  let calls = 0;
  const work = (): Promise<T> => {
    const result = results[calls];
    calls += 1;
    return result instanceof Error ? Promise.reject(result) : Promise.resolve(result as T);
  };
  return { work, calls: () => calls };
}

describe('retryOnConflict', () => {
  test('resolves with the first attempt that no other writer overtakes', async () => {
    const { work, calls } = resultsOf<string>(CONFLICT, CONFLICT, 'written');
    expect(await retryOnConflict(3, work)).toBe('written');
    expect(calls()).toBe(3);
  });

  test.each<[string, Error[], number, number]>([
    ['the last conflict', [CONFLICT, CONFLICT], 2, 2],
    ['another error at once', [FORBIDDEN], 5, 1],
  ])('rejects with %s', async (_what, results, attempts, made) => {
    const { work, calls } = resultsOf<string>(...results);
    await expect(retryOnConflict(attempts, work)).rejects.toBe(results.at(-1));
    expect(calls()).toBe(made);
  });
});

describe('untilResolved', () => {
  test('resolves with the first result', async () => {
    expect(await untilResolved(3, resultsOf(undefined, 'decided').work, 'changed')).toBe('decided');
  });

  test('rejects after its attempts', async () => {
    const { work, calls } = resultsOf<string | undefined>();
    await expect(untilResolved(2, work, 'it changed each time')).rejects.toThrow('it changed each time');
    expect(calls()).toBe(2);
  });
});
