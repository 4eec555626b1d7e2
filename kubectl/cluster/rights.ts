import { CLUSTER_PREFIX, userOf } from '../../functions/domain/names.ts';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import type { ApiServer, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { NAMESPACES } from '../../functions/kubernetes/resources.ts';
import { PluginError } from './plugin-error.ts';
import type { Session } from './session.ts';

/** authorization.k8s.io/v1 SelfSubjectAccessReview. */
interface AccessReview extends KubernetesObject {
  spec: { resourceAttributes: Readonly<Record<string, string>> };
  status?: { allowed: boolean };
}

const REVIEWS: ResourceType<AccessReview> = {
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SelfSubjectAccessReview',
  plural: 'selfsubjectaccessreviews',
  namespaced: false,
};

/** A verb on a kind. */
export interface Right {
  readonly verb: 'create' | 'get' | 'list' | 'watch' | 'patch' | 'override' | 'impersonate';
  readonly type: Pick<ResourceType, 'apiVersion' | 'plural'>;
  /** The namespace; all namespaces, or cluster-scoped, by default. */
  readonly namespace?: string;
  /** The name of the object; every object by default. */
  readonly name?: string;
}

/** The ClusterRole of what status, explain, preflight and progress read (config/rbac). */
export const VIEWER = `${CLUSTER_PREFIX}plugin-view`;

/** Rejects with what lackOf says, where the user lacks one of these rights; one review for each, at once. */
export async function requireRights(
  cluster: ApiServer,
  rights: readonly Right[],
  role?: string,
): Promise<void> {
  const missing = await missingAmong(cluster, rights);
  if (missing.length > 0) throw lackOf(missing, role);
}

/** Returns the API server as this service account; undefined: the user may not impersonate it. */
export async function asAccount(
  { cluster, as }: Pick<Session, 'cluster' | 'as'>,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<ApiServer | undefined> {
  if (as === undefined) return undefined;
  const type = { apiVersion: 'v1', plural: 'serviceaccounts' };
  const isAllowed = await hasRight(cluster, { verb: 'impersonate', type, namespace, name });
  return isAllowed ? as(userOf(name, namespace)) : undefined;
}

/** Returns the rights that the user lacks; one review for each, at once. */
export async function missingAmong(cluster: ApiServer, rights: readonly Right[]): Promise<Right[]> {
  const isAllowed = await Promise.all(rights.map((right) => hasRight(cluster, right)));
  return rights.filter((_, index) => isAllowed[index] !== true);
}

/** The error that lists the missing rights, and how to get them. `role`: the ClusterRole that has them; left out: none. */
export function lackOf(missing: readonly Right[], role?: string): PluginError {
  const lacked = ['you lack these rights:', ...new Set(missing.map(describe))].join('\n  ');
  return new PluginError(
    `${lacked}\n${role === undefined ? 'a cluster-admin has them' : howToBind(missing, role)}`,
  );
}

/** How to bind the role: in one namespace, if all that is missing is there. */
function howToBind(missing: readonly Right[], role: string): string {
  const [first, ...others] = new Set(missing.map(({ namespace }) => namespace));
  const binding =
    first === undefined || others.length > 0
      ? `clusterrolebinding ${role}`
      : `rolebinding ${role} --namespace=${first}`;
  return (
    `a cluster-admin gives them by the ClusterRole ${role}:\n` +
    `  kubectl create ${binding} --clusterrole=${role} --user=USER`
  );
}

/** Whether the user has the right, by a SelfSubjectAccessReview. */
export async function hasRight(cluster: ApiServer, { verb, type, namespace, name }: Right): Promise<boolean> {
  const { object } = await cluster.create(REVIEWS, {
    // A review is stored nowhere, and must not have a name.
    metadata: { name: '' },
    spec: {
      resourceAttributes: {
        verb,
        group: groupOf(type),
        resource: type.plural,
        ...(namespace === undefined ? {} : { namespace }),
        ...(name === undefined ? {} : { name }),
      },
    },
  });
  return object.status?.allowed === true;
}

const groupOf = ({ apiVersion }: Right['type']): string =>
  apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '';

/** Describes the right as in `kubectl auth can-i`. */
function describe({ verb, type, namespace, name }: Right): string {
  const group = groupOf(type);
  const resource = group === '' ? type.plural : `${type.plural}.${group}`;
  const where =
    namespace === undefined || type.plural === NAMESPACES.plural ? '' : ` in namespace ${namespace}`;
  return `${verb} ${resource}${name === undefined ? '' : `/${name}`}${where}`;
}
