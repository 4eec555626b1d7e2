import { nextStatus } from './next-status.ts';
import { openingOf, type Opening } from './opening.ts';
import type { Maintenance } from '../domain/progress/maintenance.ts';
import { isOpen, type MaintenanceProgress } from '../domain/progress/progress-object.ts';
import { isSame } from '../domain/same.ts';

/** The one write that a change needs. */
export type ProgressDecision =
  | { readonly kind: 'open'; readonly opening: Opening; readonly message: string }
  /** PUT of the status, with the events of the transition in its outbox. */
  | { readonly kind: 'write'; readonly object: MaintenanceProgress; readonly message: string }
  | { readonly kind: 'none'; readonly message: string };

/**
 * What to write by what the guard sees. The guard decides by it too, so that it posts nothing where nothing is to be written.
 * `now`: milliseconds.
 */
export function decide(seen: Maintenance, now: number): ProgressDecision {
  const opening = openingOf(seen);
  if (opening !== undefined && !isListing(seen.current)) {
    const { spec, name } = opening;
    return { kind: 'open', opening, message: `${spec.kind} of ${spec.subject} has begun: ${name}` };
  }
  if (seen.current === undefined) return { kind: 'none', message: 'no drain or upgrade is under way' };
  return decideFor(seen.current, seen, now);
}

/** A drain that was canceled and is begun again lists what still migrated then: first it gives that up. */
const isListing = (current: MaintenanceProgress | undefined): boolean =>
  current !== undefined && !isOpen(current) && (current.status?.buckets ?? []).length > 0;

/** The same for this object, whatever the guard's own is. */
export function decideFor(
  object: MaintenanceProgress,
  seen: Maintenance,
  now: number,
): Exclude<ProgressDecision, { kind: 'open' }> {
  const { name } = object.metadata;
  const status = nextStatus(object, seen, now);
  if (isSame(status, object.status)) return { kind: 'none', message: `${name} is up to date` };
  return { kind: 'write', object: { ...object, status }, message: `${name}: ${status.message}` };
}
