import type { LiveWrite } from '../../../functions/live/run/decision.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import type { ResourceType } from '../../../functions/kubernetes/cluster.ts';
import type { Side } from '../../cluster/kubevirt/decentralized/sides.ts';
import { FULL_MIGRATIONS, FULL_VMIS, VMS } from '../../cluster/kubevirt/objects/objects.ts';
import type { Vm, Vmim } from '../../cluster/kubevirt/objects/types.ts';
import { DATA_VOLUMES, isRecorded, NAME, type Clusters } from './world/clusters.ts';
import { brokenByWhatLasts } from './after-move.ts';
import { stepOf, type Hooks } from './world/hooks.ts';
import type { Hub, ShownEnd } from './world/hub.ts';
import type { Truth } from './world/truth.ts';

export type { Rule } from './rule.ts';

export const ruleOf = (violation: string): string => violation.split(':')[0] ?? '';

export interface Checked {
  readonly clusters: Clusters;
  readonly truth: Truth;
  readonly hooks: Hooks;
  /** A user has changed, stopped, started or deleted something: it need not be as it was. */
  readonly isTouched: boolean;
  /** A user has given the run up. */
  readonly isGivenUp: boolean;
  /** The Migration shows the end of the VM. */
  readonly hasEnded: boolean;
  /** When the run has halted the source VM since a user last touched anything (a removed record does not tell of it), milliseconds. */
  readonly halts: readonly number[];
  /** When an owner has started it again since then, milliseconds. */
  readonly starts: readonly number[];
  /** When the guest last ran on the target, milliseconds. */
  readonly lastOnTarget: number;
  /**
   * Whether another call than the one that ended the recorded run has made it, after that one's last reading. A create has no precondition
   * on the record, so such an object stays: no call can remove it safely, because the guest may run in it by then.
   */
  readonly isLate: (object: KubernetesObject) => boolean;
}

interface CheckedWrite extends Checked {
  /** When the call that writes began to read, milliseconds. */
  readonly readSince: number;
  /** A user has canceled, archived, deleted or given up the run before the call began. */
  readonly isStopped: boolean;
  /** Its user has lost the rights that it needs before the call began to read. */
  readonly isForbidden: boolean;
  /** The end was shown after the call had begun to read. */
  readonly isEndNews: boolean;
}

/** What shows an end. */
export interface CheckedEnding extends Omit<CheckedWrite, 'isStopped' | 'isForbidden' | 'isEndNews'> {
  /** When the call that shows it began, milliseconds: the excess of the namespace over its quotas is read once in a call. */
  readonly began: number;
}

/** An owner starts it again each time: the run does not do so at once, and does not end either. */
const NOT_AT_ONCE_MS = 5_000;
const NOT_OVER_MS = 300_000;
/** A VMI says so long that its guest runs, after it has ended. */
const VMI_LAGS_MS = 1_000;

/** What a write of the run would break; undefined: nothing. Asked just before it is sent. */
export function brokenBy(checked: CheckedWrite, write: LiveWrite): string | undefined {
  const { verb, on, object } = write;
  if (verb === 'create') return makes(checked, write);
  const isOfVm = on === 'source' && object.kind === VMS.kind;
  if (verb === 'replace' && isOfVm) return replacesSource(checked, object as Vm);
  const foreign = on === 'target' ? takesForeign(checked, object) : undefined;
  return foreign ?? (verb === 'delete' ? deletes(checked, write) : undefined);
}

function deletes(checked: CheckedWrite, { on, object }: LiveWrite): string | undefined {
  const { kind } = object;
  if (kind === FULL_MIGRATIONS.kind) return aborts(checked);
  if (on === 'target') return deletesOnTarget(checked, object);
  return kind === FULL_VMIS.kind ? (endsSource(checked) ?? startsAgain(checked)) : undefined;
}

function makes(
  { isStopped, isForbidden, hooks, isTouched }: CheckedWrite,
  { on, object }: LiveWrite,
): string | undefined {
  if (isStopped) return `L3: ${object.kind ?? ''} is made on the ${on} though the run is to end`;
  if (isForbidden) return `L6: ${object.kind ?? ''} is made on the ${on} for a user who may not`;
  const isEarly = hooks.steps.includes('PreHook') && !hooks.succeeded.has('PreHook') && !isTouched;
  return isEarly
    ? `L5: ${object.kind ?? ''} is made on the ${on} before the PreHook has succeeded`
    : undefined;
}

/** What a Job of a hook breaks that the run is about to start. A call may be late, so that this is refused. */
export function brokenByJob(checked: Checked, { object }: LiveWrite): string | undefined {
  const { clusters, truth, hooks, isTouched } = checked;
  const step = stepOf(object as KubernetesObject);
  if (isTouched) return undefined;
  if ((hooks.started.get(step) ?? 0) > 0) return `L5: the ${step} is run twice`;
  if (step === 'PreHook') return undefined;
  return truth.hasMoved && isOff(clusters, clusters.vm('source'))
    ? undefined
    : 'L5: the PostHook is run before the source VM is off';
}

const replacesSource = (checked: CheckedWrite, after: Vm): string | undefined =>
  beginsAgain(checked, after) ?? startsStopped(checked, after) ?? changesSource(checked, after);

/** Whether the write turns the source VM off, which was on. */
export const haltsSource = ({ verb, on, object }: LiveWrite, clusters: Clusters): boolean =>
  verb === 'replace' &&
  on === 'source' &&
  object.kind === VMS.kind &&
  strategyIn(object as Vm) === 'Halted' &&
  clusters.vm('source')?.spec.runStrategy !== 'Halted';

function takesForeign({ clusters }: Checked, { kind, metadata }: LiveWrite['object']): string | undefined {
  const type = MADE.find((one) => one.kind === kind);
  const stored = type && clusters.one('target', type, metadata.name);
  return stored === undefined || stored.metadata.labels !== undefined
    ? undefined
    : `L6: a ${kind ?? ''} of the target that the run did not make is changed or deleted`;
}

/** libvirt refuses it, so that a write which is late does no harm. */
const aborts = ({ truth, readSince }: CheckedWrite): string | undefined =>
  truth.isSplit && truth.splitSince < readSince
    ? 'L2: the migration of a guest in post-copy is aborted'
    : undefined;

function deletesOnTarget({ clusters, truth }: Checked, object: LiveWrite['object']): string | undefined {
  const { kind = '' } = object;
  if (truth.isLost && isMarked(clusters.vm('source')))
    return `L2: ${kind} of a guest that was seen to leave, and was lost, is deleted`;
  if (truth.runs('target')) return `L2: ${kind} of the copy that runs on the target is deleted`;
  return truth.hasMoved && !truth.isEmpty(object) ? `L2: ${kind} with the newest data is deleted` : undefined;
}

function endsSource({ truth, lastOnTarget, readSince }: CheckedWrite): string | undefined {
  if (truth.isSplit) return 'L2: the guest is in post-copy, and the VMI of the source is ended';
  if (!truth.hasMoved)
    return truth.runs('source') ? 'L2: the original runs on the source, and its VMI is ended' : undefined;
  // One cluster is read and the other written: no precondition spans both, so the copy on the target may stop in between.
  return truth.runs('source') && lastOnTarget < readSince - VMI_LAGS_MS
    ? 'L2: the only running copy is on the source, and its VMI is ended'
    : undefined;
}

/** KubeVirt makes another VMI at once for a VM that shall always run. Nobody can see to it that no user says so meanwhile. */
function startsAgain({ clusters, truth, isTouched }: Checked): string | undefined {
  const vm = clusters.vm('source');
  const isWanted =
    vm !== undefined && truth.hasMoved && !isTouched && ['running', 'Always'].includes(strategyIn(vm));
  return isWanted
    ? 'L1: the VMI of a source VM that shall run is deleted, and the guest has moved'
    : undefined;
}

function beginsAgain(
  { clusters, hasEnded, isForbidden, isTouched, isEndNews }: CheckedWrite,
  after: Vm,
): string | undefined {
  const isNew = !isRecorded(clusters.vm('source')) && isRecorded(after);
  if (isNew && isForbidden && !endsRun(after)) return 'L6: the run begins for a user who may not';
  // Nothing stops a call that had read before the end was shown: the record is taken off again. Where a user has removed the record, a late
  // call may record the end again, by which nothing begins.
  const isLateCall = isEndNews || (isTouched && endsRun(after));
  return hasEnded && isNew && !isLateCall ? 'L5: the run begins again after its end was shown' : undefined;
}

/** The run has recorded that the guest may be on the target. */
const isMarked = (vm: Vm | undefined): boolean =>
  vm?.metadata.annotations?.['live.mtq.kubevirt.io/run']?.includes('"marks":[{') === true;

const endsRun = ({ metadata }: Vm): boolean =>
  metadata.annotations?.['live.mtq.kubevirt.io/run']?.includes('"end":') === true;

const strategyIn = ({ spec }: Vm): string =>
  spec.running === true ? 'running' : (spec.runStrategy ?? 'none');

function changesSource(checked: CheckedWrite, after: Vm): string | undefined {
  const { clusters, truth } = checked;
  const before = clusters.vm('source');
  if (before === undefined || strategyIn(before) === strategyIn(after)) return undefined;
  if (strategyIn(after) === 'Halted')
    return truth.hasMoved
      ? (haltsAtOnce(checked) ?? endsSource(checked))
      : 'L3: the source is halted before its guest has moved';
  // KubeVirt starts no VM that is Manual by itself, and its own strategy comes back at the end (isStrategyKept).
  if (strategyIn(before) === 'RerunOnFailure' && strategyIn(after) === 'Manual') return undefined;
  if (startsLeft(checked, before)) return 'L1: the source is started though its guest has moved';
  // A record that was removed is made again with a strategy that a user has set since.
  return [clusters.strategy, ...clusters.strategiesOfUser].includes(strategyIn(after))
    ? undefined
    : 'L3: the source gets another strategy than it had';
}

/** KubeVirt starts the VM by the write, which had no VMI when the call read it, and no start request. */
function startsStopped({ clusters, readSince }: CheckedWrite, after: Vm): string | undefined {
  const before = clusters.vm('source');
  if (before === undefined || strategyIn(before) !== 'Manual' || strategyIn(after) !== 'RerunOnFailure')
    return undefined;
  const isAsked = (before.status?.stateChangeRequests ?? []).some(({ action }) => action === 'Start');
  return clusters.downSince < readSince && !isAsked
    ? 'L3: the source VM was stopped, and is started'
    : undefined;
}

/** Not where a user has started it already: the VM on the target was deleted, say. */
const startsLeft = ({ truth, isTouched }: Checked, vm: Vm): boolean =>
  hasLeft(truth, vm) && !(isTouched && truth.runs('source'));

/** Also where it was lost then, if the run has seen that: the disks of the target are newer. */
const hasLeft = (truth: Truth, vm: Vm): boolean =>
  truth.hasMoved || truth.isSplit || (truth.isLost && isMarked(vm));

function haltsAtOnce({ clusters, halts }: Checked): string | undefined {
  // Once more is no matter: what was written late was read long before.
  const isAtOnce = halts.length > 2 && clusters.now - (halts.at(-2) ?? 0) < NOT_AT_ONCE_MS;
  return isAtOnce ? 'L4: the source is halted again and again, as fast as its owner starts it' : undefined;
}

/** What each advice says, and what is true then. It is obeyed after it was read, so what has ended just before is no matter. */
const ADVICE: readonly (readonly [RegExp, (checked: CheckedEnding) => boolean])[] = [
  [
    /set the one on the source to Halted/,
    ({ truth, lastOnTarget, readSince }) => truth.hasMoved && lastOnTarget >= readSince - VMI_LAGS_MS,
  ],
  [/delete the VM on the target/, ({ truth }) => !truth.hasMoved],
  [/virtctl start|kubectl (?:delete vmi|patch vm) /, ({ truth }) => truth.hasMoved],
  [/start it there if it should run|delete its VMI, and start it/, ({ truth }) => !truth.hasMoved],
];

/** What a text breaks that is shown first. */
export function brokenByText(checked: CheckedEnding, text: string): string | undefined {
  const wrong = checked.isTouched
    ? undefined
    : ADVICE.find(([says, holds]) => says.test(text) && !holds(checked));
  return wrong === undefined ? undefined : `L2: it advises what loses a copy: ${String(wrong[0])}`;
}

/** What a wait breaks that is shown. */
export function brokenByWait(
  { clusters, isTouched }: Checked,
  reason: string | undefined,
): string | undefined {
  const isBlamed = reason === 'SourceStartedAgain' && !isTouched && clusters.startedOnSource === 0;
  return isBlamed ? 'L4: it says that the source was started again, and nothing has started it' : undefined;
}

/** What an end breaks that is shown first, also one with something left over. */
export function brokenByFirstEnd(checked: CheckedEnding, end: ShownEnd): string | undefined {
  const { isGivenUp, isTouched } = checked;
  const { as, reason } = end;
  if (reason === 'GivenUp' && !isGivenUp) return 'L4: it counts as given up, and no user has done so';
  if (hidesMove(checked, end)) return `L4: ${as} ${reason}, and the VM has moved`;
  if (reason === 'HookFailed' && hidesDown(checked))
    return 'L4: a hook has failed, and it is not said that no guest runs on the target';
  return as === 'Succeeded' && !isTouched ? brokenBySuccess(checked, end) : undefined;
}

function brokenBySuccess(
  { clusters, began, readSince, lastOnTarget }: CheckedEnding,
  { isOver }: ShownEnd,
): string | undefined {
  if (isDownThere({ lastOnTarget, readSince })) return 'L4: a success, and no guest runs on the target';
  const isExceeded = (clusters.overSince ?? Infinity) < began;
  return isExceeded && !isOver
    ? 'L8: a success, and it is not shown that the namespace is over its quota'
    : undefined;
}

const isDownThere = ({
  lastOnTarget,
  readSince,
}: Pick<CheckedEnding, 'lastOnTarget' | 'readSince'>): boolean => lastOnTarget < readSince - VMI_LAGS_MS;

/** A VM that has moved, and is down on both clusters, is more than a hook that failed. */
const hidesDown = (checked: CheckedEnding): boolean =>
  checked.truth.hasMoved && !checked.isTouched && isDownThere(checked);

/**
 * A hook may fail then; and KubeVirt may have removed what shows the success before the run has seen it, which says that nobody knows. A user
 * who deletes the source VM takes the record away, and nothing of what the Migration shows.
 */
function hidesMove(
  { truth, isTouched }: CheckedEnding,
  { as, reason, leftovers, isCutOver }: ShownEnd,
): boolean {
  if (!truth.hasMoved || as === 'Succeeded') return false;
  if (isTouched) return isCutOver && reason === 'SourceGone';
  return leftovers.length === 0 && !['HookFailed', 'CutOverUndecided', 'TargetNotRunning'].includes(reason);
}

/** What an end with nothing left over breaks, when it is reached. What becomes of the VM afterwards is not the run's. */
export function brokenByEnd(checked: CheckedEnding, { as }: ShownEnd): string | undefined {
  const { clusters, truth, isTouched, hooks } = checked;
  const vm = clusters.vm('source');
  const missed = hooks.steps.filter((step) => !hooks.succeeded.has(step));
  if (as === 'Succeeded' && missed.length > 0 && !isTouched)
    return `L5: a success without its ${missed.join(' and ')}`;
  if (truth.hasMoved) return brokenByArrival(checked, as);
  if (as === 'Succeeded') return 'L3: a success, and the guest has not moved';
  const left = leftOnTarget(checked);
  if (left.length > 0) return `L3: ${as}, and the target has ${kindsOf(left)}`;
  return vm === undefined || isStrategyKept(checked, vm)
    ? undefined
    : `L3: ${as}, and the source VM is ${strategyIn(vm)}`;
}

/** Its own strategy comes back with the removal of the record. */
const isHeld = (clusters: Clusters): boolean =>
  clusters.strategy === 'RerunOnFailure' && clusters.vm('source')?.spec.runStrategy === 'Manual';

function isStrategyKept({ clusters, truth, isTouched, readSince }: CheckedEnding, vm: Vm): boolean {
  if (isTouched || truth.isLost || strategyIn(vm) === clusters.strategy || isHeld(clusters)) return true;
  // After a failed attempt KubeVirt halts the VM where its launcher is lost, also a moment before the end is shown, or any time after the
  // record went by a write whose answer was lost.
  const since = Math.min(readSince, clusters.recordGoneAt);
  return clusters.strategyBy === 'virt-controller' && clusters.strategyAt >= since;
}

function brokenByArrival(
  { clusters, isTouched, starts, halts, readSince }: CheckedEnding,
  as: ShownEnd['as'],
): string | undefined {
  const vm = clusters.vm('source');
  // One cluster is read and the hub written: an owner may start the source in between. The record stays then, because its removal needs the
  // version that was read, and the run halts the VM again.
  // A start that KubeVirt undoes before the run has halted the VM leaves no trace.
  const isTraced = (at: number): boolean => halts.length > 0 || at > clusters.haltedByKubeVirtAt;
  const started = starts.findLast((at) => at < readSince && isTraced(at)) ?? -Infinity;
  // A VM that was being deleted is gone for good.
  if (vm !== undefined && clusters.now - started < NOT_OVER_MS)
    return `L1: ${as}, and an owner has just started the source again`;
  const isSettled = isOff(clusters, vm) || isTouched;
  return isSettled ? undefined : `L1: ${as}, and the source may start again`;
}

const MADE: readonly ResourceType[] = [VMS, DATA_VOLUMES, FULL_MIGRATIONS];

const madeOnTarget = (clusters: Clusters): KubernetesObject[] =>
  MADE.flatMap((type) =>
    clusters.all('target', type).filter(({ metadata }) => metadata.labels !== undefined),
  );

const leftOnTarget = (checked: Checked): KubernetesObject[] =>
  madeOnTarget(checked.clusters).filter((object) => !checked.isLate(object) && !isOnlyCopy(object, checked));

/** A guest in post-copy was lost, and its source VM is deleted: the disks there are the newest, and nothing else is left of the VM. */
const isOnlyCopy = ({ kind }: KubernetesObject, { clusters, truth }: Checked): boolean =>
  truth.isLost && clusters.vm('source') === undefined && kind !== FULL_MIGRATIONS.kind;

const kindsOf = (objects: readonly KubernetesObject[]): string =>
  objects.map(({ kind }) => kind ?? '').join(', ');

const hasMade = (clusters: Clusters): boolean =>
  madeOnTarget(clusters).length > 0 || clusters.vmims('source').length > 0;

const isOff = (clusters: Clusters, vm: Vm | undefined): boolean =>
  vm === undefined ||
  (vm.spec.runStrategy === 'Halted' && vm.spec.running === undefined && clusters.vmi('source') === undefined);

/** KubeVirt starts a VM of the older form again only when its VMI is gone (facts/cross-cluster.md §C7). */
const isKeptDown = (clusters: Clusters): boolean =>
  clusters.vm('source')?.spec.running === true && clusters.vmi('source')?.status?.phase === 'Failed';

/**
 * On which sides no VMIM that is over may stay. As long as it is not decided where the guest is, it may tell; that of a source which is
 * down tells nothing.
 */
const freedSides = (reason: string): readonly Side[] => {
  if (reason === 'SourceDownUndecided') return ['source'];
  return ['CutOverUndecided', 'SourceNotVerified'].includes(reason) ? [] : ['source', 'target'];
};

/** It is over, and is being deleted: only its finalizers are left. */
const isStuck = ({ metadata, status }: Vmim): boolean =>
  metadata.deletionTimestamp !== undefined && ['Succeeded', 'Failed'].includes(status?.phase ?? '');

const waitsForSpent = (clusters: Clusters, reason: string): boolean =>
  freedSides(reason).some((side) => clusters.vmims(side).some(isStuck));

/** Nothing is on the source any more, and the VM on the target is left over although the Migration shows that its guest was there. */
const holdsOnlyCopy = (clusters: Clusters, { isCutOver, leftovers }: ShownEnd): boolean =>
  isCutOver &&
  clusters.vm('source') === undefined &&
  leftovers.some((each) => each.startsWith(`${VMS.kind} `));

/** What an end with leftovers breaks. */
function leftWithoutNeed({ clusters, truth, isTouched }: Checked, { reason }: ShownEnd): string | undefined {
  if (reason === 'RestoringSource' && !isTouched && isKeptDown(clusters))
    return 'L4: it waits for a source VM that KubeVirt keeps down';
  if (waitsForSpent(clusters, reason))
    return 'L4: it waits for a VMIM that is over, and that KubeVirt does not remove';
  if (reason === 'SourceNotVerified' && !isTouched && isOff(clusters, clusters.vm('source')))
    return 'L4: it waits for a VMIM of the source that KubeVirt looks at no more';
  // Past the cut-over the record may stay alone: it says of which target VM the source is the copy.
  return hasMade(clusters) || truth.hasMoved ? undefined : 'L4: nothing is left over but the record';
}

/** What is broken by what KubeVirt does while the VM moves, at any time. */
export function brokenNow({ clusters, truth, isTouched }: Checked): string | undefined {
  const isRestarted = truth.hasArrived && truth.runs('source') && truth.runs('target') && !isTouched;
  return isRestarted && clusters.strategy === 'RerunOnFailure'
    ? 'L1: KubeVirt starts the source again beside the target'
    : undefined;
}

/** When nothing happens any more. `said`: what the last call said. */
export function brokenAtLast(checked: Checked, hub: Hub, said: string): string | undefined {
  const { end, isReleased } = hub;
  if (isReleased && hub.going.length > 0) return `L4: the deleted ${kindsOf(hub.going)} does not go`;
  if (end !== undefined && end.leftovers.length > 0) return brokenByLeftovers(checked, end, isReleased);
  if (isReleased) return brokenByRest(checked) ?? brokenByWhatLasts(checked);
  return end === undefined
    ? `L4: the run does not end: ${said}`
    : `L4: nothing is left over, and the Migration is held: ${said}`;
}

/** A run with something left over holds its Migration until a user gives it up. */
function brokenByLeftovers(checked: Checked, end: ShownEnd, isReleased: boolean): string | undefined {
  if (checked.isGivenUp) return isReleased ? undefined : 'L4: it was given up, and the Migration is held';
  if (isReleased) return 'L4: the Migration is released, and something is left over';
  return holdsOnlyCopy(checked.clusters, end)
    ? 'L4: it waits until a user deletes the only copy'
    : leftWithoutNeed(checked, end);
}

/** Once the Migration is released. */
function brokenByRest(checked: Checked): string | undefined {
  const { clusters, truth, isTouched } = checked;
  if (truth.runs('source') && truth.runs('target') && !isTouched) return 'L1: two copies run at last';
  const left = truth.hasMoved ? [] : leftOnTarget(checked);
  if (left.length > 0) return `L3: at last the target has ${kindsOf(left)}`;
  if (!isTouched && isHeld(clusters)) return 'L3: at last the source VM is Manual';
  return isRecorded(clusters.one('source', VMS, NAME)) ? 'L4: the record stays on the source VM' : undefined;
}
