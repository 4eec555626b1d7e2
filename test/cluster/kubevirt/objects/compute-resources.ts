import type { ResourceList, ResourceQuota } from '../../../../functions/domain/objects.ts';
import { formatAmount, formatQuantity, parseQuantity } from '../../../../functions/domain/quantity.ts';
import { ANNOTATIONS } from './names.ts';
import type { Configuration } from './objects.ts';
import { RELEASE, type Release } from './release.ts';
import type { Vmi } from './types.ts';

/** What decides on a launcher's resources; `release`: of virt-controller, the first one when left out. */
export interface ResourcesOf {
  readonly vmi: Vmi;
  readonly configuration: Configuration;
  readonly release?: Release;
}

export interface ComputeResources {
  readonly requests: ResourceList;
  readonly limits: ResourceList;
}

const MI = parseQuantity('1Mi');
const BYTE = parseQuantity('1');
const AUTO_MEMORY_LIMITS_RATIO = 2;
const CPU_ALLOCATION_RATIO = 10;

interface OfNamespace {
  readonly quotas: readonly ResourceQuota[];
  /** How many times the request a limit of memory is that KubeVirt adds: the namespace's label says it, 2 when left out. */
  readonly autoMemoryRatio?: number;
}

/**
 * What the compute container of a launcher asks for, now: from the VMI, the KubeVirt CR and the namespace's quotas
 * (facts/kubevirt.md §2.1; no hugepages, devices but tun, or memory overcommit).
 */
export function computeResources(of: ResourcesOf & OfNamespace): ComputeResources {
  const { vmi, configuration } = of;
  const { requests = {}, limits = {} } = vmi.spec.domain.resources;
  const overhead = memoryOverhead(of);
  const memory = guestMemory(vmi) + overhead;
  const limitsMemory = limits['memory'];
  const dedicated = isDedicated(vmi)
    ? { cpu: String(dedicatedCpus(vmi)), memory: formatAmount('memory', memory) }
    : {};
  return {
    requests: {
      cpu: requests['cpu'] ?? sharedCpu(vmi, configuration),
      memory: formatAmount('memory', memory),
      'ephemeral-storage': '50M',
      ...dedicated,
    },
    limits: {
      ...automaticLimits(of, memory),
      ...(limits['cpu'] === undefined ? {} : { cpu: limits['cpu'] }),
      ...(limitsMemory === undefined
        ? {}
        : { memory: formatAmount('memory', parseQuantity(limitsMemory) + overhead) }),
      'devices.kubevirt.io/tun': '1',
      ...dedicated,
    },
  };
}

/** What the processes beside the guest need, as KubeVirt after v1.9.0 estimates it for kvm; whole bytes, in nano. */
function memoryOverhead({ vmi, configuration, release = RELEASE }: ResourcesOf): bigint {
  const pageTables = guestMemory(vmi) / 512n;
  const processes = (25n + 100n + 25n + 40n + 50n + 8n * vcpus(vmi) + 8n) * MI;
  const graphics = vmi.spec.domain.devices.autoattachGraphicsDevice === false ? 0n : 32n * MI;
  const pinned = isDedicated(vmi) ? 100n * MI : 0n;
  const sum = pageTables + processes + graphics + pinned + parseQuantity(release.moreOverhead);
  const ratio = configuration.additionalGuestMemoryOverheadRatio;
  return wholeBytes(ratio === undefined ? sum : (sum * parseQuantity(ratio)) / BYTE);
}

/** In whole bytes: the launcher's annotation. */
export const overheadInBytes = (of: ResourcesOf): string => formatQuantity(memoryOverhead(of));

/** With a binary suffix: the VMI's status. */
export const overheadAsQuantity = (of: ResourcesOf): string => formatAmount('memory', memoryOverhead(of));

function guestMemory({ spec: { domain } }: Vmi): bigint {
  const { requests, limits } = domain.resources;
  return parseQuantity(requests?.['memory'] ?? limits?.['memory'] ?? domain.memory.guest);
}

const vcpus = ({ spec: { domain } }: Vmi): bigint =>
  BigInt(domain.cpu.cores * domain.cpu.sockets * domain.cpu.threads);

const isDedicated = ({ spec: { domain } }: Vmi): boolean => domain.cpu.dedicatedCpuPlacement === true;

/** Threads of the supplemental pool, whatever the policy says (renderresources.go, getIOThreadsCount). */
const poolThreads = ({ spec: { domain } }: Vmi): bigint =>
  BigInt(domain.ioThreads?.supplementalPoolThreadCount ?? 0);

/** The virtual CPUs, the pool, and what an isolated emulator thread takes (renderresources.go, WithCPUPinning). */
function dedicatedCpus(vmi: Vmi): bigint {
  const { cpu, ioThreadsPolicy } = vmi.spec.domain;
  const total = vcpus(vmi) + poolThreads(vmi);
  if (cpu.isolateEmulatorThread !== true) return total;
  // VMIResourcePredicates hands the pool over once more, where the policy is that of the pool.
  const handedOver = ioThreadsPolicy === 'supplementalPool' ? poolThreads(vmi) : 0n;
  const isToBeEven = vmi.metadata.annotations?.[ANNOTATIONS.emulatorParity] !== undefined;
  return total + (isToBeEven && (total + handedOver) % 2n === 0n ? 2n : 1n);
}

function sharedCpu(vmi: Vmi, { developerConfiguration }: Configuration): string {
  const ratio = BigInt(developerConfiguration?.cpuAllocationRatio ?? CPU_ALLOCATION_RATIO);
  return `${((vcpus(vmi) + poolThreads(vmi)) * 1000n) / ratio}m`;
}

/** KubeVirt's AutoResourceLimitsGate: what any quota of the namespace limits gets a limit, if it has none. */
function automaticLimits(of: OfNamespace & { readonly vmi: Vmi }, memory: bigint): ResourceList {
  const { autoMemoryRatio = AUTO_MEMORY_LIMITS_RATIO } = of;
  const limited = (key: string): boolean => of.quotas.some(({ spec }) => spec.hard?.[key] !== undefined);
  const bytes = Math.trunc(Number(memory / BYTE) * autoMemoryRatio);
  return {
    ...(limited('limits.cpu') ? { cpu: String(vcpus(of.vmi) + poolThreads(of.vmi)) } : {}),
    ...(limited('limits.memory') ? { memory: formatAmount('memory', BigInt(bytes) * BYTE) } : {}),
  };
}

const wholeBytes = (amount: bigint): bigint => ((amount + BYTE - 1n) / BYTE) * BYTE;
