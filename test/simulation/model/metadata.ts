import type { KubernetesObject, ObjectMeta } from '../../../functions/domain/objects.ts';
import { isNewGeneration } from './kinds.ts';

/** With the fields of a pending deletion (metav1.ObjectMeta). */
export interface StoredMeta extends ObjectMeta {
  deletionGracePeriodSeconds?: number;
}

/** A time as in metadata: whole seconds. */
export const timestamp = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/** Leaves out empty maps and lists, as the API server does. */
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

/** Sets the server's fields in a new object's metadata. (A kind without generations keeps a given one.) */
export function metadataOfNew(
  given: Partial<ObjectMeta>,
  own: Pick<ObjectMeta, 'name' | 'uid' | 'creationTimestamp'>,
): ObjectMeta {
  const { resourceVersion: _, deletionTimestamp: __, ...rest } = given;
  return { ...rest, ...own, resourceVersion: '' };
}

/**
 * Keeps the fields that an update cannot change (registry/rest/update.go, BeforeUpdate), and counts the generation.
 * The resourceVersion is that of the stored object: the caller has already compared it with the client's.
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

/** Whether an object that is being deleted can go now (registry/generic: ShouldDeleteDuringUpdate). */
export function isFinalized(object: KubernetesObject & { spec?: unknown }): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] }: StoredMeta = object.metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds > 0 || finalizers.length > 0)
    return false;
  if (object.kind !== 'Namespace') return true;
  return ((object.spec as { finalizers?: string[] } | undefined)?.finalizers ?? []).length === 0;
}
