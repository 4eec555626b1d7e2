import type { StepRequest } from '../eventing/step-request.ts';
import { isUnderWay, wasRejectedByQuota } from '../domain/migration.ts';
import { CONDITION, KIND, SOURCE_EVENT } from '../domain/names.ts';
import type { EventObject, EventObjectOf } from '../eventing/event-object.ts';

type MigrationObject = EventObjectOf<typeof KIND.migration.kind>;

/**
 * Whether the event alone shows that the namespace needs no assessment: a migration that no quota refused and that goes on, or
 * a VMMRQ of which only our status report changed. If that changes, a later event or the guard's resync runs feasibility
 * again. A migration's end is never skipped: another migration may wait for its headroom.
 */
export function canSkip({ type, eventObject }: StepRequest): boolean {
  if (eventObject?.kind === KIND.migration.kind)
    return type !== SOURCE_EVENT.delete && isUnaffected(type, eventObject);
  return eventObject?.kind === KIND.vmmrq.kind && type === SOURCE_EVENT.update && isReported(eventObject);
}

/** No quota has refused it yet, or an earlier event already reported that it got its pod. */
function isUnaffected(type: string, eventObject: MigrationObject): boolean {
  if (isUnderWay(eventObject)) return true;
  const phase = eventObject.status?.phase;
  const isNew = type === SOURCE_EVENT.add && phase === undefined;
  return (isNew || phase === 'Pending' || phase === 'Scheduling') && !wasRejectedByQuota(eventObject);
}

/** Returns false only for a migration whose event object shows no refusal by a quota. */
export const mayHaveBeenRefused = (eventObject: EventObject | undefined): boolean =>
  eventObject?.kind !== KIND.migration.kind || wasRejectedByQuota(eventObject);

/** Whether the Ready condition is of the newest spec, so that only our report changed. */
function isReported({ metadata: { generation }, status }: EventObjectOf<typeof KIND.vmmrq.kind>): boolean {
  const ready = status?.conditions?.find((condition) => condition.type === CONDITION.ready);
  return generation !== undefined && ready?.observedGeneration === generation;
}
