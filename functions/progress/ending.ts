import { MAINTENANCE_REASON, type MaintenanceReason } from '../domain/progress/names.ts';
import type { Counts } from './counts.ts';
import type { Maintenance } from '../domain/progress/maintenance.ts';
import type { ProgressSpec, ProgressState } from '../domain/progress/progress-object.ts';

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
    const message = `node ${subject} is gone; ${String(left)} of ${vms(total)} were left on it`;
    return { state: 'Failed', reason: MAINTENANCE_REASON.nodeGone, message };
  }
  if (left === 0 && !isAwaiting(seen)) {
    const others = seen.others ?? 0;
    const rest = others === 0 ? '' : `; ${vms(others)} without one still there`;
    const message = `no VM with an eviction strategy is left on node ${subject}, of ${vms(total)}${rest}`;
    return { state: 'Completed', reason: MAINTENANCE_REASON.drained, message };
  }
  if (seen.node.isDraining) return undefined;
  const message = `node ${subject} takes pods again; ${String(left)} of ${vms(total)} are still on it`;
  return { state: 'Canceled', reason: MAINTENANCE_REASON.uncordoned, message };
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
      message: `all of ${vms(total)} are up to date`,
    };
  return { state: 'Completed', reason: MAINTENANCE_REASON.noWorkloads, message: 'no VM was outdated' };
}

const vms = (count: number): string => (count === 1 ? '1 VM' : `${String(count)} VMs`);
