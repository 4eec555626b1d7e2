import { fail, type Fail } from '../run/decision.ts';
import { LIVE_REASON } from '../../domain/live/names.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import { isOff, isStartRequested, isUp } from './proofs.ts';

/** Fails if the VMI that is to move does not run any more, or is about to stop; undefined if it runs. */
export const sourceStopped = (snapshot: RecordedRun): Fail | undefined =>
  sourceGone(snapshot) ?? stopRequested(snapshot);

/**
 * Fails if the VMI that is to move does not run any more, or is going; undefined if it runs. A stop of a VM of Always leaves no request: virt-api
 * sets it to Halted (StopVMRequestHandler), and its VMI stays Running, with a deletionTimestamp, while its guest shuts down.
 */
export function sourceGone({ source: { vm, vmi }, record }: RecordedRun): Fail | undefined {
  if (vm.metadata.deletionTimestamp !== undefined)
    return fail(LIVE_REASON.sourceStopped, 'the VM is being deleted on the source');
  if (!isUp(vmi) || isOff(vm))
    return fail(LIVE_REASON.sourceStopped, 'the VM was stopped on the source before its guest moved');
  return vmi?.metadata.uid === record.vmi
    ? undefined
    : fail(LIVE_REASON.sourceStopped, 'the VM was restarted on the source: run the plan again');
}

/**
 * Fails if a stop or restart is requested. KubeVirt carries out a restart once no migration is under way (vm.go, syncRunStrategy): after an
 * arrival, that would start the VM from its old disks.
 */
export function stopRequested({ source: { vm }, record }: RecordedRun): Fail | undefined {
  const requests = vm.status?.stateChangeRequests ?? [];
  if (!requests.some(({ action, uid }) => action === 'Stop' && uid === record.vmi)) return undefined;
  const what = isStartRequested(vm) ? 'restart' : 'stop';
  return fail(
    LIVE_REASON.sourceStopped,
    `a ${what} of the VM was requested on the source before its guest moved: run the plan again once it runs`,
  );
}
