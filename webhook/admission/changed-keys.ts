import { ANNOTATION, OUR_KEYS } from '../../functions/domain/names.ts';
import type { AdmissionRequest } from './admission.ts';

type Change = Pick<AdmissionRequest, 'object' | 'oldObject'>;

/** Those of an object's keys that a request would set, change or remove; as hack/manifests/admission/keys.ts says in CEL. */
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

/** Of a Namespace. Anybody may remove ANNOTATION.breakGlass, but only who may override sets it. */
export const changedNamespaceKeys = (change: Change): string[] => [
  ...changedKeys(change, OUR_KEYS.namespace),
  ...(setsBreakGlass(change) ? [ANNOTATION.breakGlass] : []),
];

export function setsBreakGlass({ object, oldObject }: Change): boolean {
  const now = object?.metadata.annotations?.[ANNOTATION.breakGlass];
  return now !== undefined && now !== oldObject?.metadata.annotations?.[ANNOTATION.breakGlass];
}
