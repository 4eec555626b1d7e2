import { KUBEVIRT } from '../../../functions/domain/names.ts';
import type { Container, Pod, ResourceList, ResourceQuota } from '../../../functions/domain/objects.ts';
import { formatQuantity, parseQuantity } from '../../../functions/domain/quantity.ts';
import type { New } from '../../../functions/kubernetes/cluster.ts';
import { renderLauncherPod } from '../../cluster/kubevirt/objects/launcher-pod.ts';
import { newVirtualMachineInstance, type Configuration } from '../../cluster/kubevirt/objects/objects.ts';
import type { Release } from '../../cluster/kubevirt/objects/release.ts';
import type { Vmi, Vmim } from '../../cluster/kubevirt/objects/types.ts';
import type { FuzzCase, VmOf } from './cases.ts';

/** The VMI at the VM's start. */
export function vmiBefore(namespace: string, { vm }: Pick<FuzzCase, 'vm'>): New<Vmi> {
  const requests = { cpu: String(vm.cpu), memory: vm.memory };
  const limits = { cpu: String(vm.cpu * 2), memory: '6Gi' };
  const resources = vm.limited ? { requests, limits } : { requests };
  return newVirtualMachineInstance({ namespace, name: 'vm0', cpu: vm.cpu, memory: vm.memory, resources });
}

/** The current VMI: its spec has the changes, its status the running values. */
export function vmiNow(vmi: Vmi, { vm, change }: Pick<FuzzCase, 'vm' | 'change'>): Vmi {
  const { domain } = vmi.spec;
  const status = {
    ...vmi.status,
    currentCPUTopology: { cores: vm.cpu, sockets: 1, threads: 1 },
    memory: { guestRequested: vm.memory },
  };
  const { requests = {}, limits } = domain.resources;
  const withRequests = (more: ResourceList, limit: ResourceList): Vmi['spec']['domain']['resources'] => ({
    requests: { ...requests, ...more },
    ...(limits === undefined ? {} : { limits: { ...limits, ...limit } }),
  });
  if (change === 'cpu') {
    const now = { ...domain.cpu, sockets: 2 };
    const resources = withRequests({ cpu: String(vm.cpu * 2) }, { cpu: String(vm.cpu * 4) });
    return { ...vmi, status, spec: { ...vmi.spec, domain: { ...domain, cpu: now, resources } } };
  }
  if (change === 'memory') {
    const resources = withRequests({ memory: '4Gi' }, { memory: '7Gi' });
    return {
      ...vmi,
      status,
      spec: { ...vmi.spec, domain: { ...domain, memory: { guest: '4Gi' }, resources } },
    };
  }
  const labels = { ...vmi.metadata.labels, [KUBEVIRT.outdatedLauncher]: '' };
  return change === 'upgrade'
    ? { ...vmi, status, metadata: { ...vmi.metadata, labels } }
    : { ...vmi, status };
}

/** A KubeVirt whose version adds no limits by itself. Only such a version makes a launcher without requests. */
export const isOldKubeVirt = ({ vm, change }: Pick<FuzzCase, 'vm' | 'change'>): boolean =>
  change === 'noAutoLimits' || vm.kind === 'bestEffort';

export interface LauncherOf {
  readonly vmi: Vmi;
  readonly migration?: Vmim;
  readonly quotas: readonly ResourceQuota[];
  readonly of: Pick<FuzzCase, 'vm' | 'change'>;
  /** KubeVirt's defaults when left out. */
  readonly configuration?: Configuration;
  /** Of virt-controller; the first one when left out. */
  readonly release?: Release;
}

/** A launcher from the KubeVirt stand-in, with this VM's additions. */
export function launcher({ vmi, migration, quotas, of, configuration = {}, release }: LauncherOf): New<Pod> {
  const { vm, change } = of;
  const rendered = renderLauncherPod({
    vmi,
    configuration,
    quotas: isOldKubeVirt(of) ? [] : quotas,
    ...(release === undefined ? {} : { release }),
    ...(migration === undefined ? {} : { migration }),
  }) as unknown as New<Pod>;
  const grown =
    migration !== undefined && change === 'upgrade' ? moreOverhead(rendered, vm, quotas) : rendered;
  return {
    ...grown,
    spec: { ...decorated(grown.spec, vm), automountServiceAccountToken: false } as Pod['spec'],
  };
}

/** QEMU's part of the overhead after v1.9.0 (facts/kubevirt.md §2.1, version drift). */
const UPGRADE = parseQuantity('20Mi');

function moreOverhead(pod: New<Pod>, vm: VmOf, quotas: readonly ResourceQuota[]): New<Pod> {
  const automatic = !vm.limited && quotas.some(({ spec }) => spec.hard?.['limits.memory'] !== undefined);
  const more = (list: ResourceList = {}, times: bigint): ResourceList =>
    list['memory'] === undefined
      ? list
      : { ...list, memory: formatQuantity(parseQuantity(list['memory']) + times * UPGRADE) };
  const containers = pod.spec.containers.map((container) => ({
    ...container,
    resources: {
      requests: more(container.resources?.requests, 1n),
      limits: more(container.resources?.limits, automatic ? 2n : 1n),
    },
  }));
  return { ...pod, spec: { ...pod.spec, containers } };
}

const DEVICES = { 'hugepages-2Mi': '64Mi', 'nvidia.com/gpu': '2' };

function decorated(spec: Pod['spec'], vm: VmOf): Pod['spec'] & { restartPolicy?: string } {
  const withContainers = {
    ...spec,
    containers: [...spec.containers.map((each) => ofKind(each, vm)), ...hooks(vm)],
    initContainers: [...(spec.initContainers ?? []).map((each) => plainPod(each, vm)), ...bigInits(vm)],
  };
  return {
    ...withContainers,
    ...(vm.kind === 'whole' ? { resources: WHOLE } : {}),
    ...(vm.priority === undefined ? {} : { priorityClassName: vm.priority }),
    ...(vm.deadline ? { activeDeadlineSeconds: 3600, restartPolicy: 'Never' } : {}),
    ...(vm.across ? { affinity: { ...spec.affinity, podAffinity: ACROSS } } : {}),
    ...(vm.overhead ? { runtimeClassName: 'kata' } : {}),
  };
}

const WHOLE = { requests: { cpu: '8', memory: '12Gi' }, limits: { cpu: '16', memory: '16Gi' } };

const ACROSS = {
  preferredDuringSchedulingIgnoredDuringExecution: [
    {
      weight: 1,
      podAffinityTerm: { namespaces: ['default'], labelSelector: {}, topologyKey: 'kubernetes.io/hostname' },
    },
  ],
};

const plainPod = (container: Container, { kind }: VmOf): Container => {
  if (kind !== 'bestEffort') return container;
  const { 'ephemeral-storage': storage } = container.resources?.requests ?? {};
  const requests: ResourceList = storage === undefined ? {} : { 'ephemeral-storage': storage };
  return { ...container, resources: { requests } };
};

function ofKind(container: Container, vm: VmOf): Container {
  if (vm.kind !== 'devices') return plainPod(container, vm);
  const { requests = {}, limits = {} } = container.resources ?? {};
  return {
    ...container,
    resources: {
      requests: { ...requests, ...DEVICES },
      limits: { ...limits, ...DEVICES, 'ephemeral-storage': '60M' },
    },
  };
}

function hooks({ hook, kind }: VmOf): Container[] {
  if (hook === 'none' || kind === 'bestEffort') return [];
  const requests = { cpu: '100m', memory: '64M' };
  const limits = hook === 'limited' ? { limits: { cpu: '200m', memory: '64M' } } : {};
  return [{ name: 'hook', image: 'hook', resources: { requests, ...limits } } as Container];
}

function bigInits({ bigInit, kind }: VmOf): Container[] {
  if (!bigInit || kind === 'bestEffort') return [];
  const list = { cpu: '2500m', memory: '3000Mi' };
  return [{ name: 'prepare', image: 'prepare', resources: { requests: list, limits: list } } as Container];
}
