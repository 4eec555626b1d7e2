import { isPending, isRejectedByQuota } from '../domain/migration.ts';
import { EVENT, KIND, REASON, SOURCE_EVENT } from '../domain/names.ts';
import type { View } from '../domain/view.ts';
import type { StepRequest } from '../eventing/step-request.ts';
import type { StepContext } from '../host/step.ts';

/**
 * UIDs of the migrations that the event settles: one that ended, was deleted or is no longer refused, or all of a lock whose
 * migrations got through. undefined: none.
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
 * Whether a look while the namespace is locked only finds the lock: a migration's event, or the guard's. The end of a lock makes this step look
 * again. Not that end itself, because the view may still have the lock then, and nothing that a user or `lock` says.
 */
export const waitsForUnlock = ({ type, eventObject }: StepRequest): boolean =>
  eventObject?.kind === KIND.migration.kind || type === EVENT.resyncRequested;

/** Whether a run that waits for headroom already does what the event asks for: one more migration is through, or a slot is free. */
export const mayJoinWait = (request: StepRequest): boolean =>
  request.type === EVENT.resyncRequested || successIn(request) !== undefined;

/** UID of the migration that the event shows as succeeded. */
export const successIn = ({ type, eventObject }: StepRequest): string | undefined =>
  type === SOURCE_EVENT.update &&
  eventObject?.kind === KIND.migration.kind &&
  eventObject.status?.phase === 'Succeeded'
    ? eventObject.metadata.uid
    : undefined;

/** How long KubeVirt may take to write that a migration goes on, milliseconds. */
const LATE_MS = 1_000;
const admitted = (uid: string): string => `admitted ${uid}`;

/** Notes the migrations that the lock has let through, if the event is its end. */
export function noteAdmitted(
  { type, reason, migrations = [] }: StepRequest,
  { sinceFirst }: Pick<StepContext, 'sinceFirst'>,
): void {
  if (type === EVENT.namespaceUnlocked && reason === REASON.admitted)
    for (const { uid } of migrations) sinceFirst(admitted(uid));
}

/** Whether the event is of a migration that its lock has let through a moment ago: KubeVirt still shows the refusal from before. */
export function isLate(
  { type, eventObject }: StepRequest,
  { sinceAsked }: Pick<StepContext, 'sinceAsked'>,
): boolean {
  const { uid } = eventObject?.kind === KIND.migration.kind ? eventObject.metadata : {};
  if (type !== SOURCE_EVENT.update || uid === undefined) return false;
  return (sinceAsked(admitted(uid)) ?? Infinity) < LATE_MS;
}

/**
 * Whether no other migration of the namespace waits and no status report is due, as far as the guard sees. With a VMMRQ each one in
 * Pending may wait: no condition reports an attachment pod that a quota refuses. If its view is late, its resync looks again.
 */
export const hasNothingOpen = ({ open, migrations, served }: View, closed: readonly string[]): boolean =>
  !open.status &&
  migrations?.every(
    (each) => closed.includes(each.metadata.uid) || !(served ? isPending(each) : isRejectedByQuota(each)),
  ) === true;
