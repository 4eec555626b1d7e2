import { lockOf } from '../../functions/domain/lock.ts';
import { ANNOTATION, OUR_KEYS } from '../../functions/domain/names.ts';
import type { AdmissionRequest } from './admission.ts';

type Change = Pick<AdmissionRequest, 'object' | 'oldObject'>;

/** The keys among `keys` that a request would set, change or remove; hack/manifests/admission/keys.ts is the same in CEL. */
export function changedKeys(
  { object, oldObject }: Change,
  { annotations, labels }: (typeof OUR_KEYS)[keyof typeof OUR_KEYS],
): string[] {
  const [now, before] = [object?.metadata, oldObject?.metadata];
  return [
    ...annotations.filter((key) => now?.annotations?.[key] !== before?.annotations?.[key]),
    ...labels.filter((key) => now?.labels?.[key] !== before?.labels?.[key]),
  ];
}

/** Whether the stored Namespace has a lock, which may be unreadable. */
export const isLocked = ({ oldObject }: Change): boolean =>
  oldObject !== null && lockOf(oldObject).kind !== 'none';

/**
 * The changed keys of a Namespace. A new one may have ANNOTATION.lastAttempt. Every user may remove ANNOTATION.breakGlass, and our other
 * keys where there is no lock; only users with the break-glass right may set it.
 */
export function changedNamespaceKeys(change: Change): string[] {
  const { object, oldObject } = change;
  const { annotations, labels } = object?.metadata ?? {};
  const isLeft = (key: string): boolean => annotations?.[key] !== undefined || labels?.[key] !== undefined;
  return [
    ...changedKeys(change, OUR_KEYS.namespace).filter(
      (key) => (oldObject !== null || key !== ANNOTATION.lastAttempt) && (isLeft(key) || isLocked(change)),
    ),
    ...(setsBreakGlass(change) ? [ANNOTATION.breakGlass] : []),
  ];
}

export function setsBreakGlass({ object, oldObject }: Change): boolean {
  const now = object?.metadata.annotations?.[ANNOTATION.breakGlass];
  return now !== undefined && now !== oldObject?.metadata.annotations?.[ANNOTATION.breakGlass];
}
