import { KUBEVIRT } from '../names.ts';
import type { CpuTopology, VirtualMachineInstance } from '../objects.ts';
import { isHardQuantity, parseQuantity, type Amount } from '../quantity.ts';

export interface Change {
  readonly before: bigint;
  readonly now: bigint;
}

/** What the VMI declares as different in its next launcher pod (facts/kubevirt.md §2.2). */
export interface Growth {
  /** Virtual CPUs of the source pod and of the target. */
  readonly vcpus: Change;
  /** CPUs that these launchers run on: besides the virtual ones those of the I/O threads, and of an emulator with its own. */
  readonly cpus: Change;
  /** More memory that is requested for the guest (hotplug). */
  readonly guest: Amount;
  /** More memory for what runs beside the guest. */
  readonly overhead: Amount;
}

const MI = parseQuantity('1Mi');
const ONE = parseQuantity('1');
/** More overhead than KubeVirt added from 1.0 to 1.10 (46 MiB; facts/kubevirt.md §2.1, version drift). */
export const UPGRADE_OVERHEAD = 64n * MI;
const PER_VCPU = 8n * MI;
const GUEST_PER_PAGE_TABLE = 512n;

/** What growth depends on besides the VMI. */
export interface GrowthFactors {
  /** KubeVirt's additionalGuestMemoryOverheadRatio; 1 when unset. */
  readonly overheadRatio: Amount;
  /** How much more overhead a newer launcher has, before that ratio; left out: UPGRADE_OVERHEAD. */
  readonly upgradeOverhead?: Amount;
}

/** What would shrink stays. `guest`: of guestGrowth. */
export function growthOf(vmi: VirtualMachineInstance, factors: GrowthFactors, guest: Amount): Growth {
  const { overheadRatio, upgradeOverhead = UPGRADE_OVERHEAD } = factors;
  const vcpus = vcpusOf(vmi);
  const upgrade = vmi.metadata.labels?.[KUBEVIRT.outdatedLauncher] === undefined ? 0n : upgradeOverhead;
  const more = upgrade + guest / GUEST_PER_PAGE_TABLE + (vcpus.now - vcpus.before) * PER_VCPU;
  const cpus = { before: cpusOf(vmi, vcpus.before), now: cpusOf(vmi, vcpus.now) };
  return { vcpus, cpus, guest, overhead: roundUp((more * overheadRatio) / ONE) };
}

/** Whether nothing will be different. */
export const isUnchanged = ({ vcpus, guest, overhead }: Growth): boolean =>
  vcpus.before === vcpus.now && guest === 0n && overhead === 0n;

/** The CPUs of a launcher of so many virtual ones, as KubeVirt counts them (facts/kubevirt.md §2.6). */
function cpusOf(vmi: VirtualMachineInstance, vcpus: bigint): bigint {
  const total = vcpus + poolOf(vmi);
  const { cpu } = vmi.spec?.domain ?? {};
  const isIsolated = cpu?.dedicatedCpuPlacement === true && cpu.isolateEmulatorThread === true;
  return isIsolated ? total + emulatorCpus(vmi, total) : total;
}

/** Threads of the supplemental pool: each counts as one CPU, and nothing caps that (getIOThreadsCount). */
function poolOf({ spec }: VirtualMachineInstance): bigint {
  const threads = spec?.domain?.ioThreads?.supplementalPoolThreadCount ?? 0;
  return Number.isSafeInteger(threads) && threads > 0 ? BigInt(threads) : 0n;
}

/**
 * An isolated emulator thread takes one CPU, or two where an annotation wants their number even (WithCPUPinning, to which
 * VMIResourcePredicates hands the pool once more).
 */
function emulatorCpus(vmi: VirtualMachineInstance, total: bigint): bigint {
  const isToBeEven = vmi.metadata.annotations?.[KUBEVIRT.emulatorParity] !== undefined;
  const again = vmi.spec?.domain?.ioThreadsPolicy === 'supplementalPool' ? poolOf(vmi) : 0n;
  return isToBeEven && (total + again) % 2n === 0n ? 2n : 1n;
}

function vcpusOf({ spec, status }: VirtualMachineInstance): Change {
  const wanted = count(spec?.domain?.cpu);
  const before = status?.currentCPUTopology === undefined ? wanted : count(status.currentCPUTopology);
  return { before, now: wanted > before ? wanted : before };
}

const count = ({ cores = 1, sockets = 1, threads = 1 }: CpuTopology = {}): bigint =>
  [cores, sockets, threads].reduce((product, each) => product * BigInt(Math.max(1, each)), 1n);

/** A text of a custom resource need not be a quantity; then it is ignored. */
export function amountOf(text: string | number | undefined): Amount | undefined {
  const said = String(text ?? '');
  return isHardQuantity(said) ? parseQuantity(said) : undefined;
}

/** KubeVirt's additionalGuestMemoryOverheadRatio, as its CR has it; 1 when unset, or no number. */
export const overheadRatioOf = (text: string | undefined): Amount => amountOf(text) ?? ONE;

/** Rounds up to whole units (bytes). */
export const roundUp = (amount: Amount): Amount => ((amount + ONE - 1n) / ONE) * ONE;
