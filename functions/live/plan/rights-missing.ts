import type { Requester } from '../../domain/live/requester.ts';
import { eachOnce, type Right } from './rights-needed.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { Cluster, ResourceType } from '../../kubernetes/cluster.ts';

/** authorization.k8s.io/v1 SubjectAccessReview. */
interface AccessReview extends KubernetesObject {
  spec: Requester & { resourceAttributes: Right };
  status?: { allowed: boolean };
}

const REVIEWS: ResourceType<AccessReview> = {
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
  namespaced: false,
};

/**
 * Returns the rights that the user lacks, each once. A right to every object of a kind is reviewed first if there are several: most users have it, and
 * a plan may name 200 VMs.
 */
export async function missingRights(
  cluster: Pick<Cluster, 'create'>,
  requester: Requester,
  rights: readonly Right[],
): Promise<Right[]> {
  const has = (right: Right): Promise<boolean> => isAllowed(cluster, requester, right);
  const groups = Object.values(
    Object.groupBy(eachOnce(rights), ({ verb, group, resource, namespace }) =>
      [verb, group, resource, namespace].join(' '),
    ),
  );
  const missing = await Promise.all(groups.map((group = []) => missingOf(group, has)));
  return missing.flat();
}

/** Returns the missing ones of rights that differ in their names. */
async function missingOf(
  rights: readonly Right[],
  has: (right: Right) => Promise<boolean>,
): Promise<readonly Right[]> {
  const [first] = rights;
  if (first === undefined) return [];
  const { name: _, ...every } = first;
  if (rights.length > 1 && (await has(every))) return [];
  const allowed = await Promise.all(rights.map(has));
  return rights.filter((_right, index) => allowed[index] !== true);
}

async function isAllowed(
  cluster: Pick<Cluster, 'create'>,
  requester: Requester,
  resourceAttributes: Right,
): Promise<boolean> {
  // A review is stored nowhere, and must not have a name.
  const metadata = { name: '' };
  const { object } = await cluster.create(REVIEWS, { metadata, spec: { ...requester, resourceAttributes } });
  return object.status?.allowed === true;
}
