import type {
  NamedReference,
  NetworkMap,
  Plan,
  Provider,
  ProviderPair,
  StorageMap,
  VmReference,
} from '../../domain/live/forklift.ts';
import { KIND } from '../../domain/names.ts';
import type { NewObject } from '../run/decision.ts';
import { FORKLIFT_KIND, LIVE_KIND } from '../../domain/live/names.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { mappedNetworks } from '../findings/maps.ts';
import { isClusterWide, resourcesOf } from '../on-target/resources.ts';
import { named } from '../../domain/live/reference.ts';
import type { KubernetesObject } from '../../domain/objects.ts';

/** A verb on a kind, as in a SubjectAccessReview. */
export interface Right {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  /** The object; every object if left out. */
  readonly name?: string;
}

type Kind = { readonly apiVersion: string; readonly kind: string };

const rightTo = (verb: string, { apiVersion, kind }: Kind, at: Pick<Right, 'namespace' | 'name'>): Right => ({
  verb,
  group: apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '',
  resource: `${kind.toLowerCase()}s`,
  ...at,
});

/** The right to read the plan: a user must have it to run the plan. */
export const rightToRead = (at: Required<NamedReference>): Right => rightTo('get', FORKLIFT_KIND.plan, at);

/**
 * The right to use a provider: its user acts with its token there. An admin gives this right for migrations to other clusters, in place of
 * KubeVirt's role `kubevirt.io:migrate`: no right to create VMIMs is needed.
 */
export const rightToUse = (at: Required<NamedReference>): Right => rightTo('use', FORKLIFT_KIND.provider, at);

/** A Plan or a map. Forklift's CRDs let any part of a spec be left out. */
type WithProviders = Pick<Plan | NetworkMap | StorageMap, 'metadata'> & {
  readonly spec: { readonly provider?: Partial<ProviderPair> };
};

/** Rights to use both providers of a plan or a map, each once. */
export const rightsToUse = ({ spec: { provider = {} }, metadata }: WithProviders): Right[] =>
  eachOnce(placed([provider.source, provider.destination], metadata).map(rightToUse));

/** Rights that the requester of a plan needs before anything of it is read: to use its providers, and to read its maps and hooks. */
export function rightsToCheck(plan: Plan): Right[] {
  const { metadata } = plan;
  const { map, vms = [] } = plan.spec as Partial<Plan['spec']>;
  const hooks = vms.flatMap((vm) => vm.hooks ?? []).map(({ hook }) => hook);
  return eachOnce([
    ...rightsToUse(plan),
    ...placed([map?.network], metadata).map((at) => rightTo('get', FORKLIFT_KIND.networkMap, at)),
    ...placed([map?.storage], metadata).map((at) => rightTo('get', FORKLIFT_KIND.storageMap, at)),
    ...placed(hooks, metadata).map((at) => rightTo('get', FORKLIFT_KIND.hook, at)),
  ]);
}

/** Returns the references that have a name. One without a namespace is to an object of the same namespace. */
const placed = (
  references: readonly (NamedReference | undefined)[],
  { namespace = '' }: KubernetesObject['metadata'],
): Required<NamedReference>[] =>
  references.flatMap((one) => (one?.name ? [{ namespace, ...named(one) }] : []));

/**
 * Rights to read what a check shows of the plan's own cluster. In another cluster the token of its provider decides. Who may create VMs and
 * their disks in the target namespace meets its quotas anyway.
 */
export function rightsToLook({ spec }: Plan, { isSource, isTarget }: Hosts): Right[] {
  const { targetNamespace = '', vms = [] } = spec as Partial<Plan['spec']>;
  return [
    ...(isSource ? vms.flatMap(rightsToFind) : []),
    ...(isTarget && targetNamespace !== '' ? rightsToFill(targetNamespace) : []),
  ];
}

/** The right to list VMs of all namespaces. */
export const RIGHT_TO_LIST_VMS: Right = rightTo('list', LIVE_KIND.vm, { namespace: '' });

/** Rights to find the VM of an entry: it is searched where its reference leaves open which one it is. */
function rightsToFind({ id, namespace, name }: VmReference): Right[] {
  if (!id && !name) return [];
  if (!namespace) return [RIGHT_TO_LIST_VMS];
  return [rightTo(name ? 'get' : 'list', LIVE_KIND.vm, { namespace, ...(name && { name }) })];
}

/** Rights to know the other VMs of the VMs' namespaces. Those of an entry without a namespace are known already. */
export const rightsToNeighbours = ({ spec: { vms } }: Plan): Right[] =>
  eachOnce(vms.flatMap(({ namespace }) => (namespace ? [rightTo('list', LIVE_KIND.vm, { namespace })] : [])));

/** Rights to read the networks that a map names in its own cluster. */
export function rightsToNetworks(map: NetworkMap, { isSource, isTarget }: Hosts): Right[] {
  const targets = map.spec.map.filter(({ destination }) => destination.type === 'multus');
  const networks = [
    ...(isSource ? mappedNetworks(map) : []),
    ...(isTarget
      ? targets.map(({ destination: { namespace = '', name = '' } }) => `${namespace}/${name}`)
      : []),
  ];
  return eachOnce(
    networks.flatMap((network) => {
      const [namespace = '', name = ''] = network.split('/');
      return namespace === '' || name === '' ? [] : [{ ...TO_NETWORK, namespace, name }];
    }),
  );
}

/** Rights to know of the storage classes that a map names in its own cluster. */
export const rightsToStorageClasses = (
  { spec: { map } }: StorageMap,
  { isSource, isTarget }: Hosts,
): Right[] =>
  eachOnce(
    [
      ...(isSource ? map.map(({ source }) => source.name ?? '') : []),
      ...(isTarget ? map.map(({ destination }) => destination.storageClass) : []),
    ]
      .filter((name) => name !== '')
      .map((name) => ({ ...TO_STORAGE_CLASS, name })),
  );

const TO_STORAGE_CLASS = { verb: 'get', group: 'storage.k8s.io', resource: 'storageclasses', namespace: '' };

const TO_NETWORK = { verb: 'get', group: 'k8s.cni.cncf.io', resource: 'network-attachment-definitions' };

/**
 * Rights to connect to the cluster of a provider of this namespace. The provider lets its users act with the token of its Secret, so its
 * requester must be allowed to read that. `live` checks before it connects whether the Secret is labelled for this, and has the same URL: it
 * may read the Secret.
 */
export function rightsToConnect({ spec }: Pick<Provider, 'spec'>, namespace: string): Right[] {
  const { type, url, secret } = spec;
  if (type !== 'openshift' || !url || !secret?.name) return [];
  return [rightTo('get', LIVE_KIND.secret, { namespace, name: secret.name })];
}

export interface Hosts {
  /** Whether the VMs leave the cluster of the plan. */
  readonly isSource: boolean;
  /** Whether the VMs move to the cluster of the plan. */
  readonly isTarget: boolean;
}

/**
 * Rights to the actions of a run in the cluster of its plan. `live` may do them for any user, so the user must be allowed to do them too.
 */
export function rightsToMove({ spec, metadata }: Plan, { isSource, isTarget }: Hosts): Right[] {
  const { namespace = '' } = metadata;
  const hooks = spec.vms.flatMap((vm) => vm.hooks ?? []).map(({ hook }) => ({ namespace, ...named(hook) }));
  return [
    ...(isSource ? spec.vms.flatMap(rightsToTake) : []),
    ...(isTarget ? rightsToFill(spec.targetNamespace) : []),
    ...(hooks.length > 0 ? [rightToRun({ metadata })] : []),
    ...hooks.map((hook) => rightTo('get', FORKLIFT_KIND.hook, hook)),
  ];
}

/** Rights to make VMs and their disks in a target namespace. */
export const rightsToFill = (namespace: string): Right[] =>
  MADE.map((kind) => rightTo('create', kind, { namespace }));

/** The right that the requester of a hook needs: a pod in the namespace of the plan runs what the hook says. */
export const rightToRun = ({ metadata: { namespace = '' } }: Pick<Plan, 'metadata'>): Right =>
  rightTo('create', POD, { namespace });

/** The right to know of a ServiceAccount that a hook names. */
export const rightToReadAccount = (at: Required<NamedReference>): Right =>
  rightTo('get', SERVICE_ACCOUNT, at);

const POD: Kind = { apiVersion: 'v1', kind: 'Pod' };
const SERVICE_ACCOUNT: Kind = { apiVersion: 'v1', kind: 'ServiceAccount' };
const MADE: readonly Kind[] = [LIVE_KIND.vm, LIVE_KIND.dataVolume, LIVE_KIND.claim];

/** Rights on a VM that leaves: the run reads and halts it, and deletes its VMI. A reference with an id only may mean any VM. */
export const rightsToTake = ({ namespace = '', name }: NamedReference): Right[] =>
  ['get', 'update', 'delete'].map((verb) =>
    rightTo(verb, LIVE_KIND.vm, { namespace, ...(name === undefined ? {} : { name }) }),
  );

/**
 * Rights to copy the objects that a VM of the plan's cluster names; they are known when the VM is read, at the start of its run. The right
 * for an instance type is to read the copied object: the ControllerRevision, if there is one.
 */
export const rightsToCopy = (vm: VirtualMachine): Right[] =>
  resourcesOf(vm)
    .filter((each) => !isClusterWide(each))
    .map(({ name, revision, ...kind }) => {
      const { namespace = '' } = vm.metadata;
      return revision === undefined
        ? rightTo('get', kind, { namespace, name })
        : rightTo('get', LIVE_KIND.revision, { namespace, name: revision });
    });

/** Rights to make the objects that VMs name in their target namespace, in the plan's cluster. */
export const rightsToMake = (vms: readonly VirtualMachine[], namespace: string): Right[] => {
  const kinds = vms.flatMap(resourcesOf).filter((each) => !isClusterWide(each));
  return [...new Map(kinds.map((each) => [each.kind, each])).values()].map((kind) =>
    rightTo('create', kind, { namespace }),
  );
};

/** Rights to make these objects, each kind once. A VMIM needs none: it moves nothing without the other objects. */
export const rightsToCreate = (objects: readonly NewObject[]): Right[] =>
  eachOnce(
    objects
      .filter(({ kind }) => kind !== KIND.migration.kind)
      .map(({ apiVersion = '', kind = '', metadata: { namespace = '' } }) =>
        rightTo('create', { apiVersion, kind }, { namespace }),
      ),
  );

/** The right to make the target namespace in the plan's cluster. */
export const RIGHT_TO_MAKE_NAMESPACE: Right = rightTo('create', LIVE_KIND.namespace, { namespace: '' });

/** Returns the rights without repetitions. */
export const eachOnce = (rights: readonly Right[]): Right[] => [
  ...new Map(rights.map((right) => [describeRight(right), right])).values(),
];

/** Describes the right as `kubectl auth can-i` does. */
export function describeRight({ verb, group, resource, namespace, name }: Right): string {
  const of = `${resource}${group === '' ? '' : `.${group}`}${name === undefined ? '' : `/${name}`}`;
  if (resource === 'namespaces') return `${verb} ${of}`;
  return `${verb} ${of} ${namespace === '' ? 'in all namespaces' : `in namespace ${namespace}`}`;
}

/** Describes the rights that the user lacks. */
export const describeMissingRights = (user: string, missing: readonly Right[]): string =>
  `User "${user}" cannot ${missing.map(describeRight).join(', ')}.`;
