import type { Wake } from '../eventing/wake.ts';
import { isUnderWay, wasRejectedByQuota } from '../domain/migration.ts';
import { CONDITION, KIND, SOURCE_EVENT } from '../domain/names.ts';
import type { Told, ToldOf } from '../eventing/told.ts';

type ToldMigration = ToldOf<typeof KIND.migration.kind>;

/**
 * What an event itself tells needs no look at the namespace: a migration that no quota refused and that goes on, or a
 * VMMRQ of which only our own report changed. Where that is not so any more, a later event says it; where that is lost,
 * the guard's sweep. A migration's end is always looked at: its room is somebody's.
 */
export function isIdle({ type, told }: Wake): boolean {
  if (told?.kind === KIND.migration.kind) return type !== SOURCE_EVENT.delete && goesOn(type, told);
  return told?.kind === KIND.vmmrq.kind && type === SOURCE_EVENT.update && isReported(told);
}

/** Before a quota refused it, or after others could hear that it got through. */
function goesOn(type: string, told: ToldMigration): boolean {
  if (isUnderWay(told)) return true;
  const phase = told.status?.phase;
  const isNew = type === SOURCE_EVENT.add && phase === undefined;
  return (isNew || phase === 'Pending' || phase === 'Scheduling') && !wasRejectedByQuota(told);
}

/** Unless the event tells of a migration that nothing of the kind is said of. */
export const mayHaveBeenRefused = (told: Told | undefined): boolean =>
  told?.kind !== KIND.migration.kind || wasRejectedByQuota(told);

/** Its status speaks of its newest spec. */
function isReported({ metadata: { generation }, status }: ToldOf<typeof KIND.vmmrq.kind>): boolean {
  const ready = status?.conditions?.find((condition) => condition.type === CONDITION.ready);
  return generation !== undefined && ready?.observedGeneration === generation;
}
