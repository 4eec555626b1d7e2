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

/**
 * The changed keys of a Namespace. A new one may have ANNOTATION.lastAttempt. Every user may remove ANNOTATION.breakGlass; only users
 * with the break-glass right may set it.
 */
export const changedNamespaceKeys = (change: Change): string[] => [
  ...changedKeys(change, OUR_KEYS.namespace).filter(
    (key) => change.oldObject !== null || key !== ANNOTATION.lastAttempt,
  ),
  ...(setsBreakGlass(change) ? [ANNOTATION.breakGlass] : []),
];

export function setsBreakGlass({ object, oldObject }: Change): boolean {
  const now = object?.metadata.annotations?.[ANNOTATION.breakGlass];
  return now !== undefined && now !== oldObject?.metadata.annotations?.[ANNOTATION.breakGlass];
}
