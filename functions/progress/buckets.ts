import { afterFailure } from './after-failure.ts';
import { BLOCKED_BY, type BlockedReason } from '../domain/progress/names.ts';
import {
  BUCKETS,
  type Bucket,
  type BucketEntry,
  type BucketName,
} from '../domain/progress/progress-object.ts';
import { unlessUnmoved } from './unmoved.ts';
import { vmStateOf, type MaintenanceRules, type VmLeft, type VmState } from './vm-state.ts';

/** VMs that a bucket names; the others are counted. */
const MAX_NAMED = 50;

export interface Sorted {
  readonly buckets: Bucket[];
  /** How many VMs are blocked, by what blocks them. */
  readonly blockedBy: Partial<Record<BlockedReason, number>>;
}

interface Placed extends VmState {
  readonly namespace: string;
  readonly name: string;
}

/** Sorts the VMs that are left into buckets: each VM into one, first those that are blocked, the oldest first. */
export function bucketsOf(vms: readonly VmLeft[], rules: MaintenanceRules): Sorted {
  const placed = vms.map((vm): Placed => ({
    ...unlessUnmoved(afterFailure(vmStateOf(vm, rules), vm, rules), vm, rules),
    namespace: vm.namespace,
    name: vm.name,
  }));
  const byBucket = Map.groupBy(placed, ({ bucket }) => bucket);
  const buckets = BUCKETS.flatMap((name) => {
    const all = byBucket.get(name);
    return all === undefined ? [] : [bucketOf(name, all)];
  });
  return { buckets, blockedBy: blockersAmong(placed) };
}

function bucketOf(name: BucketName, placed: readonly Placed[]): Bucket {
  const first = placed.toSorted(byUrgency).slice(0, MAX_NAMED);
  return { name, count: placed.length, vms: first.map(entryOf) };
}

const BLOCKERS: readonly (BlockedReason | undefined)[] = Object.values(BLOCKED_BY);

/** Sorts a VM without a time last; the name makes the order the same in each replica of the guard. */
function byUrgency(one: Placed, other: Placed): number {
  const rank = ({ blockedBy }: Placed): number =>
    blockedBy === undefined ? BLOCKERS.length : BLOCKERS.indexOf(blockedBy);
  if (rank(one) !== rank(other)) return rank(one) - rank(other);
  const key = ({ since = '9', namespace, name }: Placed): string => `${since} ${namespace}/${name}`;
  return key(one) < key(other) ? -1 : 1;
}

const entryOf = ({ namespace, name, since, reason, message, quotas }: Placed): BucketEntry => ({
  namespace,
  name,
  reason,
  ...(since === undefined ? {} : { since }),
  ...(message === undefined ? {} : { message }),
  ...(quotas === undefined ? {} : { quotas: [...quotas] }),
});

/** What a VM waits for that others of this maintenance still get: a slot, an eviction, or KubeVirt's attention. */
const IN_TURN: readonly (BlockedReason | undefined)[] = [
  BLOCKED_BY.external,
  BLOCKED_BY.notEvicted,
  BLOCKED_BY.pending,
  BLOCKED_BY.limit,
];

/** Counts what blocks the VMs. VMs that wait in turn do not count while a migration of this maintenance runs: they follow. */
function blockersAmong(placed: readonly Placed[]): Sorted['blockedBy'] {
  const isMoving = placed.some(({ bucket }) => bucket === 'running');
  const counts: Partial<Record<BlockedReason, number>> = {};
  for (const { blockedBy } of placed) {
    if (blockedBy === undefined || (isMoving && IN_TURN.includes(blockedBy))) continue;
    counts[blockedBy] = (counts[blockedBy] ?? 0) + 1;
  }
  return counts;
}
