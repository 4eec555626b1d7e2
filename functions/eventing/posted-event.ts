import type { MaintenanceChanged, OurEvent } from '../domain/events.ts';
import type { MoveEvent } from '../domain/live/move-events.ts';
import type { OutboxEntry } from '../domain/progress/progress-object.ts';

/** What our processes post. The last two are for subscribers, and have their ids already. */
export type PostedEvent = OurEvent | MaintenanceChanged | OutboxEntry | MoveEvent;
