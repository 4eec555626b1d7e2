import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { ListedType, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { asListed } from '../../support/builders/cluster.ts';
import { kept } from './frozen.ts';

/** What lists answered of each version of an object, by how they trim it. */
const answered = new WeakMap<object, WeakMap<KubernetesObject, readonly KubernetesObject[]>>();

/** As asListed, of stored objects: each version is trimmed once, and readers share the frozen result. */
export function listed<T extends KubernetesObject>(
  type: ResourceType<T> | ListedType<T>,
  stored: readonly T[],
): T[] {
  const { trim } = type;
  if (trim === undefined) return [...stored];
  const known = answered.get(trim) ?? new WeakMap<KubernetesObject, readonly T[]>();
  answered.set(trim, known);
  return stored.flatMap((object) => {
    const answer = known.get(object) ?? asListed(type, [object]).map(kept);
    known.set(object, answer);
    return answer as readonly T[];
  });
}
