import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { ListedType } from '../../../functions/kubernetes/cluster.ts';
import { asListed } from './cluster.ts';

/** A text of the size of an absurdly large object. */
export const LONG = 'x'.repeat(250 * 1024);

/** An object with large fields that a tenant may set and no process reads. */
export function oversized<T extends KubernetesObject>(object: T): T {
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`theirs/${index}`, 'x']));
  const own = object.metadata;
  const more = {
    annotations: { theirs: LONG, ...own.annotations },
    labels: { ...many, ...own.labels },
    managedFields: [{ manager: 'theirs', fieldsV1: { 'f:spec': {} } }],
    finalizers: [...(own.finalizers ?? []), LONG],
  };
  return { ...object, metadata: { ...own, ...more }, theirs: LONG };
}

/** A list of this type in which every object is oversized. */
export const kept = <T extends KubernetesObject>(type: ListedType<T>, objects: readonly T[]): T[] =>
  asListed(type, objects.map(oversized));
