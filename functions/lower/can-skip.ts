import type { StepRequest } from '../eventing/step-request.ts';
import { grantIn, type Grant } from '../domain/quota/grant.ts';
import { isCharged, isInUse, isUndone } from '../domain/quota/raise.ts';
import { ANNOTATION, EVENT, KIND, SOURCE_EVENT, sourceOf } from '../domain/names.ts';
import type { ResourceQuota } from '../domain/objects.ts';
import type { EventObjectOf } from '../eventing/event-object.ts';
import { isForAttachment } from './decide-seen.ts';

/**
 * Whether the event alone shows that there is nothing to lower: `raise` has just raised, the quota shows a raise that is in
 * effect and not in use, or a migration goes long after its end. A later event of the quota shows more. If that is lost, the guard
 * repeats it.
 */
export function canSkip({ type, source, eventObject }: StepRequest): boolean {
  if (type === EVENT.quotaRaised) return source === BY_RAISE;
  if (type === SOURCE_EVENT.delete)
    return eventObject?.kind === KIND.migration.kind && isEndedMigration(eventObject);
  if (eventObject?.kind !== KIND.quota.kind) return false;
  const grant = grantOfEvent(eventObject);
  const quota = { spec: { hard: eventObject.spec.hard ?? {} }, status: statusOfEvent(eventObject) };
  if (grant === undefined || isForAttachment(eventObject)) return false;
  return ![isUndone, isCharged, isInUse].some((holds) => holds(quota, grant));
}

/** Whether the migration got through: KubeVirt deletes all but the last five of each VM. */
const isEndedMigration = ({ status }: EventObjectOf<typeof KIND.migration.kind>): boolean =>
  status?.phase === 'Succeeded';

const BY_RAISE = sourceOf('raise');

type QuotaObject = EventObjectOf<typeof KIND.quota.kind>;

function grantOfEvent({ metadata }: QuotaObject): Grant | undefined {
  const text = metadata.annotations?.[ANNOTATION.grant];
  const state = text === undefined ? undefined : grantIn(text);
  return state?.kind === 'held' ? state.grant : undefined;
}

const statusOfEvent = ({ status }: QuotaObject): NonNullable<ResourceQuota['status']> => ({
  hard: status?.hard ?? {},
  used: status?.used ?? {},
});
