import { freeStuckVmims } from '../guest/abort.ts';
import { has } from '../../domain/live/conditions.ts';
import { migrationKnownBy } from '../guest/cut-over.ts';
import { isUndoLate } from '../run/deadlines.ts';
import {
  DONE,
  fail,
  waitUntil,
  type Fail,
  type LiveWrite,
  type StepDecision,
  type Wait,
} from '../run/decision.ts';
import type { VmStatus } from '../../domain/live/forklift.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { isPostHookDue, suspendHooks } from './hook.ts';
import { LIVE_CONDITION, LIVE_REASON, type LiveReason } from '../../domain/live/names.ts';
import { isOff, settledByHand } from '../guest/end-source.ts';
import { madeObjects, madeReceiver } from '../guest/made-objects.ts';
import { isOnTargetAlone } from '../guest/has-moved.ts';
import { isWantedRunning } from '../guest/proofs.ts';
import {
  isPastCutOver,
  recordIn,
  recordOf,
  withoutRecord,
  withRecord,
  type RunEnd,
  type RunRecord,
} from '../run/record.ts';
import type { RecordedRun, RunSnapshot } from '../run/snapshot.ts';
import { hasNothingLeft } from '../run/state.ts';
import { withSeenMarks } from '../guest/record-marks.ts';
import { waitingSince } from '../run/waiting-since.ts';
import { overruledEnd, finalOutcome } from '../run/outcome.ts';
import { describe } from '../run/describe.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import { rebuiltRecord } from './rebuild-record.ts';
import { COMPLETED, FIRST_STEPS, POST_HOOK, STEPS_THERE, TRANSFER, type RunStep } from './itinerary.ts';
import { decide as undo } from './undo.ts';

/** What a VM's run does next. */
export type RunDecision =
  | {
      readonly kind: 'write';
      readonly step: string;
      readonly writes: readonly LiveWrite[];
      readonly message: string;
    }
  | (Wait & { readonly step: string })
  | Ended;

/** Nothing more is done by itself but `release`, once the end is in the status of the Migration. */
export interface Ended {
  readonly kind: 'ended';
  readonly as: 'Succeeded' | 'Failed' | 'Canceled';
  readonly reason: LiveReason;
  readonly message: string;
  /** What the run made and could not take away, or must not; the run holds its objects until there is none. */
  readonly leftovers: readonly string[];
  /** Takes the record off the source VM. */
  readonly recordRemoval: readonly LiveWrite[];
}

/**
 * The next step of a VM, from what both clusters have. A mark of the cut-over is recorded before anything else is done. From then on
 * the run goes forward whatever is requested, and the VM on the target is never deleted.
 */
export function decide(snapshot: RunSnapshot): RunDecision {
  const decision = decideVm(snapshot);
  const isEnding = decision.kind === 'ended' || finalOutcome(recordIn(snapshot)) !== undefined;
  return isEnding && decision.kind !== 'write' ? (stopHooks(snapshot) ?? decision) : decision;
}

/** undefined: none runs, or that is refused for long. */
function stopHooks(snapshot: RunSnapshot): RunDecision | undefined {
  const decision = unlessRefused(suspendHooks(snapshot), snapshot.hub);
  return decision.kind === 'write' ? { step: 'Undo', ...decision } : undefined;
}

function decideVm(snapshot: RunSnapshot): RunDecision {
  const { vm } = snapshot.source;
  if (vm === undefined) return withoutSource(snapshot);
  const state = recordOf(vm, snapshot.run);
  if (state.kind === 'foreign') {
    const { message } = state;
    return ended('Failed', { reason: LIVE_REASON.vmInUse, message }, madeObjects(snapshot).map(describe));
  }
  if (state.kind === 'none') return withoutRecordOnVm(snapshot, vm);
  const { record } = state;
  const run: RecordedRun = { ...snapshot, record, source: { ...snapshot.source, vm } };
  return recordMarks(run) ?? (isPastCutOver(record) ? pastCutOver(run) : beforeCutOver(run));
}

/** Not begun; or begun, and the record was removed by somebody. */
function withoutRecordOnVm(snapshot: RunSnapshot, vm: VirtualMachine): RunDecision {
  const { hub } = snapshot;
  // What is left over at the end is looked at again, also where somebody removed the record then.
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
 * The end is recorded also where nothing has begun. Another process may be about to record the beginning, by what it read before a cancel:
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
  // What the VMI says of a migration between clusters is of an earlier one.
  const before = migrationKnownBy(snapshot.source.vmi);
  const record = { ...rebuiltRecord(snapshot, vm), attempt: 0, ...(before && { before }), end };
  return writeRecord(vm, record, `recording that the run ends: ${message}`);
}

/** The run has ended, and the record is off. */
export function shownEnd(status: VmStatus | undefined): Ended {
  const { succeeded, canceled } = LIVE_CONDITION;
  const other = has(status, canceled) ? 'Canceled' : 'Failed';
  return ended(has(status, succeeded) ? 'Succeeded' : other, {
    reason: LIVE_REASON.succeeded,
    message: '',
  });
}

/** The VM on the source is gone, and with it the record. Nothing can start there, and nothing proves where the guest is. */
function withoutSource(snapshot: RunSnapshot): RunDecision {
  const { hub } = snapshot;
  const before = hub.status?.completed === undefined ? undefined : shownEnd(hub.status);
  if (before?.as === 'Succeeded') return before;
  if (isOnTargetAlone(snapshot)) return before ?? arrivedWithoutSource(snapshot);
  const left = madeObjects(snapshot).map(describe);
  if (before !== undefined) return { ...before, leftovers: left };
  const advice = left.length === 0 ? '' : ': look at the target, and delete by hand what is not needed';
  const message = `the VM on the source was deleted before its guest was seen on the target${advice}`;
  return ended('Failed', { reason: LIVE_REASON.sourceGone, message }, left);
}

/** One that replaced the VM, as GitOps tools do, is no part of the run: only its owner can tell whether it is a second copy. */
function arrivedWithoutSource(snapshot: RunSnapshot): RunDecision {
  const { hub, source } = snapshot;
  const { successor } = source;
  if (successor === undefined || isOff(successor)) {
    if (isPostHookDue(snapshot)) return ended('Failed', NO_POST_HOOK);
    const message = 'the VM runs on the target; the one on the source was deleted';
    return ended('Succeeded', { reason: LIVE_REASON.succeeded, message });
  }
  const waiting = {
    reason: LIVE_REASON.sourceStartedAgain,
    message:
      `the VM ${describe(successor)} on the source, whose guest has left, was replaced by another one, which may run from disks that are ` +
      'out of date: set it to Halted, or delete it',
  };
  const until = waitingSince(hub, waiting.reason) + hub.settings.sourceMs;
  const decision = waitUntil({ now: hub.now, until }, waiting, LIVE_REASON.sourceNotVerified);
  if (decision.kind === 'fail') return ended('Failed', decision);
  return { step: TRANSFER.name, ...waiting, kind: 'wait' };
}

const NO_POST_HOOK = {
  reason: LIVE_REASON.hookFailed,
  message: 'the PostHook did not succeed before the VM on the source was deleted: run it by hand',
};

function recordMarks(run: RecordedRun): RunDecision | undefined {
  const next = withSeenMarks(run);
  return next === undefined
    ? undefined
    : writeRecord(run.source.vm, next, 'recording that the guest was seen on the target');
}

/** PUT of the source VM with another record. */
const writeRecord = (vm: VirtualMachine, record: RunRecord, message: string): RunDecision => ({
  kind: 'write',
  step: TRANSFER.name,
  message,
  writes: [{ verb: 'replace', on: 'source', object: withRecord(vm, record) }],
});

/** By a call that had read before the end was shown. */
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

/** A run that has shown its end only tidies up. */
function pastCutOver(run: RecordedRun): RunDecision {
  const isOpen = finalOutcome(run.record) === undefined && run.hub.status?.completed === undefined;
  return firstOpenStep(run, isOpen ? [TRANSFER, POST_HOOK, COMPLETED] : [TRANSFER, COMPLETED]) ?? finish(run);
}

/** The decision of the first step that is not done; undefined: all are. */
function firstOpenStep(run: RecordedRun, steps: readonly RunStep[]): RunDecision | undefined {
  for (const { name, decide: decideStep } of steps) {
    const decision = unlessRefused(decideStep(run), run.hub);
    if (decision.kind === 'fail')
      return isFirstEnd(run.record, decision)
        ? recordEnd(run, 'Failed', decision)
        : failPastCutOver(run, decision);
    if (decision.kind !== 'done') return { step: name, ...decision };
  }
  return undefined;
}

/** A hook that failed replaces an end that came too late. */
const isFirstEnd = (record: RunRecord, { reason }: Fail): boolean =>
  record.end === undefined || (finalOutcome(record) === undefined && reason === LIVE_REASON.hookFailed);

/** What has been refused for long is not tried any more. */
const unlessRefused = (decision: StepDecision, { refused }: RunSnapshot['hub']): StepDecision =>
  decision.kind === 'write' && refused !== undefined ? fail(LIVE_REASON.refused, refused) : decision;

/** The end is recorded first, so that the way back goes on after a crash. */
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

/** The VM runs on the target, and the one on the source is off. A hook that failed then changes nothing of that. */
function finish({ record, source }: RecordedRun): RunDecision {
  const { as, reason, message } = finalOutcome(record) ?? {
    as: 'Succeeded' as const,
    reason: LIVE_REASON.succeeded,
    message: ['the VM runs on the target', overruledEnd(record) ?? []].flat().join(': '),
  };
  return { ...ended(as, { reason: reason as LiveReason, message }), recordRemoval: removalOf(source.vm) };
}

/** Past the cut-over, and not to be decided by itself. A VM that has arrived is where it shall be. No cancel has kept it on the source. */
function failPastCutOver(run: RecordedRun, failure: Fail): RunDecision {
  const { record, source, target } = run;
  if (record.arrivedAt !== undefined) return ended('Failed', failure, leftoversWithRecord(run, []));
  const settled = settledByHand(run);
  if (settled === undefined) return ended('Failed', failure, leftoversWithRecord(run, madeReceiver(run)));
  const next = unlessRefused(settled.kind === 'done' ? freeStuckVmims(run) : settled, run.hub);
  if (next.kind === 'fail')
    return ended('Failed', next, leftoversWithRecord(run, [...source.vmims, ...target.vmims]));
  return next.kind === 'done'
    ? { ...ended('Failed', failure), recordRemoval: removalOf(source.vm) }
    : { step: TRANSFER.name, ...next };
}

const isUp = (source: RecordedRun['source']): boolean =>
  source.vmi?.status?.phase === 'Running' || isWantedRunning(source);

/** Everything is undone; what cannot be is listed after a while, and looked at again each time. */
function undoRun(run: RecordedRun, end: RunEnd): RunDecision {
  const { as, reason, message, at } = end;
  const decision = hasNothingToUndo(run) ? DONE : unlessRefused(undo(run, end), run.hub);
  if (decision.kind === 'done') {
    const isSaid = reason === LIVE_REASON.sourceStopped || isUp(run.source);
    const text = isSaid
      ? message
      : `${message}; the VM does not run on the source: start it there if it shall`;
    return {
      ...ended(as, { reason: reason as LiveReason, message: text }),
      recordRemoval: removalOf(run.source.vm),
    };
  }
  const left = leftoversWithRecord(run, madeObjects(run));
  // Where nothing proves that the VM stayed on the source, its user has not got what the cancel asked for.
  if (decision.kind === 'fail')
    return ended(decision.reason === LIVE_REASON.sourceDownUndecided ? 'Failed' : as, decision, left);
  if (decision.kind === 'wait' && isUndoLate(run.hub.now, at))
    return ended(as, { ...decision, message: `${message}; ${decision.message}` }, left);
  return { step: 'Undo', ...decision };
}

/** Before the first attempt nothing of KubeVirt's can have moved the guest. */
const hasNothingToUndo = (run: RecordedRun): boolean =>
  run.hub.refused === undefined && run.record.attempt === 0 && madeObjects(run).length === 0;

/** The record too: as long as it is there, no other run can move the VM. */
const leftoversWithRecord = ({ source }: RecordedRun, made: readonly KubernetesObject[]): string[] => [
  `the record of ${describe(source.vm)}`,
  ...made.map(describe),
];

const removalOf = (vm: RecordedRun['source']['vm']): readonly LiveWrite[] => [
  { verb: 'replace', on: 'source', object: withoutRecord(vm) },
];

const ended = (
  as: Ended['as'],
  { reason, message }: { readonly reason: LiveReason; readonly message: string },
  leftovers: readonly string[] = [],
): Ended => ({ kind: 'ended', as, reason, message, leftovers, recordRemoval: [] });
