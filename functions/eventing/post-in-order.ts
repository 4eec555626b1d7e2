import { describeError } from '../kubernetes/errors.ts';
import type { Log } from '../runtime/log.ts';
import type { PostedEvent } from './posted-event.ts';

interface Poster {
  readonly post: (event: PostedEvent) => Promise<void>;
  readonly log: Log;
}

/**
 * Posts events for subscribers in this order, until one is not taken: nothing waits for subscribers. Resolves with what is left, to be
 * posted later with the same ids.
 */
export async function postInOrder<T extends Extract<PostedEvent, { id: string }>>(
  events: readonly T[],
  { post, log }: Poster,
): Promise<readonly T[]> {
  for (const [index, event] of events.entries()) {
    try {
      await post(event);
    } catch (error) {
      log('warn', `not posted: ${describeError(error)}`, { event: event.type, eventId: event.id });
      return events.slice(index);
    }
  }
  return [];
}
