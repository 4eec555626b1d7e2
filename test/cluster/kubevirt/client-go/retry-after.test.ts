import { expect, test } from '@jest/globals';
import { systemClock, type Clock } from '../../../../functions/runtime/clock.ts';
import { ApiError } from '../../../../functions/kubernetes/errors.ts';
import { withRetryAfter } from './retry-after.ts';

test.each<[string, { code: number; retryAfterSeconds?: number }, number]>([
  ['a 429 with Retry-After', { code: 429, retryAfterSeconds: 1 }, 11],
  ['a 503 with Retry-After', { code: 503, retryAfterSeconds: 1 }, 11],
  ['a 429 without', { code: 429 }, 1],
  ['a 403, whatever it says', { code: 403, retryAfterSeconds: 1 }, 1],
])('after %s a request is sent as often as client-go sends it', async (_what, answer, want) => {
  const { code, ...details } = answer;
  const waits: number[] = [];
  const after: Clock['after'] = (ms, work) => {
    waits.push(ms);
    queueMicrotask(work);
    return () => undefined;
  };
  let sent = 0;
  const request = (): Promise<never> => {
    sent += 1;
    return Promise.reject(new ApiError('POST', { code, details }, new Date(0)));
  };
  await expect(withRetryAfter({ ...systemClock, after }, request)).rejects.toMatchObject({ code });
  expect([sent, waits]).toEqual([want, Array.from({ length: want - 1 }, () => 1_000)]);
});
