import { hasArrived } from './cut-over.ts';
import type { Plan, VmReference, VmStatus } from '../../domain/live/forklift.ts';
import { receiverOf } from './proofs.ts';
import type { RunSnapshot } from '../run/snapshot.ts';
import { hasMoved } from '../run/state.ts';
import { isSameVm } from '../run/stop.ts';

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
