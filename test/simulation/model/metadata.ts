import type { KubernetesObject, ObjectMeta } from '../../../functions/domain/objects.ts';
import { isNewGeneration } from './kinds.ts';

/** With what a deletion that waits says (metav1.ObjectMeta). */
export interface StoredMeta extends ObjectMeta {
  deletionGracePeriodSeconds?: number;
}

/** A time as metadata has it: whole seconds. */
export const timestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** Empty maps and lists are left out, as the API server leaves them out. */
export function normalised<T extends KubernetesObject>(object: T): T {
  const { labels, annotations, finalizers, ownerReferences, ...rest } = object.metadata;
  const metadata = {
    ...rest,
    ...(isEmpty(labels) ? {} : { labels }),
    ...(isEmpty(annotations) ? {} : { annotations }),
    ...(isEmpty(finalizers) ? {} : { finalizers }),
    ...(isEmpty(ownerReferences) ? {} : { ownerReferences }),
  };
  return { ...object, metadata };
}

const isEmpty = (value: object | undefined): boolean =>
  value === undefined || Object.keys(value).length === 0;

/** A new object's metadata: what only the server may set. (A generation may be given, where the kind counts none.) */
export function metadataOfNew(
  given: Partial<ObjectMeta>,
  own: Pick<ObjectMeta, 'name' | 'uid' | 'creationTimestamp'>,
): ObjectMeta {
  const { resourceVersion: _, deletionTimestamp: __, ...rest } = given;
  return { ...rest, ...own, resourceVersion: '' };
}

/**
 * What an update cannot change stays as it was (registry/rest/update.go, BeforeUpdate), and the generation is counted.
 * The resourceVersion is the former's: whether the client said another one has been looked at before.
 */
export function withFormerMetadata<T extends KubernetesObject>(next: T, former: KubernetesObject): T {
  const old: StoredMeta = former.metadata;
  const generation = isNewGeneration(former.kind ?? '', next, former)
    ? (old.generation ?? 0) + 1
    : old.generation;
  const metadata: Partial<StoredMeta> = {
    ...next.metadata,
    uid: old.uid,
    resourceVersion: old.resourceVersion,
    creationTimestamp: old.creationTimestamp,
  };
  for (const [key, value] of [
    ['generation', generation],
    ['deletionTimestamp', old.deletionTimestamp],
    ['deletionGracePeriodSeconds', old.deletionGracePeriodSeconds],
  ] as const) {
    if (value === undefined) Reflect.deleteProperty(metadata, key);
    else Object.assign(metadata, { [key]: value });
  }
  return { ...next, metadata };
}

/** Whether nothing keeps an object any more that is being deleted (registry/generic: ShouldDeleteDuringUpdate). */
export function isFinalized(object: KubernetesObject & { spec?: unknown }): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] }: StoredMeta = object.metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds > 0 || finalizers.length > 0)
    return false;
  if (object.kind !== 'Namespace') return true;
  return ((object.spec as { finalizers?: string[] } | undefined)?.finalizers ?? []).length === 0;
}
