import type { KubernetesObject, Node } from '../../functions/domain/objects.ts';
import type {
  Address,
  ApiServer,
  ListedType,
  Reader,
  ReadList,
  ResourceType,
  Selection,
} from '../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../functions/kubernetes/errors.ts';
import {
  CLUSTER_VMMRQS,
  KUBEVIRTS,
  MIGRATIONS,
  MTQS,
  NAMESPACES,
  NODES,
  VMIS,
  VMMRQS,
  WEBHOOK_CONFIGURATIONS,
} from '../../functions/kubernetes/resources.ts';
import { lackOf, missingAmong, VIEWER, type Right } from './rights.ts';

/** What a user sees of the cluster. */
export interface Sight {
  readonly reader: Reader;
  /** What the user may not read, each with what an answer takes in its place; empty: everything was read. */
  readonly unseen: readonly string[];
}

type Kind = Pick<ResourceType, 'apiVersion' | 'plural'>;

/**
 * Kinds that ClusterRole `view` in a namespace does not show, or not of other namespaces, with what an answer about it takes instead.
 */
const UNSEEN: readonly (readonly [Kind, string?])[] = [
  [CLUSTER_VMMRQS, 'cluster-wide VMMRQs, which may give more'],
  [MIGRATIONS, "migrations of other namespaces, which may have KubeVirt's slots"],
  [KUBEVIRTS, "KubeVirt's configuration: its defaults are taken"],
  [NODES, 'nodes: one that an evacuation leaves is taken to be drained'],
  [MTQS, 'whether kubevirt/managed-tenant-quota is installed: taken not to be'],
  [WEBHOOK_CONFIGURATIONS],
  [NAMESPACES],
  [VMMRQS],
  [VMIS],
];

/** Whether an answer about a namespace needs the kind's objects of that namespace. KubeVirt objects are namespaced too. */
const isOwn = (type: Kind): boolean => [MIGRATIONS, VMMRQS, VMIS].some((kind) => isKind(type, kind));

/**
 * What the user sees for an answer that needs these rights. With all of them it is the cluster; an answer about one namespace goes on
 * without what only the cluster's admins see. Rejects with a PluginError where the namespace's own objects are not to be read either,
 * or for all namespaces.
 */
export async function sightOf(
  cluster: ApiServer,
  rights: readonly Right[],
  namespace: string | undefined,
): Promise<Sight> {
  const missing = await missingAmong(cluster, rights);
  if (missing.length === 0) return { reader: cluster, unseen: [] };
  if (namespace === undefined) throw lackOf(missing, VIEWER);
  const instead = await missingAmong(
    cluster,
    missing.flatMap((right) => within(right, namespace)),
  );
  if (instead.length > 0) throw lackOf(instead, VIEWER);
  const isMissing = (kind: Kind): boolean => missing.some(({ type }) => isKind(type, kind));
  const unseen = UNSEEN.filter(([kind]) => isMissing(kind));
  return {
    reader: narrowed(cluster, namespace, isMissing),
    unseen: unseen.flatMap(([, text]) => text ?? []),
  };
}

const isKind = (one: Kind, other: Kind): boolean =>
  one.plural === other.plural && one.apiVersion === other.apiVersion;

/** The rights that stand for it in the namespace; none for a kind that an answer does without. */
function within(right: Right, namespace: string): Right[] {
  const { type } = right;
  if (isKind(type, NAMESPACES)) return [{ verb: 'get', type, namespace, name: namespace }];
  const isKnown = UNSEEN.some(([kind]) => isKind(type, kind));
  return isKnown && !isOwn(type) ? [] : [{ ...right, namespace }];
}

/** Reads of the namespace alone; a kind that is not to be seen is one that the cluster does not have. */
function narrowed(cluster: Reader, namespace: string, isUnseen: (kind: Kind) => boolean): Reader {
  return {
    get: async <T extends KubernetesObject>(type: ResourceType<T>, at: Address) => {
      if (!isKind(type, NODES) || !isUnseen(type)) return cluster.get(type, at);
      return { object: drainedNode(at.name) as KubernetesObject as T, date: new Date() };
    },
    list: async (type, where, options) => {
      if (!isUnseen(type) || where.namespace !== undefined) return cluster.list(type, where, options);
      if (isOwn(type)) return cluster.list(type, { ...where, namespace }, options);
      if (!isKind(type, NAMESPACES)) throw notFound(type);
      return onlyNamespace(cluster, type, { ...where, namespace });
    },
  };
}

/** The answer for programs. */
export const withUnseen = (answer: object, unseen: Sight['unseen']): object =>
  unseen.length === 0 ? answer : { ...answer, unseen };

/** The lines under an answer for people. */
export const unseenLines = (unseen: Sight['unseen']): string[] =>
  unseen.length === 0 ? [] : ['', 'Not seen, for lack of rights:', ...unseen.map((text) => `  ${text}`)];

const notFound = ({ plural }: Kind): ApiError =>
  new ApiError(`list ${plural}`, { code: 404, reason: 'NotFound' }, new Date());

const drainedNode = (name: string): Node => ({
  metadata: { name, uid: '', resourceVersion: '', creationTimestamp: '' },
  spec: { unschedulable: true },
});

/** The list of namespaces with this one alone, if it has the label; a role in a namespace allows no list of them. */
async function onlyNamespace<T extends KubernetesObject>(
  cluster: Reader,
  type: ResourceType<T> | ListedType<T>,
  { namespace = '', labelSelector }: Selection,
): Promise<ReadList<T>> {
  const { object, date } = await cluster.get<T>({ ...type, trim: undefined }, { name: namespace });
  const isSelected = labelSelector === undefined || labelSelector in (object.metadata.labels ?? {});
  const { resourceVersion } = object.metadata;
  return { items: isSelected ? [object] : [], resourceVersion, date };
}
