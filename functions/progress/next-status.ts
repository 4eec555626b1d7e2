import { count, type Counts } from './counts.ts';
import { endingOf, withoutNewNode, type Ending } from './ending.ts';
import type { Maintenance } from '../domain/progress/maintenance.ts';
import { MAINTENANCE_REASON } from '../domain/progress/names.ts';
import { hasRoomFor, withEvents, type Happened } from './outbox.ts';
import {
  countOf,
  hasMoved,
  isOpen,
  type MaintenanceProgress,
  type ProgressStatus,
} from '../domain/progress/progress-object.ts';
import { openStatus } from './open-status.ts';

/** `progressed` is posted after so many parts of ten, or after so long (milliseconds). */
const EVERY = { tenths: 1, ms: 60_000 } as const;
/** `blocked` is posted again after so long: the API server forgets the Event on the Node after an hour (--event-ttl). */
const BLOCKED_AGAIN_MS = 45 * 60_000;

/**
 * The status that an object must have by what the guard sees now, with an event for each transition in its outbox. The same
 * observation gives the same status again. `now`: milliseconds.
 */
export function nextStatus(object: MaintenanceProgress, watched: Maintenance, now: number): ProgressStatus {
  const { status: before } = object;
  const seen = withoutNewNode(object, watched);
  if (before !== undefined && !isOpen(object)) return { ...before, buckets: stillThere(before, seen) };
  const time = new Date(now).toISOString();
  const known = before ?? begunAt(time, seen);
  const counts = count(known.counted, seen.left, seen.moved);
  const open = {
    ...nextOpenStatus(known, seen, counts),
    ...movedAt(before, seen, { counts, time }),
    ...deployedAt(before, seen, time),
  };
  const ending = endingOf(object.spec, seen, counts);
  const started: readonly Happened[] = before === undefined ? ['started'] : [];
  if (ending !== undefined) {
    const happened = [...started, ending.state.toLowerCase() as Lowercase<Ending['state']>];
    return withEvents(object, endedStatus({ ...open, ...ending, endedAt: time }, seen), { happened, time });
  }
  const isDue = hasProgressed(known.reported, counts, now) && hasRoomFor(open);
  const blocked = blockedOrNot(before, open, now);
  const happened = [...started, ...blocked, ...(isDue ? (['progressed'] as const) : [])];
  const reported = isDue || blocked.includes('blocked') ? { done: counts.done, at: time } : known.reported;
  return withEvents(object, { ...open, reported }, { happened, time });
}

/** What a status remembers, in an object that has none. */
const NEW = { counted: '', sequence: 0, outbox: [] };
type Known = Pick<ProgressStatus, 'counted' | 'sequence' | 'outbox' | 'startedAt' | 'reported'>;

/** The begin is reported by `started`, with the VMs that had left by then. */
const begunAt = (time: string, { left, moved }: Maintenance): Known => ({
  ...NEW,
  startedAt: time,
  reported: { done: count(NEW.counted, left, moved).done, at: time },
});

const nextOpenStatus = (
  { startedAt, reported, sequence, outbox }: Known,
  seen: Maintenance,
  counts: Counts,
): ProgressStatus => ({
  ...openStatus(seen, counts),
  progress: `${String(counts.done)}/${String(counts.total)}`,
  ...counts,
  buckets: seen.buckets,
  ...{ startedAt, reported, sequence, outbox },
});

/** Time of a VM's last migration: a write where that ends, and none while it lasts. */
function movedAt(
  before: ProgressStatus | undefined,
  { buckets }: Maintenance,
  { counts, time }: { readonly counts: Counts; readonly time: string },
): Pick<ProgressStatus, 'movedAt'> {
  const isOver = before !== undefined && countOf(buckets, 'running') === 0 && hasMoved(before, counts.left);
  if (isOver) return { movedAt: time };
  return before?.movedAt === undefined ? {} : { movedAt: before.movedAt };
}

/** Time when KubeVirt's own components were seen to be updated. */
function deployedAt(
  before: ProgressStatus | undefined,
  { kubevirt }: Maintenance,
  time: string,
): Pick<ProgressStatus, 'deployedAt'> {
  const { observed, target } = kubevirt ?? {};
  if (observed === undefined || observed !== target) return {};
  return { deployedAt: before?.deployedAt ?? time };
}

const endedStatus = (ended: ProgressStatus, seen: Maintenance): ProgressStatus => ({
  ...ended,
  blocked: 0,
  counted: '',
  buckets: stillThere(ended, seen),
});

const isRunning = ({ name }: { readonly name: string }): boolean => name === 'running';

/**
 * What a drain that has ended without its VMs still lists, until that ends or the node is drained again: a canceled one what still
 * migrates, and one whose node is gone every VM on it, because no other report has their migrations: of a node that was replaced,
 * the new one's has them once that is drained. Nothing else of a final object changes.
 */
function stillThere(
  { state, reason, buckets: listed }: ProgressStatus,
  { node, buckets }: Maintenance,
): ProgressStatus['buckets'] {
  if (listed.length === 0) return [];
  if (node?.isDraining === true) return [];
  if (reason === MAINTENANCE_REASON.nodeGone) return buckets;
  return state === 'Canceled' ? buckets.filter(isRunning) : [];
}

/** Returns `blocked` again where another reason is the first one, or nothing was posted for long. */
function blockedOrNot(
  before: ProgressStatus | undefined,
  next: ProgressStatus,
  now: number,
): readonly ('blocked' | 'unblocked')[] {
  if (next.state !== 'Blocked') return before?.state === 'Blocked' ? ['unblocked'] : [];
  if (before?.state !== 'Blocked' || before.reason !== next.reason) return ['blocked'];
  const isOld = now - Date.parse(before.reported.at) >= BLOCKED_AGAIN_MS;
  return isOld && hasRoomFor(next) ? ['blocked'] : [];
}

function hasProgressed(reported: ProgressStatus['reported'], { done, total }: Counts, now: number): boolean {
  if (done <= reported.done) return false;
  const isMuch = (done - reported.done) * 10 >= total * EVERY.tenths;
  return isMuch || now - Date.parse(reported.at) >= EVERY.ms;
}
