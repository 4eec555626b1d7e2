import { waitingOf, withOutbox } from '../domain/live/outbox.ts';
import type { PlanMigration } from '../domain/live/forklift.ts';
import type { MoveEvent } from '../domain/live/move-events.ts';
import { describeError } from '../kubernetes/errors.ts';
import { PLAN_MIGRATIONS } from '../kubernetes/live-resources.ts';
import { putStatus } from './check.ts';
import type { LiveContext } from './context.ts';

/**
 * Posts these in order, until one is not taken: a run does not wait for its subscribers. Resolves with what is left, to be written into
 * the status and posted by a later run, with the same ids.
 */
export async function deliver(
  events: readonly MoveEvent[],
  { post, log }: Pick<LiveContext, 'post' | 'log'>,
): Promise<readonly MoveEvent[]> {
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

/** The events that a run has left over after its end. */
export async function deliverRest(migration: PlanMigration, context: LiveContext): Promise<void> {
  const { status = {} } = migration;
  const left = await deliver(waitingOf(migration), context);
  await putStatus(context.hub, PLAN_MIGRATIONS, { object: migration, status: withOutbox(status, left) });
}
