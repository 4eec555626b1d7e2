import type { Amounts } from '../quota/charged.ts';
import {
  amountOf,
  growthOf,
  isUnchanged,
  roundUp,
  type Change,
  type Growth,
  type GrowthFactors,
} from './growth.ts';
import { guestGrowth, pagesOf, requestsOverhead } from './guest-memory.ts';
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
import type { LauncherRules } from '../snapshot.ts';
import { selects } from '../policy/selector.ts';
import { formatQuantity, parseQuantity, roundToStored, type Amount } from '../quantity.ts';
import { rejectedAmounts, type PodRejection } from '../quota/pod-rejection.ts';

export interface EstimateInput extends GrowthFactors, LauncherRules {
  readonly source: Pod;
  readonly vmi: VirtualMachineInstance;
  readonly namespace: Namespace;
  readonly quotas: readonly ResourceQuota[];
  readonly limitRanges: readonly LimitRange[];
  /** The API server's refusals of this very target pod, the newest first. */
  readonly rejections: readonly PodRejection[];
  /** Whether all of them are of the newer launcher, where an upgrade made the source's an older one. */
  readonly rejectionsIncludeUpgrade?: boolean;
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
 * 4. with the limits that KubeVirt adds by itself where a quota of the namespace has limits, and without those of a former one;
 * 5. with the LimitRanges' defaults of today;
 * 6. charged as quota admission charges it (pod-usage.ts);
 * 7. for the keys that a refusal of this target pod names, what it says: that is the API server's own figure. While a
 *    change of the VMI or an upgrade waits for the migration the refusal may be from before it: then the greater of both.
 *
 * Where nothing changed since the source pod started this is exact; else it is never too little, as far as 3 to 5 know.
 */
export function estimate(input: EstimateInput): Estimate {
  const plain = withoutDefaults(input.source);
  const guest = guestGrowth(input.vmi, input.source, computeOf(plain)?.resources?.requests ?? {});
  const growth = growthOf(input.vmi, input, guest);
  const grown = inContainers(plain, (container) =>
    container === computeOf(plain) ? compute(container, growth, input) : container,
  );
  const pod = withDefaults(grown, input.limitRanges);
  const isExact = isUnchanged(
    input.rejectionsIncludeUpgrade === true
      ? growthOf(input.vmi, { ...input, upgradeOverhead: 0n }, guest)
      : growth,
  );
  return { pod, need: corrected(stored(podUsage(pod)), input.rejections, isExact) };
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

const ONE = parseQuantity('1');

/** The container that runs the guest. */
export const computeOf = ({ spec: { containers } }: Pod): Container | undefined =>
  containers.find(({ name }) => name === KUBEVIRT.compute) ?? containers[0];

function compute(container: Container, growth: Growth, input: EstimateInput): Container {
  const requested = changed(container, 'requests', (list) => grownRequests(list, growth, input));
  const requests = requested.resources?.requests ?? {};
  return changed(requested, 'limits', (list) => grownLimits({ list, requests, growth, input }));
}

function grownRequests(list: ResourceList, growth: Growth, input: EstimateInput): ResourceList {
  const { guest, overhead } = growth;
  const pages = pagesOf(input.vmi);
  const grown = { ...list };
  const cpu = amountOf(list['cpu']);
  if (cpu !== undefined) grown['cpu'] = formatQuantity(requestOfCpu(cpu, growth, input));
  if (guest > 0n) add(grown, pages ?? 'memory', guest);
  if (overhead > 0n && requestsOverhead(input.vmi)) add(grown, 'memory', overhead);
  return grown;
}

/** The CPU request of the target. KubeVirt requests a fixed part of each CPU that the launcher runs on unless the VMI requests CPU. */
function requestOfCpu(had: Amount, { cpus }: Growth, { vmi, cpuAllocationRatio }: EstimateInput): Amount {
  if (hasCpusOfItsOwn(vmi)) return withMoreCpus(had, cpus);
  const own = amountOf(vmi.spec?.domain?.resources?.requests?.['cpu']);
  if (own !== undefined) return cpus.now === cpus.before ? had : own;
  const inProportion = divideUp(had * cpus.now, cpus.before);
  return greater(inProportion, partOf(cpus.now * ONE, cpuAllocationRatio));
}

/** What KubeVirt requests of these CPUs by the ratio of today, which may be another one than the source's. */
const partOf = (cpus: Amount, ratio = 0): Amount =>
  Number.isSafeInteger(ratio) && ratio > 0 ? divideUp(cpus, BigInt(ratio)) : 0n;

const divideUp = (amount: Amount, by: bigint): Amount => (amount + by - 1n) / by;

/**
 * Whether the pod's requests and limits are its virtual CPUs and those of the emulator, whatever the VMI asks for
 * (facts/kubevirt.md §2.1).
 */
const hasCpusOfItsOwn = ({ spec }: VirtualMachineInstance): boolean =>
  spec?.domain?.cpu?.dedicatedCpuPlacement === true;

const withMoreCpus = (had: Amount, { now, before }: Change): Amount => had + (now - before) * ONE;

interface LimitsOf {
  readonly list: ResourceList;
  /** The requests of the same container, grown already. */
  readonly requests: ResourceList;
  readonly growth: Growth;
  readonly input: EstimateInput;
}

function grownLimits({ list: before, requests, growth, input }: LimitsOf): ResourceList {
  const list = renderedLimits(before, input);
  const limits = { ...list };
  const cpu = limitOfCpu(list, growth, input);
  if (cpu !== undefined) limits['cpu'] = formatQuantity(cpu);
  const memory = limitOfMemory({ list, requests, growth, input });
  if (memory !== undefined) limits['memory'] = formatQuantity(memory);
  const pages = pagesOf(input.vmi);
  if (pages !== undefined && growth.guest > 0n) add(limits, pages, growth.guest);
  return limits;
}

/**
 * The limits without those that KubeVirt added for a quota that has none now. Where KubeVirt adds none, they come from elsewhere, and may be
 * added again.
 */
const renderedLimits = (list: ResourceList, input: EstimateInput): ResourceList =>
  input.autoLimits
    ? Object.fromEntries(Object.entries(list).filter(([resource]) => isRendered(resource, input)))
    : list;

function isRendered(resource: string, input: EstimateInput): boolean {
  if (resource !== 'cpu' && resource !== 'memory') return true;
  const own = input.vmi.spec?.domain?.resources?.limits?.[resource];
  return own !== undefined || hasCpusOfItsOwn(input.vmi) || isLimited(input, `limits.${resource}`);
}

function limitOfCpu(list: ResourceList, growth: Growth, input: EstimateInput): Amount | undefined {
  const { cpus } = growth;
  const had = amountOf(list['cpu']);
  const automatic = isLimited(input, 'limits.cpu') ? cpus.now * ONE : undefined;
  if (had === undefined) return automatic;
  if (isUnchanged(growth)) return had;
  const more = withMoreCpus(had, cpus);
  if (hasCpusOfItsOwn(input.vmi)) return more;
  // An older KubeVirt may have left out the pool.
  return ownLimitOfCpu(had, cpus, input.vmi) ?? greater(more, automatic);
}

/** The limit of a VMI that has one of its own; undefined: it has none. */
function ownLimitOfCpu(
  had: Amount,
  { before, now }: Change,
  vmi: VirtualMachineInstance,
): Amount | undefined {
  const own = amountOf(vmi.spec?.domain?.resources?.limits?.['cpu']);
  return own !== undefined && now === before ? had : own;
}

const greater = (one: Amount, other: Amount = 0n): Amount => (other > one ? other : one);

function limitOfMemory({ list, requests, growth, input }: LimitsOf): Amount | undefined {
  const had = amountOf(list['memory']);
  const asked = parseQuantity(requests['memory'] ?? '0');
  const automatic = automaticLimit(asked, input.namespace);
  const isOwn = isOwnLimit(input.vmi);
  if ((!isOwn || had === undefined) && isLimited(input, 'limits.memory')) return automatic;
  if (had === undefined) return undefined;
  const more = growth.overhead + (pagesOf(input.vmi) === undefined ? growth.guest : 0n);
  if (more === 0n) return had;
  return isOwn ? had + more : automatic;
}

/** A limit that the VMI has asked for, or that goes with CPUs of its own: it grows as the request does. */
const isOwnLimit = (vmi: VirtualMachineInstance): boolean =>
  vmi.spec?.domain?.resources?.limits?.['memory'] !== undefined || hasCpusOfItsOwn(vmi);

/**
 * KubeVirt adds a limit where any quota of the namespace has one (AutoResourceLimitsGate), and one of CPU where its CR selects the
 * namespace (facts/kubevirt.md §2.1).
 */
const isLimited = (input: EstimateInput, key: 'limits.cpu' | 'limits.memory'): boolean =>
  (input.autoLimits && input.quotas.some(({ spec }) => spec.hard?.[key] !== undefined)) ||
  (key === 'limits.cpu' && selects(input.autoCpuNamespaces, input.namespace.metadata.labels));

const AUTO_RATIO = 2;
/** KubeVirt parses the label as a number, not as a quantity, and takes none below 1 (getMemoryLimitsRatio). */
const RATIO = /^\d+\.?\d*(?:[eE]\d{1,2})?$/;

function autoRatioOf({ metadata: { labels } }: Namespace): number {
  const text = labels?.[KUBEVIRT.autoMemoryRatio] ?? '';
  const ratio = RATIO.test(text) ? Number(text) : AUTO_RATIO;
  return ratio < 1 ? AUTO_RATIO : ratio;
}

/** The limit that KubeVirt adds, in whole bytes: its arithmetic in float64 cuts off (WithAutoMemoryLimits). */
const automaticLimit = (asked: Amount, namespace: Namespace): Amount =>
  BigInt(Math.trunc(Math.min(Number(roundUp(asked) / ONE) * autoRatioOf(namespace), MAX_INT64))) * ONE;

const MAX_INT64 = 2 ** 63;

/** The target does not request a resource that the source does not request. */
function add(list: ResourceList, resource: string, more: Amount): void {
  const had = list[resource];
  if (had !== undefined) list[resource] = formatQuantity(parseQuantity(had) + more);
}

/** Rounds each sum as the API server will charge it; at most one container's request is of a finer grain. */
const stored = (need: Amounts): Amounts =>
  new Map([...need].map(([key, amount]) => [key, roundToStored(amount)]));

function corrected(need: Amounts, rejections: readonly PodRejection[], isExact: boolean): Amounts {
  const figures = [...rejectedAmounts(rejections)].map(([key, amount]): [string, Amount] => {
    const ours = need.get(key) ?? 0n;
    return [key, isExact || amount > ours ? amount : ours];
  });
  return new Map([...need, ...figures]);
}
