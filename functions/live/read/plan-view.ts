import type { Plan, PlanVm, VmReference } from '../../domain/live/forklift.ts';
import { accountOf } from '../run/hook-job.ts';
import type { VirtualMachine, Vmi } from '../../domain/live/kubevirt.ts';
import type { PlanView, SourceView, TargetView, VmView } from '../findings/plan-view.ts';
import { neededVolumes } from '../on-target/volumes.ts';
import { named } from '../../domain/live/reference.ts';
import { describeName } from '../run/describe.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import { inGroups } from '../../cluster/in-groups.ts';
import { LISTED_WHOLE_LIMIT_RANGES } from '../../cluster/listed.ts';
import type { ApiServer, Reader } from '../../kubernetes/cluster.ts';
import {
  HOOKS,
  NETWORK_MAPS,
  STORAGE_MAPS,
  VIRTUAL_MACHINES,
  WHOLE_CLAIMS,
  WHOLE_VMIS,
} from '../../kubernetes/live-resources.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../kubernetes/resources.ts';
import type { FoundProvider } from './providers.ts';
import { getOrUndefined, getIfServed, unlessForbidden, listIfServed } from './get.ts';
import { readClaimUsers, readVolumes } from './listed-volumes.ts';
import { macsOf, NAMED_VMS, VMS_BY_MAC } from './listed-vms.ts';
import { readMissingAccounts, type MayKnowAccount } from './missing-accounts.ts';
import { readNetworks, readStorageClasses } from './names-in.ts';
import { readDetails, type MayKnowNamed } from './plan-details.ts';
import { keyed } from './source.ts';
import { readKubeVirt, readVmmrqs } from './fit.ts';
import { orUnknown } from './unknown-cluster.ts';

/** The providers of a plan; a cluster that cannot be reached now is undefined. */
export interface PlanProviders {
  readonly source: FoundProvider | undefined;
  readonly destination: FoundProvider | undefined;
}

export const NO_PROVIDERS: PlanProviders = { source: undefined, destination: undefined };

/** What the requester of the plan may see. */
export interface Seen {
  readonly providers: PlanProviders;
  readonly maps: PlanMaps;
  /** Whether MAC addresses of VMs of the whole target are compared. */
  readonly hasMacs: boolean;
  /** Whether other VMs of the VMs' namespaces are named. */
  readonly hasNeighbours: boolean;
  /** Whether an account of a hook, in the Plan's namespace, may be known. */
  readonly mayKnowAccount: MayKnowAccount;
  /** Whether the Secrets and ConfigMaps that a VM names may be known. */
  readonly mayKnowNamed: MayKnowNamed;
}

export type PlanMaps = Pick<PlanView, 'networks' | 'storage'>;

/** Reads the objects that the plan refers to. Rejects with UnknownCluster, or if the hub does not answer. */
export async function readPlanView(plan: Plan, seen: Seen, hub: Reader): Promise<PlanView> {
  const { source, destination } = seen.providers;
  const apis = { source: source?.cluster, target: destination?.cluster };
  const [names, { hooks, missingAccounts }, sourceCluster, targetCluster] = await Promise.all([
    readNamesFor(seen.maps, apis),
    readHooks(plan, seen, hub),
    apis.source && orUnknown('source', readSourceView(plan, apis.source, seen)),
    apis.target && orUnknown('destination', readTargetView(plan, apis.target, seen)),
  ]);
  return {
    ...{ plan, source: source?.provider, destination: destination?.provider },
    ...{ ...seen.maps, ...names, hooks, missingAccounts, sourceCluster, targetCluster },
    ...(await readDetails({ plan, sourceCluster, targetCluster }, apis, seen.mayKnowNamed)),
  };
}

/** Reads the maps of the plan. */
export async function readMaps({ metadata, spec }: Plan, hub: Reader): Promise<PlanMaps> {
  const { namespace = '' } = metadata;
  const { network, storage } = (spec as Partial<Plan['spec']>).map ?? {};
  const [networks, storageMap] = await Promise.all([
    network?.name ? getOrUndefined(hub.get(NETWORK_MAPS, { namespace, ...named(network) })) : undefined,
    storage?.name ? getOrUndefined(hub.get(STORAGE_MAPS, { namespace, ...named(storage) })) : undefined,
  ]);
  return { networks, storage: storageMap };
}

async function readNamesFor(
  { networks, storage }: PlanMaps,
  apis: Parameters<typeof readStorageClasses>[0],
): Promise<Pick<PlanView, 'knownNetworks' | 'storageClasses'>> {
  const none = { source: undefined, target: undefined };
  const [knownNetworks = none, storageClasses = none] = await Promise.all([
    networks && readNetworks(networks, apis),
    storage && readStorageClasses(apis),
  ]);
  return { knownNetworks, storageClasses };
}

async function readHooks(
  plan: Plan,
  { mayKnowAccount }: Pick<Seen, 'mayKnowAccount'>,
  hub: Reader,
): Promise<Pick<PlanView, 'hooks' | 'missingAccounts'>> {
  const { namespace = '' } = plan.metadata;
  const references = plan.spec.vms.flatMap(({ hooks = [] }) => hooks).filter(({ hook }) => hook.name);
  const all = await inGroups(references, ({ hook }) =>
    getOrUndefined(hub.get(HOOKS, { namespace, ...named(hook) })),
  );
  const hooks = all.filter((hook) => hook !== undefined);
  const names = hooks.flatMap((hook) => accountOf(hook, plan) ?? []);
  return {
    hooks: new Map(
      hooks.map((hook) => [`${hook.metadata.namespace ?? ''}/${hook.metadata.name}`, hook] as const),
    ),
    missingAccounts: await readMissingAccounts({ namespace, names }, hub, mayKnowAccount),
  };
}

async function readSourceView(
  { spec }: Plan,
  cluster: ApiServer,
  { hasNeighbours }: Pick<Seen, 'hasNeighbours'>,
): Promise<SourceView> {
  const [id, kubevirt, version, vms] = await Promise.all([
    readId(cluster),
    readKubeVirt(cluster),
    cluster.version(),
    readVms(spec.vms, cluster),
  ]);
  const namespaces = vms.flatMap(({ found }) => found).map(({ metadata }) => metadata.namespace ?? '');
  const users = await readClaimUsers(cluster, [...new Set(namespaces)], hasNeighbours);
  return { cluster: id, kubevirt, version, vms, users };
}

async function readTargetView(
  { spec: { targetNamespace = '' } }: { readonly spec: Partial<Plan['spec']> },
  cluster: ApiServer,
  { hasMacs }: Pick<Seen, 'hasMacs'>,
): Promise<TargetView> {
  const isNamed = targetNamespace !== '';
  const [id, kubevirt, vms, volumes, limits, addressed] = await Promise.all([
    readId(cluster),
    readKubeVirt(cluster),
    isNamed ? listIfServed(cluster.list(NAMED_VMS, { namespace: targetNamespace })) : [],
    isNamed ? readVolumes(cluster, targetNamespace) : new Map<string, KubernetesObject>(),
    isNamed ? readLimits(targetNamespace, cluster) : NO_LIMITS,
    hasMacs ? listIfServed(cluster.list(VMS_BY_MAC, {})) : [],
  ]);
  return {
    cluster: id,
    kubevirt,
    ...limits,
    volumes,
    vms: new Map(vms.map((vm) => [vm.metadata.name, vm])),
    macs: byMac(addressed),
  };
}

function byMac(vms: readonly VirtualMachine[]): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>();
  for (const vm of vms)
    for (const mac of macsOf(vm)) {
      const known = names.get(mac) ?? [];
      names.set(mac, known);
      known.push(describeName(vm));
    }
  return names;
}

type Limits = Pick<TargetView, 'namespace' | 'quotas' | 'vmmrqs' | 'limitRanges'>;

const NO_LIMITS: Limits = { namespace: undefined, quotas: [], vmmrqs: [] };

/** Reads what may refuse pods and volumes in the namespace; and the namespace itself, where there is something. */
async function readLimits(name: string, cluster: ApiServer): Promise<Limits> {
  const [{ items: quotas }, limitRanges] = await Promise.all([
    cluster.list(RESOURCE_QUOTAS, { namespace: name }),
    // The token of a provider that was made for an earlier version may lack the right.
    unlessForbidden(cluster.list(LISTED_WHOLE_LIMIT_RANGES, { namespace: name }), undefined),
  ]);
  const known = limitRanges === undefined ? {} : { limitRanges: limitRanges.items };
  if (quotas.length === 0 && (limitRanges?.items ?? []).length === 0) return { ...NO_LIMITS, ...known };
  const namespace = await getOrUndefined(cluster.get(NAMESPACES, { name }));
  return {
    namespace,
    quotas,
    vmmrqs: namespace === undefined ? [] : await readVmmrqs(cluster, namespace),
    ...known,
  };
}

const readId = async (cluster: Reader): Promise<string> =>
  (await cluster.get(NAMESPACES, { name: 'kube-system' })).object.metadata.uid;

/** Reads the VM of each entry. VMs that are searched are listed once for all entries. */
async function readVms(entries: readonly PlanVm[], cluster: Reader): Promise<VmView[]> {
  const lists = new Map<string, Promise<readonly VirtualMachine[]>>();
  const listIn = (namespace: string): Promise<readonly VirtualMachine[]> => {
    const known =
      lists.get(namespace) ?? listIfServed(cluster.list(NAMED_VMS, namespace === '' ? {} : { namespace }));
    lists.set(namespace, known);
    return known;
  };
  return inGroups(entries, (entry) => readVm(entry, cluster, listIn));
}

type ListIn = (namespace: string) => Promise<readonly VirtualMachine[]>;

async function readVm(entry: PlanVm, cluster: Reader, listIn: ListIn): Promise<VmView> {
  const all = await findVms(entry, cluster, listIn);
  const [vm] = all;
  if (vm === undefined || all.length > 1) return { found: all, vmi: undefined, claims: new Map() };
  const { namespace = '', name } = vm.metadata;
  const names = [...new Set(neededVolumes(vm).map((volume) => volume.name))];
  const [vmi, ...claims] = await Promise.all([
    getIfServed<Vmi>(cluster.get(WHOLE_VMIS, { namespace, name })),
    ...names.map((claim) => getOrUndefined(cluster.get(WHOLE_CLAIMS, { namespace, name: claim }))),
  ]);
  return { found: all, vmi, claims: new Map(claims.flatMap((claim) => keyed(claim))) };
}

/** Enough to say that a reference is ambiguous: any number of VMs may have a name. */
const MAX_FOUND = 2;

/** Finds VMs by namespace and name if both are given; else among all VMs of the namespace, or of the cluster. */
async function findVms(
  { id, namespace = '', name }: VmReference,
  cluster: Reader,
  listIn: ListIn,
): Promise<VirtualMachine[]> {
  if (!id && !name) return [];
  if (namespace && name) {
    const vm = await getIfServed(cluster.get(VIRTUAL_MACHINES, { namespace, name }));
    return vm === undefined || (id && vm.metadata.uid !== id) ? [] : [vm];
  }
  const all = await listIn(namespace);
  const fitting = all.filter(({ metadata }) => (id ? metadata.uid === id : metadata.name === name));
  const whole = await Promise.all(
    fitting
      .slice(0, MAX_FOUND)
      .map(({ metadata }) =>
        getOrUndefined(
          cluster.get(VIRTUAL_MACHINES, { namespace: metadata.namespace ?? '', name: metadata.name }),
        ),
      ),
  );
  return whole.filter((vm) => vm !== undefined);
}
