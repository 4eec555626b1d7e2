import type { StepRequest } from '../eventing/step-request.ts';
import { isUnderWay, wasRejectedByQuota } from '../domain/migration.ts';
import { CONDITION, KIND, SOURCE_EVENT } from '../domain/names.ts';
import type { EventObject, EventObjectOf } from '../eventing/event-object.ts';

type MigrationObject = EventObjectOf<typeof KIND.migration.kind>;

/**
 * What an event itself tells needs no look at the namespace: a migration that no quota refused and that goes on, or a
 * VMMRQ of which only our own report changed. Where that is not so any more, a later event says it; where that is lost,
 * the guard's sweep. A migration's end is always looked at: its room is somebody's.
 */
export function canSkip({ type, eventObject }: StepRequest): boolean {
  if (eventObject?.kind === KIND.migration.kind)
    return type !== SOURCE_EVENT.delete && isUnaffected(type, eventObject);
  return eventObject?.kind === KIND.vmmrq.kind && type === SOURCE_EVENT.update && isReported(eventObject);
}

/** Before a quota refused it, or after others could hear that it got through. */
function isUnaffected(type: string, eventObject: MigrationObject): boolean {
  if (isUnderWay(eventObject)) return true;
  const phase = eventObject.status?.phase;
  const isNew = type === SOURCE_EVENT.add && phase === undefined;
  return (isNew || phase === 'Pending' || phase === 'Scheduling') && !wasRejectedByQuota(eventObject);
}

/** Unless the event tells of a migration that nothing of the kind is said of. */
export const mayHaveBeenRefused = (eventObject: EventObject | undefined): boolean =>
  eventObject?.kind !== KIND.migration.kind || wasRejectedByQuota(eventObject);

/** Its status speaks of its newest spec. */
function isReported({ metadata: { generation }, status }: EventObjectOf<typeof KIND.vmmrq.kind>): boolean {
  const ready = status?.conditions?.find((condition) => condition.type === CONDITION.ready);
  return generation !== undefined && ready?.observedGeneration === generation;
}
