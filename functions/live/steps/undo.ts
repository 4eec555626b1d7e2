import { abort, freeStuckVmim, isLeftToTarget } from '../guest/abort.ts';
import { isUndoLate } from '../run/deadlines.ts';
import { DONE, fail, wait, write, type LiveWrite, type StepDecision } from '../run/decision.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { LIVE_KUBEVIRT, LIVE_REASON } from '../../domain/live/names.ts';
import {
  hasGivenUp,
  isGoingDown,
  isHaltedByKubeVirt,
  isHaltedByMigration,
  isOff,
  isGoneOrFinal,
  isSourceAlive,
  isStartRequested,
  isWantedRunning,
  mayGiveUp,
  neverHadLauncher,
  receiverOf,
} from '../guest/proofs.ts';
import { HELD, isHeld, withRecord, withStrategy, type RunEnd } from '../run/record.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import { describe } from '../run/describe.ts';
import type { KubernetesObject } from '../../domain/objects.ts';

/**
 * Undoes the move of a VM that is not past its cut-over. First the VMIMs of every attempt are deleted, then the source VM is as it was, and then
 * everything that the run made is deleted. The VM on the target is deleted only when the guest was proved to run on the source, or never
 * had a launcher on the target; that is recorded first, because the deleted objects are part of the proof. `fail`: the run can do nothing
 * more by itself.
 */
export function decide(snapshot: RecordedRun, end: RunEnd): StepDecision {
  const { source } = snapshot;
  if (end.proved === true)
    return isHaltedByKubeVirt(snapshot) ? restore(snapshot) : afterAbort(snapshot, cleanUpAfterProof);
  // The target's own VMIM is proof of how it ended, so it stays until the source VM runs.
  if (!source.vmims.every(isGoneOrFinal)) return abort(snapshot);
  const freed = source.vmims.map((vmim) => freeStuckVmim('source', vmim, source)).find(Boolean);
  if (freed !== undefined) return freed;
  if (isHaltedByMigration(snapshot)) return restore(snapshot);
  // The proof is the target's VMIM, so it is recorded before that goes.
  if (isStopped(snapshot)) return recordProof(snapshot, end);
  const isProved = isSourceAlive(snapshot) || neverHadLauncher(snapshot);
  if (isProved) return afterAbort(snapshot, () => recordProof(snapshot, end));
  return hasNothing(snapshot) ? afterAbort(snapshot, cleanUp) : sourceDown(snapshot, end);
}

/** Whether a user has stopped the VM on the source in the copy, and the target has given up a guest that was never active there. */
const isStopped = (snapshot: RecordedRun): boolean =>
  isOff(snapshot.source.vm) && snapshot.source.vmi === undefined && hasGivenUp(snapshot);

/**
 * Whether the target has nothing in which the guest or its data could be: there is nothing to lose, and no reason to start the source VM.
 */
function hasNothing(snapshot: RecordedRun): boolean {
  const { vm, vmi, pods, made } = snapshot.target;
  const isEmpty =
    vm === undefined ? vmi === undefined && pods.length === 0 : receiverOf(snapshot) === undefined;
  return isEmpty && made?.volumes.length === 0;
}

/** Continues once no VMIM of the run is left. A crashed or late call may have made one again. */
function afterAbort(snapshot: RecordedRun, next: (snapshot: RecordedRun) => StepDecision): StepDecision {
  const aborted = abort(snapshot);
  const isFree = aborted.kind === 'done' || (aborted.kind === 'wait' && isLeftToTarget(snapshot));
  if (!isFree) return aborted;
  const decision = next(snapshot);
  return decision.kind === 'done' ? aborted : decision;
}

const recordProof = ({ source: { vm }, record }: RecordedRun, end: RunEnd): StepDecision =>
  write('recording that the guest is not on the target', {
    verb: 'replace',
    on: 'source',
    object: withRecord(vm, { ...record, end: { ...end, proved: true } }),
  });

function restore({ source: { vm, vmi }, record }: RecordedRun): StepDecision {
  const { held: _held, ...others } = record;
  const isOwnHold = isHeld(vm, record);
  const running = withStrategy(vm, isOwnHold ? HELD.from : record.runStrategy);
  return write(
    'starting the VM on the source again, which is kept down',
    vmi === undefined || isOwnHold
      ? { verb: 'replace', on: 'source', object: withRecord(running, others) }
      : { verb: 'delete', on: 'source', object: vmi },
  );
}

function sourceDown(snapshot: RecordedRun, { at }: RunEnd): StepDecision {
  const isHalted = isHaltedByKubeVirt(snapshot);
  // KubeVirt starts a VM that is Halted too where a start is requested.
  if (isStartRequested(snapshot.source.vm) || (isWantedRunning(snapshot.source) && !isHalted))
    return wait(LIVE_REASON.restoringSource, 'waiting until the VM runs on the source again');
  // KubeVirt halts the source first, and ends the migration on the target after that.
  if (isHalted && mayGiveUp(snapshot) && !isUndoLate(snapshot.hub.now, at))
    return wait(LIVE_REASON.restoringSource, 'waiting until the target has given the migration up');
  return fail(
    LIVE_REASON.sourceDownUndecided,
    'the VM does not run on the source, and nothing proves that its guest did not leave. Nothing is deleted on the target before the ' +
      'VM runs on the source again without a sign of its guest there',
  );
}

/**
 * Deletes the VM first, with the volumes that it owns; then the other objects. It deletes exactly the versions that showed no sign of the
 * guest.
 */
function cleanUp(snapshot: RecordedRun): StepDecision {
  const { target } = snapshot;
  const receiver = receiverOf(snapshot);
  if (receiver !== undefined) return cleanUpVm(receiver);
  const { volumes = [], unused = [] } = target.made ?? {};
  const left = [...volumes, ...unused];
  if (left.length === 0) return DONE;
  const due = left.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  if (due.length === 0) return wait(LIVE_REASON.cleaningUp, `waiting until ${namesOf(left)} are gone`);
  return write(`deleting ${namesOf(due)}`, ...due.map(remove));
}

/** Deletes the VM. It has the source VM's labels, also the one by which clusters refuse its deletion. */
function cleanUpVm(receiver: VirtualMachine): StepDecision {
  const { deletionTimestamp, labels: { [LIVE_KUBEVIRT.deleteProtection]: isProtected, ...labels } = {} } =
    receiver.metadata;
  if (deletionTimestamp !== undefined)
    return wait(LIVE_REASON.cleaningUp, 'waiting until the VM on the target is gone');
  if (isProtected === undefined) return write('deleting the VM that waits on the target', remove(receiver));
  const object = { ...receiver, metadata: { ...receiver.metadata, labels } };
  return write('taking the delete protection off the VM that waits on the target', {
    verb: 'replace',
    on: 'target',
    object,
  });
}

/**
 * Cleans up, then waits if KubeVirt is halting the source VM: it does so before it deletes the VMI, and the run restores the VM after that.
 */
function cleanUpAfterProof(snapshot: RecordedRun): StepDecision {
  const decision = cleanUp(snapshot);
  return decision.kind === 'done' && isGoingDown(snapshot.source)
    ? wait(
        LIVE_REASON.restoringSource,
        'waiting until KubeVirt has stopped the VM on the source, which it halted',
      )
    : decision;
}

const remove = (object: KubernetesObject): LiveWrite => ({
  verb: 'delete',
  on: 'target',
  object,
  asRead: true,
});

const namesOf = (objects: readonly KubernetesObject[]): string => objects.map(describe).join(', ');
