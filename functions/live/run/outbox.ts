import type { MigrationStatus, PlanMigration } from '../../domain/live/forklift.ts';
import { moveEvent, type MoveEvent } from '../../domain/live/move-events.ts';
import { MOVE_EVENT } from '../../domain/live/names.ts';

type Events = readonly MoveEvent[];

/** The number of events beyond which steps are left out while no Broker takes events: later events say the same. */
const MAX_WAITING = 50;

/**
 * The events that no Broker has taken, oldest first. An entry that is no event of this Migration was written by another writer, and is
 * dropped.
 */
export const outboxOf = ({ status, metadata: { uid } }: PlanMigration): Events =>
  (status?.outbox ?? []).flatMap((entry) => {
    const parsed = moveEvent.safeParse(entry);
    return parsed.success && parsed.data.data.migration.uid === uid ? [parsed.data] : [];
  });

/** Returns the waiting events with those of a change. */
export const withTransitions = (waiting: Events, transitions: Events): Events =>
  [...waiting, ...transitions].filter(({ type }, index) => index < MAX_WAITING || type !== MOVE_EVENT.step);

/** Returns the status with the events that no Broker has taken; usually there are none. */
export const withOutbox = ({ outbox: _, ...status }: MigrationStatus, left: Events): MigrationStatus =>
  left.length === 0 ? status : { ...status, outbox: left };

/** Whether events of the run wait for a Broker. */
export const hasOutbox = ({ status }: Pick<PlanMigration, 'status'>): boolean =>
  (status?.outbox ?? []).length > 0;
