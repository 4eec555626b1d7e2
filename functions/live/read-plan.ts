import { has } from '../domain/live/conditions.ts';
import type { Plan, PlanVm, VmReference } from '../domain/live/forklift.ts';
import type { VirtualMachine, Vmi } from '../domain/live/kubevirt.ts';
import type { PlanView, SourceView, TargetView, VmSize, VmView } from '../domain/live/plan-view.ts';
import { runningPodsOf } from '../domain/live/target-quota.ts';
import { neededVolumes } from '../domain/live/volumes.ts';
import { KUBEVIRT } from '../domain/names.ts';
import { LIVE_CONDITION } from '../domain/live/names.ts';
import { keepsState } from '../domain/sizing/claims.ts';
import { LISTED_CLAIMS, LISTED_PODS } from '../cluster/listed.ts';
import { PODS_OF_VMS } from '../cluster/snapshot.ts';
import type { ApiServer, ListedType, Reader } from '../kubernetes/cluster.ts';
import { describeError } from '../kubernetes/errors.ts';
import {
  HOOKS,
  NETWORK_MAPS,
  STORAGE_MAPS,
  VIRTUAL_MACHINES,
  WHOLE_CLAIMS,
  WHOLE_VMIS,
} from '../kubernetes/live-resources.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../kubernetes/resources.ts';
import type { FoundProvider } from './connect.ts';
import { found, foundIfServed, listedIfServed } from './found.ts';
import { keyed } from './read-source.ts';
import { readKubeVirt, readVmmrqs } from './read-target.ts';

/** The providers of a plan; a cluster that cannot be asked now is undefined. */
export interface PlanProviders {
  readonly source: FoundProvider | undefined;
  readonly destination: FoundProvider | undefined;
}

/** A cluster that can be asked refused something, or broke off: nothing can be said about the plan. */
export class UnknownCluster extends Error {
  override readonly name = 'UnknownCluster';
  readonly side: 'source' | 'destination';

  constructor(side: 'source' | 'destination', cause: unknown) {
    super(describeError(cause), { cause });
    this.side = side;
  }
}

const orUnknown = async <T>(side: 'source' | 'destination', read: Promise<T>): Promise<T> =>
  read.catch((error: unknown) => {
    throw new UnknownCluster(side, error);
  });

/** What the plan refers to. Rejects with UnknownCluster, or where the hub does not answer. */
export async function readPlanView(
  plan: Plan,
  { source, destination }: PlanProviders,
  hub: Reader,
): Promise<PlanView> {
  const [maps, hooks, sourceCluster, targetCluster] = await Promise.all([
    readMaps(plan, hub),
    readHooks(plan, hub),
    source?.cluster && orUnknown('source', readSourceView(plan, source.cluster)),
    destination?.cluster && orUnknown('destination', readTargetView(plan, destination.cluster)),
  ]);
  return {
    ...{ plan, source: source?.provider, destination: destination?.provider },
    ...{ ...maps, hooks, sourceCluster, targetCluster },
    sizes: await readSizes(targetCluster, sourceCluster, source?.cluster),
  };
}

async function readMaps(
  { metadata, spec }: Plan,
  hub: Reader,
): Promise<Pick<PlanView, 'networks' | 'storage'>> {
  const { namespace = '' } = metadata;
  const { network, storage } = (spec as Partial<Plan['spec']>).map ?? {};
  const [networks, storageMap] = await Promise.all([
    network?.name ? found(hub.get(NETWORK_MAPS, { namespace, ...named(network) })) : undefined,
    storage?.name ? found(hub.get(STORAGE_MAPS, { namespace, ...named(storage) })) : undefined,
  ]);
  return { networks, storage: storageMap };
}

/** Without an empty namespace. */
export const named = ({
  namespace,
  name = '',
}: {
  readonly namespace?: string;
  readonly name?: string;
}): {
  readonly name: string;
  readonly namespace?: string;
} => (namespace ? { namespace, name } : { name });

async function readHooks({ metadata, spec }: Plan, hub: Reader): Promise<PlanView['hooks']> {
  const { namespace = '' } = metadata;
  const references = spec.vms.flatMap(({ hooks = [] }) => hooks).filter(({ hook }) => hook.name);
  const hooks = await Promise.all(
    references.map(({ hook }) => found(hub.get(HOOKS, { namespace, ...named(hook) }))),
  );
  return new Map(
    hooks.flatMap((hook) =>
      hook === undefined ? [] : [[`${hook.metadata.namespace ?? ''}/${hook.metadata.name}`, hook] as const],
    ),
  );
}

async function readSourceView({ spec }: Plan, cluster: ApiServer): Promise<SourceView> {
  const [id, kubevirt, version, vms] = await Promise.all([
    readId(cluster),
    readKubeVirt(cluster),
    cluster.version(),
    Promise.all(spec.vms.map((entry) => readVm(entry, cluster))),
  ]);
  return { cluster: id, kubevirt, version, vms };
}

async function readTargetView(
  {
    spec: { targetNamespace = '' },
    status,
  }: { readonly spec: Partial<Plan['spec']>; readonly status?: Plan['status'] },
  cluster: ApiServer,
): Promise<TargetView> {
  const where = { namespace: targetNamespace };
  const isNamed = targetNamespace !== '';
  // Its VMs are not looked at while they move.
  const isQuotaAsked = isNamed && !has(status, LIVE_CONDITION.executing);
  const [id, kubevirt, vms, quotas, addressed] = await Promise.all([
    readId(cluster),
    readKubeVirt(cluster),
    isNamed ? listedIfServed(cluster.list(NAMED_VMS, where)) : [],
    isQuotaAsked ? cluster.list(RESOURCE_QUOTAS, where) : { items: [] },
    listedIfServed(cluster.list(VMS_BY_MAC, {})),
  ]);
  const namespace =
    quotas.items.length === 0 ? undefined : await found(cluster.get(NAMESPACES, { name: targetNamespace }));
  return {
    cluster: id,
    kubevirt,
    namespace,
    quotas: quotas.items,
    vmmrqs: namespace === undefined ? [] : await readVmmrqs(cluster, namespace),
    vms: new Map(vms.map((vm) => [vm.metadata.name, vm])),
    macs: new Map(
      addressed.flatMap((vm) =>
        macsOf(vm).map((mac) => [mac, `${vm.metadata.namespace ?? ''}/${vm.metadata.name}`] as const),
      ),
    ),
  };
}

const readId = async (cluster: Reader): Promise<string> =>
  (await cluster.get(NAMESPACES, { name: 'kube-system' })).object.metadata.uid;

async function readVm(entry: PlanVm, cluster: Reader): Promise<VmView> {
  const all = await findVms(entry, cluster);
  const [vm] = all;
  if (vm === undefined || all.length > 1) return { found: all, vmi: undefined, claims: new Map() };
  const { namespace = '', name } = vm.metadata;
  const names = [...new Set(neededVolumes(vm).map((volume) => volume.name))];
  const [vmi, ...claims] = await Promise.all([
    foundIfServed<Vmi>(cluster.get(WHOLE_VMIS, { namespace, name })),
    ...names.map((claim) => found(cluster.get(WHOLE_CLAIMS, { namespace, name: claim }))),
  ]);
  return { found: all, vmi, claims: new Map(claims.flatMap((claim) => keyed(claim))) };
}

/** Of the VMs that run; of none where the target namespace has no quota. */
async function readSizes(
  target: TargetView | undefined,
  source: SourceView | undefined,
  cluster: Reader | undefined,
): Promise<PlanView['sizes']> {
  const isQuoted = target !== undefined && target.quotas.length > 0;
  if (!isQuoted || source === undefined || cluster === undefined) return new Map();
  return orUnknown('source', sizesOf(source.vms, cluster));
}

async function sizesOf(vms: readonly VmView[], cluster: Reader): Promise<PlanView['sizes']> {
  const running = vms.flatMap(({ found: [vm], vmi }) =>
    vm === undefined || vmi === undefined ? [] : [{ uid: vm.metadata.uid, vmi }],
  );
  const namespaces = [...new Set(running.map(({ vmi }) => vmi.metadata.namespace ?? ''))];
  const pods = await Promise.all(
    namespaces.map((namespace) => cluster.list(LISTED_PODS, { namespace, labelSelector: PODS_OF_VMS })),
  );
  const podsIn = new Map(namespaces.map((namespace, index) => [namespace, pods[index]?.items ?? []]));
  const sizes = running.map(async ({ uid, vmi }) => {
    const { namespace = '' } = vmi.metadata;
    const size: VmSize = {
      pods: runningPodsOf(vmi, podsIn.get(namespace) ?? []),
      state: await readState(vmi, cluster),
    };
    return [uid, size] as const;
  });
  return new Map(await Promise.all(sizes));
}

/** KubeVirt makes new ones on the target (facts/cross-cluster.md C7.9). */
async function readState(vmi: Vmi, cluster: Reader): Promise<VmSize['state']> {
  if (!keepsState(vmi)) return [];
  const { namespace = '', name } = vmi.metadata;
  return (await cluster.list(LISTED_CLAIMS, { namespace, labelSelector: `${KUBEVIRT.stateOf}=${name}` }))
    .items;
}

/** By namespace and name where both are given; else all VMs are looked through. */
async function findVms({ id, namespace, name }: VmReference, cluster: Reader): Promise<VirtualMachine[]> {
  if (!id && !name) return [];
  if (namespace && name) {
    const vm = await foundIfServed(cluster.get(VIRTUAL_MACHINES, { namespace, name }));
    return vm === undefined || (id && vm.metadata.uid !== id) ? [] : [vm];
  }
  const all = await listedIfServed(cluster.list(NAMED_VMS, namespace ? { namespace } : {}));
  const fitting = all.filter(({ metadata }) => (id ? metadata.uid === id : metadata.name === name));
  const whole = await Promise.all(
    fitting.map(({ metadata }) =>
      found(cluster.get(VIRTUAL_MACHINES, { namespace: metadata.namespace ?? '', name: metadata.name })),
    ),
  );
  return whole.filter((vm) => vm !== undefined);
}

/** About how many bytes the identity of a VM takes. */
const NAMED_BYTES = 500;

const identityOf = ({
  metadata: { name, namespace = '', uid, labels = {} },
}: VirtualMachine): VirtualMachine => ({ metadata: { name, namespace, uid, labels } }) as VirtualMachine;

/** Lists of VMs by name. */
const NAMED_VMS: ListedType<VirtualMachine> = {
  ...VIRTUAL_MACHINES,
  trim: (vm) => ({ object: identityOf(vm), size: NAMED_BYTES }),
};

const interfacesOf = (vm: VirtualMachine): { readonly macAddress?: string }[] =>
  vm.spec.template.spec.domain.devices?.interfaces ?? [];

const macsOf = (vm: VirtualMachine): string[] =>
  interfacesOf(vm).flatMap(({ macAddress }) => (macAddress === undefined ? [] : [macAddress.toLowerCase()]));

/** Lists of the VMs that have MAC addresses of their own. */
const VMS_BY_MAC: ListedType<VirtualMachine> = {
  ...VIRTUAL_MACHINES,
  trim: (vm) => {
    const macs = macsOf(vm);
    if (macs.length === 0) return undefined;
    const interfaces = macs.map((macAddress) => ({ name: '', macAddress }));
    const spec = { template: { spec: { domain: { devices: { interfaces } } } } };
    return { object: { ...identityOf(vm), spec }, size: NAMED_BYTES };
  },
};
