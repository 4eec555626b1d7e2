import { isRejectedByQuota } from '../domain/migration.ts';
import { ANNOTATION, KIND, SOURCE_EVENT } from '../domain/names.ts';
import type { StepRequest } from '../eventing/step-request.ts';

/**
 * The nudge that the event may be about: an update of a migration that a quota still refuses, which never changes KubeVirt's
 * condition (facts/kubevirt.md §1.3). undefined: none. Without this each nudge of N migrations would cause N assessments, and
 * where the quotas change all the time, N × N more nudges.
 */
export function nudgeIn({ type, eventObject }: StepRequest): string | undefined {
  if (type !== SOURCE_EVENT.update || eventObject?.kind !== KIND.migration.kind) return undefined;
  const value = eventObject.metadata.annotations?.[ANNOTATION.nudged];
  if (value === undefined || !isRejectedByQuota(eventObject)) return undefined;
  return `nudge ${eventObject.metadata.uid ?? ''} ${value}`;
}
