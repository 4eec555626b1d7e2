import {
  isOpen,
  owesEvents,
  type MaintenanceProgress,
} from '../../functions/domain/progress/progress-object.ts';

/** Final objects of each kind that stay. */
const KEPT = 10;
/** Minimum age of a final object that is deleted, counted from its end; milliseconds. */
const KEPT_MS = 3_600_000;

/**
 * The final objects that may be deleted: the oldest beyond ten of each kind, after an hour, and only when all their events are posted.
 * `now`: milliseconds.
 */
export function expiredAmong(all: readonly MaintenanceProgress[], now: number): MaintenanceProgress[] {
  const final = all.filter((each) => !isOpen(each)).toSorted(byEnd);
  return [...Map.groupBy(final, ({ spec }) => spec.kind).values()]
    .flatMap((each) => each.slice(KEPT))
    .filter((each) => !owesEvents(each) && now - endOf(each) >= KEPT_MS)
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined);
}

const endOf = ({ metadata, status }: MaintenanceProgress): number =>
  Date.parse(status?.endedAt ?? metadata.creationTimestamp);

/** Sorts the newest to the start. */
const byEnd = (one: MaintenanceProgress, other: MaintenanceProgress): number => endOf(other) - endOf(one);
