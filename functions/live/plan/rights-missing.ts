import { inGroups } from '../../cluster/in-groups.ts';
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

/** Rights that a refusal names. A Plan may name VMs of 200 namespaces, and any user may ask whether it may run. */
const MAX_MISSING = 10;

/**
 * Returns rights that the user lacks, each once: all, or the first twenty or so. A right to every object of a kind is reviewed first if there
 * are several: most users have it, and a plan may name 200 VMs.
 */
export async function missingRights(
  cluster: Pick<Cluster, 'create'>,
  requester: Requester,
  rights: readonly Right[],
): Promise<Right[]> {
  const has = (right: Right): Promise<boolean> => isAllowed(cluster, requester, right);
  const groups = Map.groupBy(eachOnce(rights), ({ verb, group, resource, namespace }) =>
    [verb, group, resource, namespace].join(' '),
  );
  const unknown = await inGroups([...groups.values()], async (named) => {
    const every = rightToEvery(named);
    return every !== undefined && (await has(every)) ? [] : named;
  });
  const missing = new Set<Right>();
  await inGroups(unknown.flat(), async (right) => {
    if (missing.size < MAX_MISSING && !(await has(right))) missing.add(right);
  });
  return unknown.flat().filter((right) => missing.has(right));
}

/** Returns the right to every object of the kind, of rights that differ in their names; undefined if there is only one. */
function rightToEvery([first, ...others]: readonly Right[]): Right | undefined {
  if (first === undefined || others.length === 0) return undefined;
  const { name: _, ...every } = first;
  return every;
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
