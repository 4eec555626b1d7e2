import { has, nextConditions, saysWait, type Finding } from '../../domain/live/conditions.ts';
import { withLeftovers } from '../run/leftovers.ts';
import type { PlanVm, RunTimes, StageError, VmReference, VmStatus } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION, LIVE_REASON } from '../../domain/live/names.ts';
import { ADVICE_IF_KEPT_DOWN } from '../guest/advice.ts';
import { editsNotOnTarget } from '../on-target/edits.ts';
import { isOnTargetAlone } from '../guest/has-moved.ts';
import { leftOnTarget } from '../guest/left-on-target.ts';
import { isDownByNextCrash, isDownByNextCrashThere } from '../guest/proofs.ts';
import { recordIn, type RunRecord } from '../run/record.ts';
import type { RunSnapshot } from '../run/snapshot.ts';
import { overruledEnd, finalOutcome } from '../run/outcome.ts';
import type { Ended, RunDecision } from '../run/decision.ts';
import { TRANSFER } from '../steps/itinerary.ts';
import { defined } from './defined.ts';
import { doneIn, pipelineAt, stepsOf } from './pipeline.ts';
import { cutOverOf, withCutOver } from './cut-over-condition.ts';
import { editsFinding, NEXT_CRASH_THERE, overFinding } from './after-move.ts';
import { waitingFinding } from './waiting.ts';

/** A VM of a run, with the present decision. */
export interface DecidedVm {
  /** The VM's entry in the plan. */
  readonly entry: PlanVm;
  /** The snapshot; left out if a cluster could not be read. */
  readonly snapshot?: RunSnapshot | undefined;
  readonly decision: RunDecision;
}

/** The phase of a VM that goes back. */
const UNDO = 'Undo';
/** Forklift's last phase, also of VMs that failed. */
const ENDED = 'Completed';
export const isGoingBack = ({ phase }: VmStatus): boolean => phase === UNDO;

/** The phase of a VM that has not begun. */
const FIRST = 'Validate';

/** Returns the status of a VM of which nothing is known yet. */
export const newVmStatus = (entry: PlanVm): VmStatus => ({
  ...entry,
  ...(entry.targetName ? { newName: entry.targetName } : {}),
  phase: FIRST,
  pipeline: pipelineAt(stepsOf(entry), [], { done: 0, times: {}, time: '' }),
});

/**
 * Returns the status of a VM by the decision about it. Its pipeline and its times never go back, and a VM that has ended is never reopened:
 * only its leftovers change then. `clockNow`: milliseconds, used if the hub's API server gave no time.
 */
export function nextVmStatus(
  { entry, snapshot, decision }: DecidedVm,
  before: VmStatus | undefined,
  clockNow: number,
): VmStatus {
  // Deadlines count from times in the status (waiting-since.ts), so both are of one clock.
  const now = snapshot?.hub.now ?? clockNow;
  const known = before ?? newVmStatus(entry);
  const time = timeText(now);
  const record = snapshot === undefined ? undefined : recordIn(snapshot);
  const cutOver = cutOverOf({ snapshot, decision }, record);
  if (known.completed !== undefined) return withDecidedLeftovers(withCutOver(known, cutOver, time), decision);
  const times = timesOf(known, decision, time);
  const phase = phaseOf({ entry, snapshot, decision }, before);
  const error = errorOf(known, decision, record);
  const pipeline = pipelineAt(stepsOf(entry), known.pipeline, {
    ...{ done: doneOf({ entry, decision }, known, phase), times, error, time },
    reason: decision.kind === 'wait' ? decision.message : undefined,
  });
  const findings = [
    ...cutOver.findings,
    ...(decision.kind === 'ended'
      ? endFindings(decision, snapshot, record)
      : waitFindings(decision, known, now)),
    ...(isUnknown(decision) ? waitsOf(known) : []),
  ];
  const { error: _, ...rest } = known;
  const conditions = nextConditions(known.conditions ?? [], findings, time).filter(cutOver.stays);
  const next: VmStatus = {
    ...{ ...rest, ...entry, ...idsOf(snapshot, known), ...times, ...defined({ error }) },
    ...{ phase, pipeline, conditions },
  };
  return withDecidedLeftovers(next, decision);
}

/** Returns the times of the VM. A VM that waits at the first step has not begun. */
function timesOf({ started }: VmStatus, decision: RunDecision, time: string): RunTimes {
  const isToBegin = decision.kind === 'wait' && decision.step === FIRST;
  return {
    ...(started === undefined && isToBegin ? {} : { started: started ?? time }),
    ...(decision.kind === 'ended' ? { completed: time } : {}),
  };
}

/** RFC 3339 with whole seconds, as Kubernetes writes times. */
export const timeText = (now: number): string => new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');

/**
 * Returns the step of the VM. Without a snapshot nothing is known, and a write to the record has the transfer's name wherever the VM is:
 * then the VM is still where it was.
 */
function phaseOf({ snapshot, decision }: DecidedVm, before: VmStatus | undefined): string {
  if (decision.kind === 'ended') return ENDED;
  const isRecord = decision.kind === 'write' && decision.step === TRANSFER.name;
  return (isRecord || snapshot === undefined) && before !== undefined ? before.phase : decision.step;
}

function doneOf({ entry, decision }: DecidedVm, known: VmStatus, phase: string): number {
  const steps = stepsOf(entry);
  if (decision.kind === 'ended' && decision.as === 'Succeeded') return steps.length;
  const due = steps.findIndex(({ name }) => decision.kind !== 'ended' && name === phase);
  return Math.max(due, doneIn(known.pipeline));
}

/** Returns where a VM failed, and why: known when it begins to go back. */
function errorOf(
  known: VmStatus,
  decision: RunDecision,
  record: RunRecord | undefined,
): StageError | undefined {
  const phase = known.error?.phase ?? known.phase;
  if (decision.kind === 'ended')
    return decision.as === 'Failed' ? { phase, reasons: [decision.message] } : undefined;
  const end = finalOutcome(record);
  if (end?.as === 'Failed') return { phase, reasons: [end.message] };
  // The end came too late.
  return record?.end === undefined ? known.error : undefined;
}

/**
 * Findings at the end of a VM. `record`: of this run, while the VM has it. A VM that is on the target, however its run ended, has other
 * findings than one that is not.
 */
function endFindings(decision: Ended, snapshot: RunSnapshot | undefined, record?: RunRecord): Finding[] {
  const isAlone = snapshot !== undefined && isOnTargetAlone(snapshot);
  const isThere = decision.as === 'Succeeded' || record?.arrivedAt !== undefined || isAlone;
  return [
    ...(isThere
      ? [...overOf(snapshot), ...haltsThere(snapshot), ...editsOf(snapshot)]
      : haltsOf(snapshot, decision)),
    endFinding(decision, snapshot, overruledEnd(record)),
  ];
}

/** The finding that the VM is over its quota for good, because only a VMMRQ let it in (L8). */
const overOf = (snapshot: RunSnapshot | undefined): Finding[] =>
  [snapshot?.target.over ?? ''].filter((over) => over !== '').map(overFinding);

/** The finding that a failed attempt leaves on the source. */
function haltsOf(snapshot: RunSnapshot | undefined, { leftovers }: Ended): Finding[] {
  if (snapshot === undefined || !isDownByNextCrash(snapshot.source)) return [];
  const suggestion = 'Migrate it once within its cluster (virtctl migrate), which clears that.';
  return [
    {
      ...{ type: LIVE_CONDITION.nextCrashHalts, category: 'Warn', durable: true },
      message:
        'KubeVirt does not start the VM on the source again after its next crash or restart, because its last migration failed.',
      suggestion: `${suggestion}${leftovers.length === 0 ? ADVICE_IF_KEPT_DOWN : ''}`,
    },
  ];
}

/** The finding that a success leaves on the target. */
const haltsThere = (snapshot: RunSnapshot | undefined): Finding[] =>
  snapshot !== undefined && isDownByNextCrashThere(snapshot.target) ? [NEXT_CRASH_THERE] : [];

/** The finding of edits of the source VM that are not on the target. */
const editsOf = (snapshot: RunSnapshot | undefined): Finding[] =>
  snapshot === undefined ? [] : editsFinding(editsNotOnTarget(snapshot));

function waitFindings(decision: RunDecision, { started, conditions = [] }: VmStatus, now: number): Finding[] {
  const mayTakeLong = started === undefined;
  return decision.kind === 'wait' ? [waitingFinding(decision, conditions, { now, mayTakeLong })] : [];
}

/** The finding of the end. `late`: the end that came too late. */
function endFinding({ as, reason }: Ended, snapshot: RunSnapshot | undefined, late?: string): Finding {
  const stays = snapshot === undefined ? [] : leftOnTarget(snapshot);
  const suggestion = `These stay on the target: ${stays.join(', ')}. Delete by hand what nothing uses.`;
  return {
    ...END[as],
    ...(as === 'Succeeded' && late !== undefined && { message: `The VM migration has SUCCEEDED: ${late}.` }),
    ...{ reason, ...(stays.length > 0 && { suggestion }) },
  };
}

/** Whether the decision is the wait for a cluster that does not answer. */
export const isUnknown = (decision: RunDecision): boolean =>
  decision.kind === 'wait' && decision.reason === LIVE_REASON.clusterUnknown;

/** Waits from before the VM could not be read; they probably last. */
const waitsOf = ({ conditions = [] }: VmStatus): Finding[] =>
  conditions
    .filter((each) => saysWait(each) && each.reason !== LIVE_REASON.clusterUnknown)
    .map(({ lastTransitionTime: _time, status: _status, ...finding }) => finding as Finding);

const END: Readonly<Record<Ended['as'], Finding>> = {
  Succeeded: {
    ...{ type: LIVE_CONDITION.succeeded, category: 'Advisory', durable: true },
    message: 'The VM migration has SUCCEEDED.',
  },
  Failed: {
    ...{ type: LIVE_CONDITION.failed, category: 'Advisory', durable: true },
    message: 'The VM migration has FAILED.',
  },
  Canceled: {
    ...{ type: LIVE_CONDITION.canceled, category: 'Advisory', durable: true },
    message: 'The migration has been canceled.',
  },
};

/** Returns id, name and namespace of the VM as found, which Forklift's UI needs. */
function idsOf(snapshot: RunSnapshot | undefined, known: VmStatus): VmReference {
  const { uid: id, name, namespace } = snapshot?.source.vm?.metadata ?? { ...known, uid: known.id };
  return defined({ id, name, namespace });
}

const withDecidedLeftovers = (vm: VmStatus, decision: RunDecision): VmStatus =>
  decision.kind === 'ended' ? withLeftovers(vm, decision.leftovers) : vm;

/** Returns the end of a VM; undefined if it has not ended. */
export function endOf(vm: VmStatus): Ended['as'] | undefined {
  if (vm.completed === undefined) return undefined;
  if (has(vm, LIVE_CONDITION.succeeded)) return 'Succeeded';
  return has(vm, LIVE_CONDITION.canceled) ? 'Canceled' : 'Failed';
}
