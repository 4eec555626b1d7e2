import { freeStuckVmims } from '../guest/abort.ts';
import { ADVICE_AFTER_UNDO } from '../guest/advice.ts';
import { migrationKnownBy } from '../guest/cut-over.ts';
import { waitFor } from '../../domain/live/conditions.ts';
import { isUndoLate } from '../run/deadlines.ts';
import { DONE, type Fail, type LiveWrite, type RunDecision } from '../run/decision.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { suspendHooks } from './hook.ts';
import { LIVE_REASON, type LiveReason } from '../../domain/live/names.ts';
import { settledByHand } from '../guest/end-source.ts';
import { madeObjects, madeReceiver } from '../guest/made-objects.ts';
import { isWantedRunning } from '../guest/proofs.ts';
import {
  HELD,
  isPastCutOver,
  recordIn,
  recordOf,
  withoutRecord,
  withRecord,
  type RunEnd,
  type RunRecord,
  staysHeld,
} from '../run/record.ts';
import type { RecordedRun, RunSnapshot } from '../run/snapshot.ts';
import { hasNothingLeft } from '../run/state.ts';
import { withSeenMarks } from '../guest/record-marks.ts';
import { overruledEnd, finalOutcome, isLasting } from '../run/outcome.ts';
import { describe } from '../run/describe.ts';
import { withMovedTo } from '../guest/moved-to.ts';
import { vmInUse } from '../guest/vm-in-use.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import { rebuiltRecord } from './rebuild-record.ts';
import {
  COMPLETED,
  FIRST_STEPS,
  POST_HOOK,
  STEPS_THERE,
  TARGET_RUNS,
  TRANSFER,
  type RunStep,
} from './itinerary.ts';
import { ended, shownEnd, unlessRefused } from './ends.ts';
import { decide as undo } from './undo.ts';
import { withoutSource } from './without-source.ts';

/**
 * Decides the next step of a VM, by the objects of both clusters. A mark of the cut-over is recorded before anything else is done. From
 * then on the run goes forward whatever is requested, and the VM on the target is never deleted.
 */
export function decide(snapshot: RunSnapshot): RunDecision {
  const decision = decideVm(snapshot);
  const isEnding = decision.kind === 'ended' || finalOutcome(recordIn(snapshot)) !== undefined;
  return isEnding && decision.kind !== 'write' ? (stopHooks(snapshot) ?? decision) : decision;
}

/** Suspends the hooks; undefined if none runs, or if that is refused for long. */
function stopHooks(snapshot: RunSnapshot): RunDecision | undefined {
  const decision = unlessRefused(suspendHooks(snapshot), snapshot.hub);
  return decision.kind === 'write' ? { step: 'Undo', ...decision } : undefined;
}

function decideVm(snapshot: RunSnapshot): RunDecision {
  const { vm } = snapshot.source;
  if (vm === undefined) return withoutSource(snapshot);
  const state = recordOf(vm, snapshot.run);
  if (state.kind === 'foreign') {
    const message = vmInUse(vm, state.record);
    return ended('Failed', { reason: LIVE_REASON.vmInUse, message }, madeObjects(snapshot).map(describe));
  }
  if (state.kind === 'none') return withoutRecordOnVm(snapshot, vm);
  const { record } = state;
  return decideRecorded({ ...snapshot, record, source: { ...snapshot.source, vm } });
}

/**
 * Decides about a VM with a record. A mark that is seen first is recorded by the write that halts the source VM, or by one of its own if a
 * write was refused: it must not be lost with a halt.
 */
function decideRecorded(run: RecordedRun): RunDecision {
  const marked = withSeenMarks(run);
  if (marked === undefined) return isPastCutOver(run.record) ? pastCutOver(run) : beforeCutOver(run);
  const decision = pastCutOver({ ...run, record: marked });
  const isAlone = waitFor(run.hub.status?.conditions, LIVE_REASON.refused) !== undefined;
  return !isAlone && isRecordedBy(decision, marked, run)
    ? decision
    : writeRecord(run.source.vm, marked, 'recording that the guest may be on the target');
}

/** Whether the first write of the decision is of the source VM, and records the marks. */
function isRecordedBy(decision: RunDecision, { marks, arrivedAt }: RunRecord, { run }: RecordedRun): boolean {
  const [first] = decision.kind === 'write' ? decision.writes : [];
  if (first?.verb !== 'replace' || first.on !== 'source' || first.subresource !== undefined) return false;
  const written = recordIn({ source: { vm: first.object as VirtualMachine }, run });
  return written?.marks.length === marks.length && written.arrivedAt === arrivedAt;
}

/** Decides about a VM that has not begun, or whose record was removed by a user. */
function withoutRecordOnVm(snapshot: RunSnapshot, vm: VirtualMachine): RunDecision {
  const { hub } = snapshot;
  // Leftovers at the end are decided about again, also if a user removed the record then.
  if (!hasNothingLeft(hub.status) && madeObjects(snapshot).length > 0)
    return writeRecord(vm, rebuiltRecord(snapshot, vm), 'recording again what was removed');
  if (hub.status?.completed !== undefined) return shownEnd(hub.status);
  if (hub.stop !== undefined) return endUnbegun(snapshot, vm, { as: 'Canceled', ...hub.stop });
  for (const { name, decide: decideStep } of FIRST_STEPS) {
    const decision = unlessRefused(decideStep(snapshot), hub);
    if (decision.kind === 'fail') return endUnbegun(snapshot, vm, { as: 'Failed', ...decision });
    if (decision.kind !== 'done') return { step: name, ...decision };
  }
  throw new Error('Started is done only with a record');
}

/**
 * Records the end also if nothing has begun. Another process may be about to record the beginning, by objects that it read before a cancel:
 * its write fails then.
 */
function endUnbegun(
  snapshot: RunSnapshot,
  vm: VirtualMachine,
  { as, reason, message }: Pick<RunEnd, 'as' | 'message'> & { readonly reason: LiveReason },
): RunDecision {
  const { refused, now } = snapshot.hub;
  if (refused !== undefined) return ended(as, { reason, message });
  const end = { as, reason, message, at: new Date(now).toISOString() };
  // The VMI's state of a migration between clusters is of an earlier one.
  const before = migrationKnownBy(snapshot.source.vmi);
  const record = { ...rebuiltRecord(snapshot, vm), attempt: 0, ...(before && { before }), end };
  return writeRecord(vm, record, `recording that the run ends: ${message}`);
}

/** PUT of the source VM with another record. */
const writeRecord = (vm: VirtualMachine, record: RunRecord, message: string): RunDecision => ({
  kind: 'write',
  step: TRANSFER.name,
  message,
  writes: [{ verb: 'replace', on: 'source', object: withRecord(vm, record) }],
});

/** The end of a run that began by a call that had read before the end was written. */
const BEGUN_LATE = {
  reason: LIVE_REASON.refused,
  message: 'the run began after its end was shown',
};

function beforeCutOver(run: RecordedRun): RunDecision {
  const { record, hub } = run;
  if (record.end !== undefined) return undoRun(run, record.end);
  if (hub.stop !== undefined) return recordEnd(run, 'Canceled', hub.stop);
  if (hub.status?.completed !== undefined) return recordEnd(run, 'Failed', BEGUN_LATE);
  return firstOpenStep(run, [...FIRST_STEPS, ...STEPS_THERE, TRANSFER]) ?? finish(run);
}

/** Continues past the cut-over. A run that has its end in the status only tidies up. */
const pastCutOver = (run: RecordedRun): RunDecision =>
  firstOpenStep(run, [
    TRANSFER,
    ...(isOpen(run) ? [POST_HOOK] : []),
    COMPLETED,
    ...(asksForGuest(run) ? [TARGET_RUNS] : []),
  ]) ?? finish(run);

const isOpen = ({ record, hub }: RecordedRun): boolean =>
  finalOutcome(record) === undefined && hub.status?.completed === undefined;

/** Whether the end still has to say if the guest runs on the target. A hook may have failed because it does not. */
const asksForGuest = ({ record, hub }: RecordedRun): boolean =>
  hub.status?.completed === undefined && record.end?.reason !== LIVE_REASON.targetNotRunning;

/** Returns the decision of the first step that is not done; undefined if all are. */
function firstOpenStep(run: RecordedRun, steps: readonly RunStep[]): RunDecision | undefined {
  for (const { name, decide: decideStep } of steps) {
    const decision = unlessRefused(decideStep(run), run.hub);
    if (decision.kind === 'fail')
      return isNextEnd(run.record, decision)
        ? recordEnd(run, 'Failed', withEarlier(run.record, decision))
        : failPastCutOver(run, decision);
    if (decision.kind !== 'done') return { step: name, ...decision };
  }
  return undefined;
}

/**
 * Whether the failure becomes the run's end. One that lasts replaces an end that came too late, and a guest that does not run any end that
 * says less.
 */
const isNextEnd = (record: RunRecord, { reason }: Fail): boolean =>
  record.end === undefined ||
  reason === LIVE_REASON.targetNotRunning ||
  (finalOutcome(record) === undefined && isLasting(reason));

/** The failure, with the end that it replaces and that stays true. */
function withEarlier(record: RunRecord, failure: Fail): Fail {
  const earlier = finalOutcome(record);
  return earlier === undefined ? failure : { ...failure, message: `${failure.message}; ${earlier.message}` };
}

/** Records the end first, so that the way back goes on after a crash. */
const recordEnd = (
  run: RecordedRun,
  as: RunEnd['as'],
  { reason, message }: Pick<Fail, 'reason' | 'message'>,
): RunDecision =>
  writeRecord(
    run.source.vm,
    { ...run.record, end: { as, reason, message, at: new Date(run.hub.now).toISOString() } },
    `recording that the run ends: ${message}`,
  );

/**
 * Ends the run. After a success the VM runs on the target, and the one on the source is off. A hook that failed then changes nothing of
 * that.
 */
function finish(run: RecordedRun): RunDecision {
  const { record } = run;
  const { as, reason, message } = finalOutcome(record) ?? {
    as: 'Succeeded' as const,
    reason: LIVE_REASON.succeeded,
    message: ['the VM runs on the target', overruledEnd(record) ?? []].flat().join(': '),
  };
  return {
    ...ended(as, { reason: reason as LiveReason, message }),
    recordRemoval: removalOf(withMovedTo(run), run),
  };
}

/**
 * Fails past the cut-over, where only a user can decide. A VM that has arrived is where it shall be. A cancel has not kept it on the
 * source.
 */
function failPastCutOver(run: RecordedRun, failure: Fail): RunDecision {
  const { record, source, target } = run;
  if (record.arrivedAt !== undefined) return ended('Failed', failure, leftoversWithRecord(run, []));
  const settled = settledByHand(run);
  if (settled === undefined) return ended('Failed', failure, leftoversWithRecord(run, madeReceiver(run)));
  const next = unlessRefused(settled.kind === 'done' ? freeStuckVmims(run) : settled, run.hub);
  if (next.kind === 'fail')
    return ended('Failed', next, leftoversWithRecord(run, [...source.vmims, ...target.vmims]));
  if (next.kind !== 'done') return { step: TRANSFER.name, ...next };
  const failed = { ...failure, message: `${failure.message}${keptStrategy(run)}` };
  return { ...ended('Failed', failed), recordRemoval: removalOf(withMovedTo(run), run) };
}

/** Says that the source VM keeps the strategy that the run has given it; empty if it does not. */
const keptStrategy = ({ source, record }: RecordedRun): string =>
  staysHeld(source, record)
    ? `; the VM on the source keeps the runStrategy ${HELD.to} of its move, and had ${HELD.from}`
    : '';

const isUp = (source: RecordedRun['source']): boolean =>
  source.vmi?.status?.phase === 'Running' || isWantedRunning(source);

/** Undoes everything. Objects that cannot be undone are listed after a while, and tried again each time. */
function undoRun(run: RecordedRun, end: RunEnd): RunDecision {
  const { as, reason, message, at } = end;
  const decision = hasNothingToUndo(run) ? DONE : unlessRefused(undo(run, end), run.hub);
  if (decision.kind === 'done') {
    const needsNoHint = reason === LIVE_REASON.sourceStopped || isUp(run.source);
    const text = `${message}${needsNoHint ? '' : `; ${ADVICE_AFTER_UNDO}`}${keptStrategy(run)}`;
    return {
      ...ended(as, { reason: reason as LiveReason, message: text }),
      recordRemoval: removalOf(run.source.vm, run),
    };
  }
  const left = leftoversWithRecord(run, madeObjects(run));
  // If nothing proves that the VM stayed on the source, the cancel has not done what its user wanted.
  if (decision.kind === 'fail')
    return ended(decision.reason === LIVE_REASON.sourceDownUndecided ? 'Failed' : as, decision, left);
  if (decision.kind === 'wait' && isUndoLate(run.hub.now, at))
    return ended(as, { ...decision, message: `${message}; ${decision.message}` }, left);
  return { step: 'Undo', ...decision };
}

/** Whether nothing is to undo: before the first attempt KubeVirt cannot have moved the guest. */
const hasNothingToUndo = (run: RecordedRun): boolean =>
  run.hub.refused === undefined && run.record.attempt === 0 && madeObjects(run).length === 0;

/** The leftovers with the record: as long as it is there, no other run can move the VM. */
const leftoversWithRecord = ({ source }: RecordedRun, made: readonly KubernetesObject[]): string[] => [
  `the record of ${describe(source.vm)}`,
  ...made.map(describe),
];

const removalOf = (vm: VirtualMachine, { source }: RecordedRun): readonly LiveWrite[] => [
  { verb: 'replace', on: 'source', object: withoutRecord(vm, source.vmi) },
];
