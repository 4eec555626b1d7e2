import { MAINTENANCE_REASON, type MaintenanceReason } from '../domain/progress/names.ts';
import { describeEntry } from './open-status.ts';
import { keyOf, keysIn, type Counts } from './counts.ts';
import type { Maintenance } from '../domain/progress/maintenance.ts';
import type {
  BucketEntry,
  MaintenanceProgress,
  ProgressSpec,
  ProgressState,
  ProgressStatus,
} from '../domain/progress/progress-object.ts';

export interface Ending {
  readonly state: Extract<ProgressState, 'Completed' | 'Canceled' | 'Superseded' | 'Failed'>;
  readonly reason: MaintenanceReason;
  readonly message: string;
}

/** How the maintenance has ended; undefined: it has not. */
export const endingOf = (spec: ProgressSpec, seen: Maintenance, counts: Counts): Ending | undefined =>
  spec.kind === 'Drain' ? endOfDrain(spec, seen, counts) : endOfUpgrade(spec, seen, counts);

function endOfDrain(
  { node, subject }: ProgressSpec,
  seen: Maintenance,
  { total, left }: Counts,
): Ending | undefined {
  if (seen.node?.uid === undefined || seen.node.uid !== node?.uid) {
    const message = `node ${subject} ${describeGone(seen)}; ${String(left)} of ${vms(total)} were left on it${waitingOn(seen)}`;
    return { state: 'Failed', reason: MAINTENANCE_REASON.nodeGone, message };
  }
  if (left === 0 && !isAwaiting(seen)) {
    const others = seen.others ?? 0;
    const rest = others === 0 ? '' : `; still there: ${vms(others)} without one`;
    const message = `every VM with an eviction strategy has left node ${subject}: ${vms(total)}${rest}`;
    return { state: 'Completed', reason: MAINTENANCE_REASON.drained, message };
  }
  if (seen.node.isDraining) return undefined;
  const message = `node ${subject} takes pods again; ${String(left)} of ${vms(total)} are still on it`;
  return { state: 'Canceled', reason: MAINTENANCE_REASON.uncordoned, message };
}

/** Buckets of VMs with a migration of their own. */
const MIGRATING = ['blocked', 'waiting', 'running'];

const describeGone = ({ node }: Maintenance): string =>
  node?.uid === undefined ? 'is gone' : `was replaced by another one of its name (uid ${node.uid})`;

/**
 * Leaves out what only another node of the drained one's name has. The drain has left there: VMs that it has counted, or still lists, by
 * their migrations, because KubeVirt knows a node by its name and goes on with them.
 */
export function withoutNewNode({ spec, status }: MaintenanceProgress, seen: Maintenance): Maintenance {
  const isReplaced =
    spec.kind === 'Drain' && seen.node?.uid !== undefined && seen.node.uid !== spec.node?.uid;
  return isReplaced ? leftOfReplaced(seen, status) : seen;
}

function leftOfReplaced(seen: Maintenance, before: ProgressStatus | undefined): Maintenance {
  const { counted = '', buckets: listed = [] } = before ?? {};
  const key = ({ namespace, name }: BucketEntry): string => keyOf(namespace, name);
  const known = new Set([...keysIn(counted), ...listed.flatMap(({ vms: entries }) => entries.map(key))]);
  const buckets = seen.buckets
    .filter(({ name }) => MIGRATING.includes(name))
    .map((bucket) => {
      const own = bucket.vms.filter((vm) => known.has(key(vm)));
      return { ...bucket, vms: own, count: bucket.count - bucket.vms.length + own.length };
    })
    .filter(({ count }) => count > 0);
  return { ...seen, buckets, left: seen.left.filter((each) => known.has(each)), moved: [] };
}

/**
 * Names a VM whose migration is left, and says what to do. KubeVirt ends a migration that waits only with its VMI
 * (facts/kubevirt.md §1.3), and makes another one for a VM that is marked for eviction (facts/kubevirt.md §3.2).
 */
function waitingOn({ node, buckets }: Maintenance): string {
  const [example] = MIGRATING.flatMap((wanted) => buckets.find(({ name }) => name === wanted)?.vms ?? []);
  if (example === undefined) return '';
  return `, such as ${describeEntry(example)}. ${adviceToMigrations(node)}`;
}

function adviceToMigrations(node: Maintenance['node']): string {
  if (node?.uid === undefined) return 'Their migrations stay until their VMIs end: delete those that wait.';
  if (node.isDraining) return 'Their migrations go on: the report of the drain of the new node counts them.';
  return (
    'KubeVirt goes on with their migrations: cancel those that wait (virtctl evacuate-cancel, then delete the migration), ' +
    'or drain the new node.'
  );
}

/** VMs migrate to the node, as far as is known. */
const isAwaiting = ({ node, arriving }: Maintenance): boolean => node?.isDraining === true && arriving !== 0;

function endOfUpgrade(
  { deployment }: ProgressSpec,
  seen: Maintenance,
  { total, left }: Counts,
): Ending | undefined {
  if (seen.kubevirt?.target === undefined) {
    const message = `KubeVirt is gone; ${String(left)} of ${vms(total)} were outdated`;
    return { state: 'Failed', reason: MAINTENANCE_REASON.kubevirtGone, message };
  }
  if (seen.kubevirt.target !== deployment?.to) {
    const message = `KubeVirt now changes to deployment ${seen.kubevirt.target}; ${String(left)} of ${vms(total)} are outdated`;
    return { state: 'Superseded', reason: MAINTENANCE_REASON.targetChanged, message };
  }
  if (left > 0 || !seen.isSettled) return undefined;
  if (total > 0)
    return {
      state: 'Completed',
      reason: MAINTENANCE_REASON.updated,
      message: `none of ${vms(total)} has KubeVirt's label of an outdated launcher any more`,
    };
  return { state: 'Completed', reason: MAINTENANCE_REASON.noWorkloads, message: 'no VM was outdated' };
}

const vms = (count: number): string => (count === 1 ? '1 VM' : `${String(count)} VMs`);
