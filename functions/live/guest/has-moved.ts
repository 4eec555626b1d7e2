import { marksOf } from './cut-over.ts';
import type { Plan, VmReference, VmStatus } from '../../domain/live/forklift.ts';
import { MARK } from '../../domain/live/names.ts';
import { receiverOf } from './proofs.ts';
import type { RunSnapshot } from '../run/snapshot.ts';
import { hasMoved } from '../run/state.ts';
import { isSameVm } from '../run/stop.ts';

/**
 * Whether the VM on the source was deleted after its guest was active on the target, so that the VM there has the only copy. The record is
 * gone with the source VM: the status of the Migration keeps what it said, also once the target shows nothing of the move any more. A later
 * migration within the target replaces the state of its VMI, and KubeVirt clears it (facts/cross-cluster.md §C6).
 */
export const isOnTargetAlone = (snapshot: RunSnapshot): boolean =>
  snapshot.source.vm === undefined &&
  ((snapshot.hub.status !== undefined && hasMoved(snapshot.hub.status)) || isSeenActive(snapshot));

/** Whether the guest was active on the target, as its node says. */
function isSeenActive(snapshot: RunSnapshot): boolean {
  const { source, target } = snapshot;
  const vm = receiverOf(snapshot);
  if (vm === undefined) return false;
  const seen = { vm, vmi: target.vmi, vmim: target.vmims.at(-1) };
  const marks = marksOf({ source, target: seen, before: undefined });
  return marks.includes(MARK.guestReady) || marks.includes(MARK.postCopy);
}

/** Returns the plan's status of a VM that one of its runs has moved; undefined if none has. */
export const movedIn = ({ status }: Plan, vm: VmReference): VmStatus | undefined =>
  status?.migration?.vms?.find((shown) => isSameVm(shown, vm) && hasMoved(shown));
