import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import type { User } from '../cluster/controlplane/start.ts';
import {
  bindRole,
  CLUSTER_ROLES,
  untilAllowed,
  type Access,
  type PolicyRule,
} from '../support/environment/roles.ts';
import type { Kind } from './tenants/plan.ts';

const ALL = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];
const vmmrqs = ['virtualmachinemigrationresourcequotas', 'virtualmachinemigrationresourcequotas/status'];

/** Resizing belongs to the editor of a namespace, KubeVirt lets its users see their VMs and migrations. */
const USERS_OF_VMS: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['pods/resize'], verbs: ['get', 'update', 'patch'] },
  {
    apiGroups: ['kubevirt.io'],
    resources: ['virtualmachineinstances', 'virtualmachineinstancemigrations'],
    verbs: ALL.slice(0, 3),
  },
];

/**
 * What a cluster with generous RBAC lets a tenant do in its own namespace. Not resourcequotas/status: a tenant that may
 * write it can exceed its quota without a migration.
 */
const GENEROUS: readonly PolicyRule[] = [
  {
    apiGroups: [''],
    resources: ['namespaces', 'namespaces/status', 'namespaces/finalize'],
    verbs: ['get', 'update', 'patch'],
  },
  { apiGroups: [''], resources: ['resourcequotas'], verbs: ALL },
  { apiGroups: ['mtq.kubevirt.io'], resources: vmmrqs, verbs: ALL },
];

const ROLES = { 'users-of-vms': USERS_OF_VMS, generous: GENEROUS } as const;

/** The user whose namespace this is. */
export const userOfTenant = (namespace: string): User => ({
  name: `${namespace}-admin`,
  groups: ['tenants'],
});

/** The roles that bindRights binds. */
export async function createRoles(admin: Cluster): Promise<void> {
  for (const [name, rules] of Object.entries(ROLES)) {
    await admin.create(CLUSTER_ROLES, { metadata: { name }, rules });
  }
}

/** Gives the namespace's user its rights in that namespace only; resolves when the API server honours them. */
export async function bindRights(admin: Cluster, namespace: string, kind: Kind): Promise<void> {
  const user = userOfTenant(namespace).name;
  const roles = ['admin', 'users-of-vms', ...(kind === 'admin' ? [] : ['generous'])];
  for (const role of roles) await bindRole(admin, { role, user, namespace });
  await untilAllowed(admin, user, { ...LAST[kind], namespace, allowed: true });
}

/** A right of the role that is bound last: once the API server allows it, all roles are in effect. */
const LAST: Readonly<Record<Kind, Access>> = {
  admin: { verb: 'patch', resource: 'pods', subresource: 'resize' },
  generous: { verb: 'patch', resource: 'resourcequotas' },
  careless: { verb: 'patch', resource: 'resourcequotas' },
};
