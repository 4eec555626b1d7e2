import { runsOnTarget } from './cut-over.ts';
import { DONE, wait, write, type StepDecision } from './decision.ts';
import { LIVE_REASON } from './names.ts';
import { receiverOf, vmimOf } from './proofs.ts';
import { withRecord, withStrategy } from './run-record.ts';
import type { RecordedRun, RunSnapshot } from './run-snapshot.ts';
import { shownName } from './shown.ts';

/**
 * Turns the source VM off for good, once its guest has arrived on the target; done when it is proved off. KubeVirt does not see to it
 * in all cases: after a restart of its synchronization controller it starts the VM again from its old disks (recorded:
 * cross-leader-change-split). The VM is halted before its VMI goes, or KubeVirt would create another one.
 */
export function endSource(snapshot: RecordedRun): StepDecision {
  const { source, record } = snapshot;
  const { vm, vmi } = source;
  if (vmi !== undefined && vmi.metadata.uid !== record.vmi && !isTargetUp(snapshot))
    return wait(
      LIVE_REASON.sourceStartedAgain,
      `the VM ${shownName(vm)} was started again on the source, from disks that are out of date, and the one on the target does ` +
        'not run: find out who started it, and stop one of them by hand',
    );
  if (vm.spec.runStrategy !== 'Halted' || vm.spec.running !== undefined) return halt(snapshot);
  const [request] = vm.status?.stateChangeRequests ?? [];
  if (request !== undefined)
    return wait(
      LIVE_REASON.sourceStartedAgain,
      `a ${request.action} of the VM ${shownName(vm)} on the source is requested, whose guest has left: cancel it (virtctl stop)`,
    );
  return removeVmi(snapshot);
}

/** In one write with the record, so that a later change back is known as somebody else's. */
function halt({ source: { vm }, record }: RecordedRun): StepDecision {
  const halted = withRecord(withStrategy(vm, 'Halted'), { ...record, halted: true });
  const again = record.halted === true ? ' again: an owner of it has undone that, such as a GitOps tool' : '';
  return write(`halting the VM ${shownName(vm)} on the source${again}`, {
    verb: 'replace',
    on: 'source',
    object: halted,
  });
}

/** By its uid: the guest of this VMI has left. Of another one only while the guest runs on the target. */
function removeVmi(snapshot: RecordedRun): StepDecision {
  const { source, record, run } = snapshot;
  const { vmi } = source;
  const sent = vmimOf(source.vmims, run, record.attempt);
  if (vmi === undefined && sent === undefined) return DONE;
  if (vmi === undefined || vmi.metadata.deletionTimestamp !== undefined)
    return wait(LIVE_REASON.endingSource, 'waiting until KubeVirt has removed VMI and VMIM on the source');
  return write(`deleting the VMI ${vmi.metadata.name} on the source, whose guest has left`, {
    verb: 'delete',
    on: 'source',
    object: vmi,
  });
}

/** Whether the guest runs on the target now. */
export const isTargetUp = (snapshot: RunSnapshot): boolean =>
  receiverOf(snapshot) !== undefined && runsOnTarget(snapshot.target);
