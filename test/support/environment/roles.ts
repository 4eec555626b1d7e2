import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { Cluster, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { askUntil } from '../eventually.ts';

/** rbac.authorization.k8s.io/v1 PolicyRule. */
export interface PolicyRule {
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

export interface Role extends KubernetesObject {
  rules: readonly PolicyRule[];
}

export interface RoleBinding extends KubernetesObject {
  roleRef: { apiGroup: string; kind: string; name: string };
  subjects: readonly { kind: string; name: string; namespace?: string; apiGroup?: string }[];
}

const RBAC = 'rbac.authorization.k8s.io';
const rbac = { apiVersion: `${RBAC}/v1` };

export const CLUSTER_ROLES: ResourceType<Role> = {
  ...rbac,
  kind: 'ClusterRole',
  plural: 'clusterroles',
  namespaced: false,
};
export const CLUSTER_ROLE_BINDINGS: ResourceType<RoleBinding> = {
  ...rbac,
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
  namespaced: false,
};
export const ROLE_BINDINGS: ResourceType<RoleBinding> = {
  ...rbac,
  kind: 'RoleBinding',
  plural: 'rolebindings',
  namespaced: true,
};

export interface Bound {
  /** Name of the ClusterRole and of its binding. */
  readonly role: string;
  readonly user: string;
  /** Rules of a new role; left out: the role exists. */
  readonly rules?: readonly PolicyRule[];
  /** Only in this namespace. */
  readonly namespace?: string;
}

/** Gives a user a role, which takes effect a moment later (see untilAllowed). */
export async function bindRole(admin: Cluster, { role, user, rules, namespace }: Bound): Promise<void> {
  if (rules !== undefined) await admin.create(CLUSTER_ROLES, { metadata: { name: role }, rules });
  const binding = {
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: role },
    subjects: [{ kind: 'User', name: user, apiGroup: RBAC }],
  };
  if (namespace === undefined)
    await admin.create(CLUSTER_ROLE_BINDINGS, { metadata: { name: role }, ...binding });
  else await admin.create(ROLE_BINDINGS, { metadata: { name: role, namespace }, ...binding });
}

interface AccessReview extends KubernetesObject {
  spec: { user: string; groups?: readonly string[]; resourceAttributes: Access };
  status?: { allowed: boolean };
}

export interface Access {
  readonly verb: string;
  readonly group?: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly namespace?: string;
}

const ACCESS_REVIEWS: ResourceType<AccessReview> = {
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
  namespaced: false,
};

/** Resolves when the API server allows the user's request, or (allowed false) no longer does. */
export async function untilAllowed(
  admin: Cluster,
  user: string,
  { allowed, ...access }: Access & { readonly allowed: boolean },
): Promise<void> {
  const ask = async (): Promise<boolean> => {
    const review = { metadata: { name: '' }, spec: { user, resourceAttributes: access } };
    return (await admin.create(ACCESS_REVIEWS, review)).object.status?.allowed === true;
  };
  await askUntil(
    `${user} may ${access.verb} ${access.resource}: ${allowed}`,
    ask,
    (answer) => answer === allowed,
  );
}
