import { freeStuckVmim } from './abort.ts';
import { adviceToEndSource } from './advice.ts';
import { LIMIT_MS, timeOf } from '../run/deadlines.ts';
import { DONE, wait, write, type LiveWrite, type StepDecision, type Wait } from '../run/decision.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { KUBEVIRT_MANAGER, LIVE_REASON } from '../../domain/live/names.ts';
import { otherOwners } from './other-owners.ts';
import {
  isGoneOrFinal,
  isHaltedByManager,
  isOff,
  isStartRequested,
  isTargetUp,
  isWantedRunning,
  vmimOf,
  writtenAt,
} from './proofs.ts';
import { LOST_VMI, withRecord, withStrategy } from '../run/record.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import { describeName } from '../run/describe.ts';

/**
 * Turns the source VM off for good, once its guest has arrived on the target; done when it is proved off. KubeVirt does not do so in all
 * cases: after a restart of its synchronization controller it starts the VM again from its old disks (recorded: cross-leader-change-split).
 * The run halts the VM before it deletes the VMI, or KubeVirt would create another one.
 */
export function endSource(snapshot: RecordedRun): StepDecision {
  const { source, record } = snapshot;
  const { vm, vmi } = source;
  if (vmi !== undefined && vmi.metadata.uid !== record.vmi && !isTargetUp(snapshot))
    return wait(
      LIVE_REASON.sourceStartedAgain,
      `the VM ${describeName(vm)} was started again on the source, from disks that are out of date, and the one on the target, which has ` +
        'the newest data, does not run: this run halts the one on the source once the one on the target runs',
    );
  if (vm.spec.running ?? vm.spec.runStrategy !== 'Halted') return halt(snapshot);
  return removeStartRequests(snapshot) ?? keepOff(snapshot);
}

/**
 * Removes the start requests of the source VM; undefined if there is none. KubeVirt carries out a restart that is requested during the
 * transfer only after it, and would start the VM from its old disks, also one that is Halted (vm.go, syncRunStrategy).
 */
export function removeStartRequests({ source: { vm } }: RecordedRun): StepDecision | undefined {
  const removal = withoutStartRequests(vm);
  if (removal === undefined) return undefined;
  return write(`taking the start off that is requested of the VM ${describeName(vm)} on the source`, removal);
}

type Replace = Extract<LiveWrite, { readonly verb: 'replace' }>;

/**
 * Removes the start requests by the version that was read. A halt in the same decision then finds a newer version, and the next reading
 * makes it.
 */
function withoutStartRequests(vm: VirtualMachine): Replace | undefined {
  if (!isStartRequested(vm)) return undefined;
  const { stateChangeRequests: _requests, ...status } = vm.status ?? {};
  const object: VirtualMachine = { ...vm, status };
  return { verb: 'replace', on: 'source', object, subresource: 'status' };
}

function keepOff(snapshot: RecordedRun): StepDecision {
  const decision = removeVmi(snapshot);
  if (decision.kind === 'write') return decision;
  const waiting = waitUntilStaysOff(snapshot);
  return waiting.kind === 'done' ? decision : waiting;
}

/** Waits until the VM has not been started again for a while. */
const waitUntilStaysOff = (snapshot: RecordedRun): StepDecision =>
  recordRestart(snapshot) ?? waitForOwner(snapshot, LIMIT_MS.staysOff) ?? DONE;

/** Records a start that the run has not seen: it had halted the VM itself, and KubeVirt has halted it since. */
function recordRestart({ source: { vm, now }, record }: RecordedRun): StepDecision | undefined {
  const isUnseen = record.halted === true && isHaltedByManager(vm, KUBEVIRT_MANAGER);
  if (!isUnseen || record.undone !== undefined) return undefined;
  return write('recording that the VM on the source was started again', {
    verb: 'replace',
    on: 'source',
    object: withRecord(vm, { ...record, undone: { at: new Date(now).toISOString() } }),
  });
}

/** Halts the VM in one write with the record, so that a later change back is known as another writer's. */
function halt(snapshot: RecordedRun): StepDecision {
  const { source, record } = snapshot;
  const { vm } = source;
  const isUndone = isStartedAgain(snapshot);
  const waiting =
    waitForOwner(snapshot, LIMIT_MS.haltAgain) ?? (isUndone ? undefined : waitForTool(snapshot));
  if (waiting !== undefined) return waiting;
  const undone = { at: new Date(source.now).toISOString(), ...starterOf(snapshot) };
  const halted = { ...record, halted: true as const, ...(isUndone && { undone }) };
  const removal = withoutStartRequests(vm);
  return write(
    `halting the VM ${describeName(vm)} on the source${isUndone ? ' again' : ''}`,
    // The removal comes before the halt, which must not wait for a right that is missing.
    ...(removal === undefined ? [] : [{ ...removal, isOptional: true as const }]),
    { verb: 'replace', on: 'source', object: withRecord(withStrategy(vm, 'Halted'), halted) },
  );
}

/**
 * Whether the VM was started again: it has another VMI than the one whose guest has left, or is about to get one, or the run had halted it.
 * KubeVirt halts a VM before it deletes that VMI. Edits of anything else, and KubeVirt's own writes, are no start.
 */
function isStartedAgain({ source, record }: RecordedRun): boolean {
  const { vm, vmi } = source;
  if (vmi !== undefined && ![vmi.metadata.uid, LOST_VMI].includes(record.vmi)) return true;
  if (record.halted === true) return isStartedByKubeVirt(vm);
  return vmi === undefined && isWantedRunning(source);
}

/** Whether KubeVirt starts the VM, which was Halted before: of those that a user may set, it leaves only Manual off until a start. */
const isStartedByKubeVirt = (vm: VirtualMachine): boolean =>
  vm.spec.runStrategy !== 'Manual' || isStartRequested(vm);

/** Names who started the VM again, if the run had halted it: the writer of its run strategy. */
function starterOf({ source: { vm }, record }: RecordedRun): { readonly by?: string } {
  if (record.halted !== true) return {};
  const by = otherOwners(vm);
  return by === '' ? {} : { by };
}

/**
 * Waits for so long after the VM was started again; undefined if it was not, or long ago. An owner that does so without end does not end the
 * run, and is reported once. The run halts the VM again all the same, because two copies must not run.
 */
function waitForOwner(snapshot: RecordedRun, ms: number): Wait | undefined {
  const { vm, now } = snapshot.source;
  const { undone } = snapshot.record;
  if (undone === undefined || now - Math.max(timeOf(undone.at), writtenAt(vm)) >= ms) return undefined;
  const by = undone.by === undefined ? '' : ` by the field manager ${undone.by}`;
  return wait(
    LIVE_REASON.sourceStartedAgain,
    `the VM ${describeName(vm)} on the source, whose guest has left, was started again${by}, and this run has halted it again` +
      adviceToEndSource(snapshot, snapshot.record.arrivedAt !== undefined),
  );
}

/** Waits for a moment where another writer does not leave the VM Halted, and does not start it either, so that both make no storm. */
function waitForTool({ source: { vm, now }, record }: RecordedRun): Wait | undefined {
  if (record.halted !== true || now - writtenAt(vm) >= LIMIT_MS.haltAgain) return undefined;
  const message = `the VM ${describeName(vm)} on the source is not Halted any more: this run halts it again in a moment`;
  return wait(LIVE_REASON.endingSource, message);
}

/** Deletes the VMI by its uid: its guest has left. A VMI other than the run's is deleted only while the guest runs on the target. */
function removeVmi(snapshot: RecordedRun): StepDecision {
  const { vmi } = snapshot.source;
  if (vmi === undefined) return removeVmim(snapshot);
  if (vmi.metadata.deletionTimestamp !== undefined)
    return wait(LIVE_REASON.endingSource, 'waiting until KubeVirt has removed the VMI on the source');
  return write(`deleting the VMI ${vmi.metadata.name} on the source, whose guest has left`, {
    verb: 'delete',
    on: 'source',
    object: vmi,
  });
}

/**
 * Waits for the VMIM, which KubeVirt deletes after its VMI. A VMIM that has not ended keeps KubeVirt's finalizers then, and would keep the
 * run from its end.
 */
function removeVmim({ source, record, run }: RecordedRun): StepDecision {
  const sent = vmimOf(source.vmims, run, record.attempt);
  if (sent === undefined) return DONE;
  const waiting = wait(LIVE_REASON.endingSource, 'waiting until KubeVirt has removed the VMIM on the source');
  return freeStuckVmim('source', sent, source) ?? waiting;
}

/**
 * Done when a user has done by hand what the message says: the VM on the target is gone, or it runs and the one on the source stays off.
 * Returns undefined if no user has.
 */
export function settledByHand(run: RecordedRun): StepDecision | undefined {
  const { source, target } = run;
  if (![...source.vmims, ...target.vmims].every(isGoneOrFinal)) return undefined;
  if (isTargetUp(run))
    return isOff(source.vm) && source.vmi === undefined ? waitUntilStaysOff(run) : undefined;
  // A VM on the target that is only off may have the newest data.
  const isGone = target.vm === undefined && target.vmi === undefined && target.pods.length === 0;
  return isGone ? DONE : undefined;
}
