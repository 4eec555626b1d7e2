import type { Amounts } from '../quota/charged.ts';
import { amountOf, growthOf, isUnchanged, roundUp, type Growth, type GrowthFactors } from './growth.ts';
import { changed, inContainers, withDefaults, withoutDefaults } from './limit-ranges.ts';
import { KUBEVIRT } from '../names.ts';
import type {
  Container,
  LimitRange,
  Namespace,
  Pod,
  ResourceList,
  ResourceQuota,
  VirtualMachineInstance,
} from '../objects.ts';
import { podUsage } from './pod-usage.ts';
import { formatQuantity, parseQuantity, roundToStored, type Amount } from '../quantity.ts';
import { rejectedAmounts, type PodRejection } from '../quota/pod-rejection.ts';

export interface EstimateInput extends GrowthFactors {
  readonly source: Pod;
  readonly vmi: VirtualMachineInstance;
  readonly namespace: Namespace;
  readonly quotas: readonly ResourceQuota[];
  readonly limitRanges: readonly LimitRange[];
  /** Whether this KubeVirt gives launchers limits by itself where a quota has limits. */
  readonly autoLimits: boolean;
  /** The API server's refusals of this very target pod, the newest first. */
  readonly rejections: readonly PodRejection[];
}

/** The target pod as it will be asked for, as far as quotas look at it. */
export interface Estimate {
  readonly pod: Pod;
  /** What it will be charged, by canonical key. */
  readonly need: Amounts;
}

/**
 * How large a migration's target pod will be, for any KubeVirt, without rendering one:
 *
 * 1. the source launcher pod's admitted spec: the target is like it (facts/kubevirt.md §2.2);
 * 2. without the defaults that a LimitRange filled in when it was created;
 * 3. with what the VMI says will be different: CPU and memory hotplugged, a launcher of a newer KubeVirt;
 * 4. with the limits that KubeVirt adds by itself where a quota of the namespace has limits;
 * 5. with the LimitRanges' defaults of today;
 * 6. charged as quota admission charges it (pod-usage.ts);
 * 7. for the keys that a refusal of this target pod names, what it says: that is the API server's own figure. While a
 *    change of the VMI waits for the migration the refusal may be from before it: then the greater of both.
 *
 * Where nothing changed since the source pod started this is exact; else it is never too little, as far as 3 to 5 know.
 */
export function estimate(input: EstimateInput): Estimate {
  const growth = growthOf(input.vmi, input);
  const plain = withoutDefaults(input.source);
  const grown = inContainers(plain, (container) =>
    container === computeOf(plain) ? compute(container, growth, input) : container,
  );
  const pod = withDefaults(grown, input.limitRanges);
  return { pod, need: corrected(stored(podUsage(pod)), input.rejections, isUnchanged(growth)) };
}

/**
 * The attachment pod of a target: like that of the VM's launcher, however the guest changes. With the defaults of today's
 * LimitRanges, and corrected as in 7.
 */
export function estimateAttachment({
  source,
  limitRanges,
  rejections,
}: Pick<EstimateInput, 'source' | 'limitRanges' | 'rejections'>): Estimate {
  const pod = withDefaults(withoutDefaults(source), limitRanges);
  return { pod, need: corrected(podUsage(pod), rejections, true) };
}

/** The container that runs the guest. */
const computeOf = ({ spec: { containers } }: Pod): Container | undefined =>
  containers.find(({ name }) => name === KUBEVIRT.compute) ?? containers[0];

function compute(container: Container, growth: Growth, input: EstimateInput): Container {
  const requested = changed(container, 'requests', (list) => grownRequests(list, growth, input.vmi));
  const requests = requested.resources?.requests ?? {};
  return changed(requested, 'limits', (list) => grownLimits({ list, requests, growth, input }));
}

function grownRequests(list: ResourceList, growth: Growth, vmi: VirtualMachineInstance): ResourceList {
  const { vcpus, guest, overhead } = growth;
  const pages = pagesOf(vmi);
  const grown = { ...list };
  if (vcpus.now !== vcpus.before && list['cpu'] !== undefined) {
    grown['cpu'] = formatQuantity(requestOfCpu(list, growth, vmi));
  }
  if (guest > 0n) add(grown, pages ?? 'memory', guest);
  if (overhead > 0n) add(grown, 'memory', overhead);
  return grown;
}

/** The CPU request of the target. KubeVirt requests a fixed part of a CPU for each virtual one unless the VMI requests CPU. */
function requestOfCpu(list: ResourceList, { vcpus }: Growth, vmi: VirtualMachineInstance): Amount {
  const had = parseQuantity(list['cpu'] ?? '0');
  if (hasCpusOfItsOwn(vmi)) return withMoreCpus(had, vcpus);
  const own = amountOf(vmi.spec?.domain?.resources?.requests?.['cpu']);
  return own ?? (had * vcpus.now + vcpus.before - 1n) / vcpus.before;
}

/**
 * Whether the pod's requests and limits are its virtual CPUs and those of the emulator, whatever the VMI asks for
 * (facts/kubevirt.md §2.1).
 */
const hasCpusOfItsOwn = ({ spec }: VirtualMachineInstance): boolean =>
  spec?.domain?.cpu?.dedicatedCpuPlacement === true;

const withMoreCpus = (had: Amount, { now, before }: Growth['vcpus']): Amount =>
  had + (now - before) * parseQuantity('1');

interface LimitsOf {
  readonly list: ResourceList;
  /** The requests of the same container, grown already. */
  readonly requests: ResourceList;
  readonly growth: Growth;
  readonly input: EstimateInput;
}

function grownLimits({ list, requests, growth, input }: LimitsOf): ResourceList {
  const limits = { ...list };
  const cpu = limitOfCpu(list, growth, input);
  if (cpu !== undefined) limits['cpu'] = formatQuantity(cpu);
  const memory = limitOfMemory({ list, requests, growth, input });
  if (memory !== undefined) limits['memory'] = formatQuantity(memory);
  const pages = pagesOf(input.vmi);
  if (pages !== undefined && growth.guest > 0n) add(limits, pages, growth.guest);
  return limits;
}

function limitOfCpu(list: ResourceList, { vcpus }: Growth, input: EstimateInput): Amount | undefined {
  const had = amountOf(list['cpu']);
  if (had === undefined) {
    return isLimited(input, 'limits.cpu') ? vcpus.now * parseQuantity('1') : undefined;
  }
  if (vcpus.now === vcpus.before) return had;
  const own = amountOf(input.vmi.spec?.domain?.resources?.limits?.['cpu']);
  return own === undefined || hasCpusOfItsOwn(input.vmi) ? withMoreCpus(had, vcpus) : own;
}

function limitOfMemory({ list, requests, growth, input }: LimitsOf): Amount | undefined {
  const had = amountOf(list['memory']);
  const asked = parseQuantity(requests['memory'] ?? '0');
  const automatic = roundUp((asked * autoRatioOf(input.namespace)) / parseQuantity('1'));
  if (had === undefined) return isLimited(input, 'limits.memory') ? automatic : undefined;
  const more = growth.overhead + (pagesOf(input.vmi) === undefined ? growth.guest : 0n);
  if (more === 0n) return had;
  return isOwnLimit(input.vmi) ? had + more : automatic;
}

/** The resource that the guest's memory is, where it is not plain memory. */
function pagesOf({ spec }: VirtualMachineInstance): string | undefined {
  const size = spec?.domain?.memory?.hugepages?.pageSize;
  return size === undefined ? undefined : `hugepages-${size}`;
}

/** A limit that the VMI has asked for, or that goes with CPUs of its own: it grows as the request does. */
const isOwnLimit = (vmi: VirtualMachineInstance): boolean =>
  vmi.spec?.domain?.resources?.limits?.['memory'] !== undefined || hasCpusOfItsOwn(vmi);

/** KubeVirt adds a limit where any quota of the namespace has one (AutoResourceLimitsGate; facts/kubevirt.md §2.1). */
const isLimited = ({ autoLimits, quotas }: EstimateInput, key: string): boolean =>
  autoLimits && quotas.some(({ spec }) => spec.hard?.[key] !== undefined);

const AUTO_RATIO = parseQuantity('2');

const autoRatioOf = ({ metadata: { labels } }: Namespace): Amount =>
  amountOf(labels?.[KUBEVIRT.autoMemoryRatio]) ?? AUTO_RATIO;

/** The target does not request a resource that the source does not request. */
function add(list: ResourceList, resource: string, more: Amount): void {
  const had = list[resource];
  if (had !== undefined) list[resource] = formatQuantity(parseQuantity(had) + more);
}

/** Rounds each sum as the API server will charge it; at most one container's request is of a finer grain. */
const stored = (need: Amounts): Amounts =>
  new Map([...need].map(([key, amount]) => [key, roundToStored(amount)]));

function corrected(need: Amounts, rejections: readonly PodRejection[], unchanged: boolean): Amounts {
  const figures = [...rejectedAmounts(rejections)].map(([key, amount]): [string, Amount] => {
    const ours = need.get(key) ?? 0n;
    return [key, unchanged || amount > ours ? amount : ours];
  });
  return new Map([...need, ...figures]);
}
