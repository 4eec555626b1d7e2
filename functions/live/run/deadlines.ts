import { parseQuantity, type Amount } from '../../domain/quantity.ts';
import { type Claim, sizeOf, type Vmi } from '../../domain/live/kubevirt.ts';

const MINUTE = 60_000;

/** Milliseconds for which a run waits for each thing. KubeVirt itself waits for ever until there is a pod (facts/cross-cluster.md §C7). */
export const LIMIT_MS = {
  /** The wait until a Migration may begin, and until its plan is Ready for a VM that has not begun. */
  begin: 60 * MINUTE,
  /** The wait until a target namespace that is being deleted is gone. */
  namespace: 15 * MINUTE,
  /** The wait for a hook without a deadline of its own. */
  hook: 60 * MINUTE,
  volumes: 30 * MINUTE,
  /** The wait while the source moves the VM itself, and until an attempt that was withdrawn is gone. */
  busy: 60 * MINUTE,
  /** The wait until the VMI on the target waits for its guest. */
  receiver: 5 * MINUTE,
  /** The wait until the target's synchronization controller has an address. */
  address: 5 * MINUTE,
  /** The wait until the launcher fits, and until both clusters have met and the target's launcher is created. */
  meeting: 15 * MINUTE,
  /** The wait while other migrations use all that KubeVirt runs at once on the target. */
  queued: 24 * 60 * MINUTE,
  /** The wait until KubeVirt is made to look again, if the source does not hear of the launcher (facts/cross-cluster.md §C7). */
  silence: MINUTE,
  /** The wait until a migration whose guest was seen on the target has ended. */
  undecided: 10 * MINUTE,
  /** The wait until a guest that has arrived runs, such as after a crash: KubeVirt may start it again. */
  targetRuns: 5 * MINUTE,
  /** The time for which a source VM must stay off, once an owner has started it again: tools that reconcile every few minutes are seen. */
  staysOff: 10 * MINUTE,
  /** The time between two halts of the source VM, or two changes of its strategy, so that two writers make no storm. */
  haltAgain: 10_000,
  /** The wait until a migration within the target begins to copy. */
  local: 15 * MINUTE,
  /** The wait until all is undone; then the leftovers are listed. */
  undo: 10 * MINUTE,
  /** The wait until a write is not refused any more. */
  refused: 15 * MINUTE,
  /** The wait for a source VMIM that is being deleted and never goes, because no target pod exists (facts/cross-cluster.md §C7). */
  stuckVmim: 10_000,
} as const;

/** KubeVirt's default for completionTimeoutPerGiB, seconds, and the least that a transfer gets. */
const PER_GIB_SECONDS = 150n;
const LEAST_SECONDS = 3_600n;
const GIB: Amount = parseQuantity('1Gi');

/** How long a transfer may take, seconds: by the sizes of memory and disks, since KubeVirt copies both. */
export function transferSeconds({ spec }: Vmi, claims: readonly Claim[]): number {
  const memory =
    amount(spec.domain['memory'], 'guest') ?? amount(requestsOf(spec.domain['resources']), 'memory');
  const disks = claims.map((claim) => parseQuantity(sizeOf(claim) ?? '0'));
  const total = disks.reduce((sum, size) => sum + size, memory ?? 0n);
  const seconds = ((total + GIB - 1n) / GIB) * PER_GIB_SECONDS;
  return Number(seconds > LEAST_SECONDS ? seconds : LEAST_SECONDS);
}

const requestsOf = (resources: unknown): unknown =>
  typeof resources === 'object' && resources !== null
    ? (resources as { requests?: unknown }).requests
    : undefined;

function amount(list: unknown, key: string): Amount | undefined {
  const text = typeof list === 'object' && list !== null ? (list as Record<string, unknown>)[key] : undefined;
  return typeof text === 'string' || typeof text === 'number' ? parseQuantity(String(text)) : undefined;
}

/** Whether a run that ends since `at` (RFC 3339) is too late to wait until all is undone. `now`: milliseconds. */
export const isUndoLate = (now: number, at: string): boolean => now > timeOf(at) + LIMIT_MS.undo;

/** Returns the milliseconds of a time as objects have it. */
export const timeOf = (text: string | null | undefined): number => Date.parse(text ?? '');
