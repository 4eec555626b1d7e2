import { freeStuckVmim } from './abort.ts';
import { runsOnTarget } from './cut-over.ts';
import { LIMIT_MS, timeOf } from '../run/deadlines.ts';
import { DONE, wait, write, type LiveWrite, type StepDecision, type Wait } from '../run/decision.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { LIVE_REASON } from '../../domain/live/names.ts';
import {
  isGoneOrFinal,
  isStartRequested,
  isUp,
  receiverOf,
  strategyOwners,
  vmimOf,
  writtenAt,
} from './proofs.ts';
import { strategyOf, withRecord, withStrategy } from '../run/record.ts';
import type { RecordedRun, RunSnapshot } from '../run/snapshot.ts';
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
      `the VM ${describeName(vm)} was started again on the source, from disks that are out of date, and the one on the target does ` +
        'not run: find out who started it, and stop one of them by hand',
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

/** Waits until no owner has started the VM again for a while; a start that is known is recorded. */
const waitUntilStaysOff = (snapshot: RecordedRun): StepDecision =>
  recordRestart(snapshot) ?? waitForOwner(snapshot, LIMIT_MS.staysOff) ?? DONE;

/**
 * Records a restart that left the VM halted. Since the run saw the VM on, it was halted, started and halted again: two writes of its spec
 * more than one halt.
 */
function recordRestart(snapshot: RecordedRun): StepDecision | undefined {
  const { source, record } = snapshot;
  if (specWrites(snapshot) < 3) return undefined;
  const generation = (source.vm.metadata.generation ?? 0) - 1;
  const undone = { at: new Date(source.now).toISOString(), by: 'unknown' };
  return write('recording that an owner has started the VM on the source again', {
    verb: 'replace',
    on: 'source',
    object: withRecord(source.vm, { ...record, generation, undone }),
  });
}

/** Halts the VM in one write with the record, so that a later change back is known as another writer's. */
function halt(snapshot: RecordedRun): StepDecision {
  const { source, record } = snapshot;
  const { vm } = source;
  const waiting = waitForOwner(snapshot, LIMIT_MS.haltAgain);
  if (waiting !== undefined) return waiting;
  const by = strategyOwners(vm).join(', ') || 'unknown';
  const undone = { at: new Date(source.now).toISOString(), by };
  const isUndone = isStartedAgain(snapshot);
  const { generation } = vm.metadata;
  const halted = { ...record, halted: true as const, generation, ...(isUndone && { undone }) };
  const removal = withoutStartRequests(vm);
  return write(
    `halting the VM ${describeName(vm)} on the source${isUndone ? ' again' : ''}`,
    // The removal comes before the halt, which must not wait for a right that is missing.
    ...(removal === undefined ? [] : [{ ...removal, isOptional: true as const }]),
    { verb: 'replace', on: 'source', object: withRecord(withStrategy(vm, 'Halted'), halted) },
  );
}

/**
 * Whether an owner has started the VM again. KubeVirt mostly halts it first, so an owner may undo that before the run has halted it: two
 * writes of the spec.
 */
const isStartedAgain = (snapshot: RecordedRun): boolean =>
  snapshot.record.halted === true || specWrites(snapshot) >= 2;

/**
 * Returns the present generation while the VM is on as the run knows it, else the recorded one. Otherwise two edits of something else
 * during the transfer would count as a start.
 */
export function generationOn({ source: { vm, vmi }, record }: RecordedRun): number | undefined {
  const isOn = strategyOf(vm) !== undefined && vmi?.metadata.uid === record.vmi && isUp(vmi);
  return isOn ? vm.metadata.generation : record.generation;
}

/**
 * Number of writes to the VM's spec since the run saw the VM on. Times in managedFields do not count them: any edit by the same manager
 * changes its time.
 */
const specWrites = ({ source: { vm }, record }: RecordedRun): number =>
  (vm.metadata.generation ?? 0) - (record.generation ?? Infinity);

/**
 * Waits for so long after an owner has started the VM again; undefined if none has, or long ago. An owner that does so without end does not
 * end the run, and is reported once. The run halts the VM again all the same, because two copies must not run.
 */
function waitForOwner(
  { source: { vm, now }, record: { undone } }: RecordedRun,
  ms: number,
): Wait | undefined {
  if (undone === undefined || now - Math.max(timeOf(undone.at), writtenAt(vm)) >= ms) return undefined;
  return wait(
    LIVE_REASON.sourceStartedAgain,
    `an owner (field manager ${undone.by}) has started the VM ${describeName(vm)} on the source again, whose guest has left, and it was ` +
      'halted again: set it to Halted there too, such as in the repository of a GitOps tool',
  );
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

/** Whether the guest runs on the target now. */
export const isTargetUp = (snapshot: RunSnapshot): boolean =>
  receiverOf(snapshot) !== undefined && runsOnTarget(snapshot.target);

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

/** Whether KubeVirt leaves the VM off, by its spec. */
export const isOff = ({ spec }: VirtualMachine): boolean =>
  spec.runStrategy === 'Halted' || spec.running === false;
