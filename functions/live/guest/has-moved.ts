import { has } from '../../domain/live/conditions.ts';
import { hasArrived } from './cut-over.ts';
import type { Plan, VmReference, VmStatus } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import { receiverOf } from './proofs.ts';
import type { RunSnapshot } from '../run/snapshot.ts';
import { isSameVm } from '../run/stop.ts';

/**
 * Whether the place of the VM is the target, however its run ended: the guest was seen there. The VM on the source must neither be started
 * nor moved again, because its disks are out of date, or may be.
 */
export const hasMoved = (shown: Pick<VmStatus, 'conditions'>): boolean =>
  has(shown, LIVE_CONDITION.succeeded) || has(shown, LIVE_CONDITION.cutOver);

/** Whether the VM on the source was deleted after its guest had arrived. Its record is gone with it. */
export function isOnTargetAlone(snapshot: RunSnapshot): boolean {
  const { source, target } = snapshot;
  const vm = receiverOf(snapshot);
  if (source.vm !== undefined || vm === undefined) return false;
  return hasArrived({ source, target: { ...target, vm, vmim: target.vmims.at(-1) }, before: undefined });
}

/** Returns the plan's status of a VM that one of its runs has moved; undefined if none has. */
export const movedIn = ({ status }: Plan, vm: VmReference): VmStatus | undefined =>
  status?.migration?.vms?.find((shown) => isSameVm(shown, vm) && hasMoved(shown));
