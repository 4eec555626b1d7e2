import type { Wake } from '../domain/events.ts';
import { CONDITION, KIND, KUBEVIRT, SOURCE_EVENT } from '../domain/names.ts';
import type { Told, ToldOf } from '../domain/told.ts';

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

/** Before anything is known of it, or on its way: a quota that refused it is said by its condition until it has started. */
function goesOn(type: string, told: ToldMigration): boolean {
  const phase = told.status?.phase ?? '';
  if (phase === '') return type === SOURCE_EVENT.add && !wasRefused(told);
  return phase !== 'Succeeded' && phase !== 'Failed' && !wasRefused(told);
}

/** By a quota, as far as is still said of it: the condition outlives the refusal (facts/kubevirt.md §1.3). */
const wasRefused = ({ status }: ToldMigration): boolean =>
  (status?.conditions ?? []).some(
    (condition) => condition.type === KUBEVIRT.rejectedByQuota && condition.status === 'True',
  );

/** Unless the event tells of a migration that nothing of the kind is said of. */
export const mayHaveBeenRefused = (told: Told | undefined): boolean =>
  told?.kind !== KIND.migration.kind || wasRefused(told);

/** Its status speaks of its newest spec. */
function isReported({ metadata: { generation }, status }: ToldOf<typeof KIND.vmmrq.kind>): boolean {
  const ready = status?.conditions?.find((condition) => condition.type === CONDITION.ready);
  return generation !== undefined && ready?.observedGeneration === generation;
}
