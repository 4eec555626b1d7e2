import type { MigrationStatus, PlanMigration } from '../../domain/live/forklift.ts';
import { moveEvent, type MoveEvent } from '../../domain/live/move-events.ts';
import { MOVE_EVENT } from '../../domain/live/names.ts';

type Events = readonly MoveEvent[];

/** Where no Broker takes events, steps are left out beyond this: what follows says them too. */
const MAX_WAITING = 50;

/** The events that no Broker has taken, oldest first. What is no event of this Migration somebody else has written: it is dropped. */
export const outboxOf = ({ status, metadata: { uid } }: PlanMigration): Events =>
  (status?.outbox ?? []).flatMap((entry) => {
    const parsed = moveEvent.safeParse(entry);
    return parsed.success && parsed.data.data.migration.uid === uid ? [parsed.data] : [];
  });

/** With those of a change. */
export const withTransitions = (waiting: Events, transitions: Events): Events =>
  [...waiting, ...transitions].filter(({ type }, index) => index < MAX_WAITING || type !== MOVE_EVENT.step);

/** The status with the events that nobody has taken; usually there are none. */
export const withOutbox = ({ outbox: _, ...status }: MigrationStatus, left: Events): MigrationStatus =>
  left.length === 0 ? status : { ...status, outbox: left };

/** Events of its run wait for a Broker. */
export const hasOutbox = ({ status }: Pick<PlanMigration, 'status'>): boolean =>
  (status?.outbox ?? []).length > 0;
