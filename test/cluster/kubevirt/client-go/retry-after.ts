import { ApiError } from '../../../../functions/kubernetes/errors.ts';
import { pause, type Clock } from '../../../../functions/runtime/clock.ts';

const MAX_RETRIES = 10;

/**
 * Sends a request as client-go does: after a 429 or a 5xx with Retry-After it waits and sends the request again, up to ten times. Its
 * caller waits meanwhile (client-go rest/with_retry.go, IsNextRetry and checkWait).
 */
export async function withRetryAfter<T>(clock: Clock, request: () => Promise<T>): Promise<T> {
  for (let retries = 0; ; retries += 1) {
    try {
      return await request();
    } catch (error) {
      const seconds = retryAfterSecondsOf(error);
      if (seconds === undefined || retries === MAX_RETRIES) throw error;
      await pause(clock, seconds * 1_000);
    }
  }
}

/** The API server sends the Status's retryAfterSeconds as Retry-After (apiserver, responsewriters ErrorNegotiated). */
function retryAfterSecondsOf(error: unknown): number | undefined {
  if (!(error instanceof ApiError) || (error.code !== 429 && error.code < 500)) return undefined;
  return error.status.details?.retryAfterSeconds;
}
