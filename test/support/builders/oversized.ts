import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { ListedType } from '../../../functions/kubernetes/cluster.ts';
import { asListed } from './cluster.ts';

/** Of the size of an object that nobody would make. */
export const LONG = 'x'.repeat(250 * 1024);

/** With all that a tenant may put into it and nobody reads. */
export function oversized<T extends KubernetesObject>(object: T): T {
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`theirs/${index}`, 'x']));
  const own = object.metadata;
  const more = {
    annotations: { theirs: LONG, ...own.annotations },
    labels: { ...many, ...own.labels },
    managedFields: [{ manager: 'theirs', fieldsV1: { 'f:spec': {} } }],
    finalizers: [LONG],
  };
  return { ...object, metadata: { ...own, ...more }, theirs: LONG };
}

/** What a list of this type has of them, if all of them are so. */
export const kept = <T extends KubernetesObject>(type: ListedType<T>, objects: readonly T[]): T[] =>
  asListed(type, objects.map(oversized));
