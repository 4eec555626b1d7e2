import type { MigrationStatus, PlanMigration } from '../../domain/live/forklift.ts';
import { moveEvent, type MoveEvent } from '../../domain/live/move-events.ts';
import { timeOf } from './deadlines.ts';
import { MOVE_EVENT } from '../../domain/live/names.ts';

type Events = readonly MoveEvent[];

/** The number of events beyond which steps are left out while no Broker takes events: later events say the same. */
const MAX_WAITING = 50;

/**
 * Returns the events that are not posted yet, oldest first. An entry that is no event of this Migration was written by another writer, and is
 * dropped.
 */
export const outboxOf = ({ status, metadata: { uid } }: PlanMigration): Events =>
  (status?.outbox ?? []).flatMap((entry) => {
    const parsed = moveEvent.safeParse(entry);
    return parsed.success && parsed.data.data.migration.uid === uid ? [parsed.data] : [];
  });

/** Milliseconds within which the call that wrote an event posts it, unless it was stopped. */
const POSTING_MS = 10_000;

/** Returns the events that wait: `overdue` for a Broker, or because their call was stopped; `fresh` for the call that has written them. */
export function waitingIn(
  migration: PlanMigration,
  now: number,
): Readonly<Record<'overdue' | 'fresh', Events>> {
  const isOverdue = ({ time }: MoveEvent): boolean => now - timeOf(time) >= POSTING_MS;
  const { overdue = [], fresh = [] } = Object.groupBy(outboxOf(migration), (event) =>
    isOverdue(event) ? 'overdue' : 'fresh',
  );
  return { overdue, fresh };
}

/** Returns the waiting events with those of a change. */
export const withTransitions = (waiting: Events, transitions: Events): Events =>
  [...waiting, ...transitions].filter(({ type }, index) => index < MAX_WAITING || type !== MOVE_EVENT.step);

/** Returns the status with the events that are not posted yet; usually there are none. */
export const withOutbox = ({ outbox: _, ...status }: MigrationStatus, left: Events): MigrationStatus =>
  left.length === 0 ? status : { ...status, outbox: left };

/** Whether events of the run are not posted yet. */
export const hasOutbox = ({ status }: Pick<PlanMigration, 'status'>): boolean =>
  (status?.outbox ?? []).length > 0;
