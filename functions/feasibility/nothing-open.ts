import { isRejectedByQuota } from '../domain/migration.ts';
import { EVENT, KIND, REASON, SOURCE_EVENT } from '../domain/names.ts';
import type { View } from '../domain/view.ts';
import type { StepRequest } from '../eventing/step-request.ts';

/**
 * UIDs of the migrations that the event settles: one that is over, gone or not refused any more, or those of a lock which all got
 * through. undefined: it settles none.
 */
export function closedBy({
  type,
  reason,
  migrations = [],
  eventObject,
}: StepRequest): readonly string[] | undefined {
  if (type === EVENT.namespaceUnlocked && reason === REASON.admitted) return migrations.map(({ uid }) => uid);
  if (eventObject?.kind !== KIND.migration.kind || eventObject.metadata.uid === undefined) return undefined;
  const isEnded =
    type === SOURCE_EVENT.delete || (type === SOURCE_EVENT.update && !isRejectedByQuota(eventObject));
  return isEnded ? [eventObject.metadata.uid] : undefined;
}

/**
 * Whether nothing else of the namespace waits or has to be reported, as far as the guard sees. Where its view is late, its sweep looks
 * again.
 */
export const hasNothingOpen = ({ open }: View, closed: readonly string[]): boolean =>
  !open.status && open.waiting.every((uid) => closed.includes(uid));
