import { shown } from '../domain/foreign-text.ts';
import { MAINTENANCE_EVENT, type MaintenanceEventType } from '../domain/progress/names.ts';
import type {
  MaintenanceKind,
  MaintenanceProgress,
  OutboxEntry,
  ProgressState,
  ProgressStatus,
} from '../domain/progress/progress-object.ts';

/** What happened to a drain or an upgrade. */
export type Happened = 'started' | 'progressed' | 'blocked' | 'unblocked' | Lowercase<FinalState>;
type FinalState = Exclude<ProgressState, 'Running' | 'Blocked'>;

const TYPE: Readonly<Record<MaintenanceKind, Partial<Record<Happened, MaintenanceEventType>>>> = {
  Drain: {
    started: MAINTENANCE_EVENT.drainStarted,
    progressed: MAINTENANCE_EVENT.drainProgressed,
    blocked: MAINTENANCE_EVENT.drainBlocked,
    unblocked: MAINTENANCE_EVENT.drainUnblocked,
    completed: MAINTENANCE_EVENT.drainCompleted,
    canceled: MAINTENANCE_EVENT.drainCanceled,
    failed: MAINTENANCE_EVENT.drainFailed,
  },
  Upgrade: {
    started: MAINTENANCE_EVENT.upgradeStarted,
    progressed: MAINTENANCE_EVENT.upgradeProgressed,
    blocked: MAINTENANCE_EVENT.upgradeBlocked,
    unblocked: MAINTENANCE_EVENT.upgradeUnblocked,
    completed: MAINTENANCE_EVENT.upgradeCompleted,
    superseded: MAINTENANCE_EVENT.upgradeSuperseded,
    failed: MAINTENANCE_EVENT.upgradeFailed,
  },
};

/**
 * Maximum number of waiting events. Beyond it, where no Broker takes events, repeated ones are left out. They take no number,
 * so the sequence has no gap.
 */
const MAX_WAITING = 50;

/** Maximum length of an event's message (event-data.ts). */
export const MAX_MESSAGE = 2_000;

/** Whether one more that repeats may wait. */
export const hasRoomFor = ({ outbox }: Pick<ProgressStatus, 'outbox'>): boolean =>
  outbox.length < MAX_WAITING;

/** The status with an event for each thing that happened. An id is made of the uid and a number, so it is never another event's. */
export function withEvents(
  { metadata: { name, uid }, spec: { kind, subject } }: MaintenanceProgress,
  status: ProgressStatus,
  { happened, time }: { readonly happened: readonly Happened[]; readonly time: string },
): ProgressStatus {
  const { reason, total, done, left, blocked, buckets } = status;
  const message = shown(status.message, MAX_MESSAGE);
  const entries = happened.flatMap((what, index): OutboxEntry[] => {
    const type = TYPE[kind][what];
    if (type === undefined) return [];
    const sequence = status.sequence + index + 1;
    const data = {
      ...{ name, uid, kind, subject, reason, message, total, done, left, blocked },
      buckets: Object.fromEntries(buckets.map((bucket) => [bucket.name, bucket.count])),
    };
    return [{ id: `${uid}-${String(sequence)}`, type, sequence, time, data }];
  });
  return { ...status, sequence: status.sequence + entries.length, outbox: [...status.outbox, ...entries] };
}
