import { isFinal } from '../../domain/migration.ts';
import { DONE, wait, write, type LiveWrite, type StepDecision } from '../run/decision.ts';
import { LIMIT_MS, timeOf } from '../run/deadlines.ts';
import type { MigrationState, Vmi, Vmim } from '../../domain/live/kubevirt.ts';
import { LIVE_REASON } from '../../domain/live/names.ts';
import { hasTargetPod } from './proofs.ts';
import type { RecordedRun, RunSnapshot, SourceSide, TargetSide } from '../run/snapshot.ts';

/** Phases of a source VMIM that has not met its target. KubeVirt removes it at once when it is deleted. */
const APART: readonly string[] = ['', 'Synchronizing'];
/** Phases in which the VMIM waits for the target's launcher, and never goes without one (facts/cross-cluster.md §C6). */
const WAITING: readonly string[] = ['Pending', 'Scheduling', 'Scheduled', 'PreparingTarget', 'TargetReady'];

/**
 * Deletes the VMIMs of every attempt; done when all are gone. The other cluster does not learn of a deletion. While the guest is copied,
 * the source's VMIM goes first: without the target's alone the copy would go on. Before that the target's goes first: without it no
 * launcher comes. The source's is then stuck until its finalizers are removed, which is safe because nothing runs for it. Once the target's
 * node has the launcher, the target's VMIM waits for the source when it is deleted, and tells the source nothing more (C6): so the source
 * may begin first, and is stopped then.
 */
export function abort(snapshot: RecordedRun): StepDecision {
  const { source, target } = snapshot;
  const all = [...source.vmims, ...target.vmims].map(({ metadata }) => metadata.name);
  const decisions = [...new Set(all)].map((name) => abortPair(name, snapshot));
  return decisions.find(({ kind }) => kind !== 'done') ?? DONE;
}

/** Whether only VMIMs on the target are left, which wait for a source that never began. They go with the VM there. */
export const isLeftToTarget = (snapshot: RecordedRun): boolean =>
  snapshot.source.vmims.length === 0 &&
  !mayCopy(snapshot) &&
  snapshot.target.vmims.every((vmim) => isOverdue(vmim, snapshot.target));

/**
 * Whether the source's node sends the guest, or may begin to by its own state. The phases of the VMIMs say less: KubeVirt writes them
 * later. A source that has no address of the target's node gets none any more, once the target's VMIM is being deleted.
 */
function mayCopy({ source, target }: RecordedRun): boolean {
  const [sending, receiving] = [source, target].map(({ vmi }) => openState(vmi));
  return (
    hasBegun(sending) ||
    hasBegun(receiving) ||
    (sending?.targetNodeAddress ?? '') !== '' ||
    receiving?.targetNodeDomainDetected === true
  );
}

/** The state of a migration that has not ended. */
function openState(vmi: Vmi | undefined): MigrationState | undefined {
  const state = vmi?.status?.migrationState;
  return state?.completed === true ? undefined : state;
}

const hasBegun = (state: MigrationState | undefined): boolean => (state?.startTimestamp ?? '') !== '';

interface Pair {
  readonly sent: Vmim | undefined;
  readonly received: Vmim | undefined;
}

function abortPair(name: string, snapshot: RecordedRun): StepDecision {
  const { source, target } = snapshot;
  const [sent, received] = [source, target].map(({ vmims }) =>
    vmims.find(({ metadata }) => metadata.name === name),
  );
  const freed = freeStuckPair({ sent, received }, snapshot);
  if (freed !== undefined) return freed;
  if (sent === undefined) return removeBoth(sent, received);
  const phase = sent.status?.phase ?? '';
  if (isFinal(sent) || APART.includes(phase)) return removeBoth(sent, received);
  return WAITING.includes(phase) ? abortWaiting({ sent, received }, snapshot) : remove('source', sent);
}

/** Frees a VMIM that is over on the source always, and any other one unless a launcher on the target may still have the guest. */
function freeStuckPair({ sent, received }: Pair, { source, target }: RecordedRun): StepDecision | undefined {
  const isEmpty = !hasTargetPod(target);
  const isSentOver = sent !== undefined && isFinal(sent);
  return (
    (isEmpty || isSentOver ? freeStuckVmim('source', sent, source) : undefined) ??
    (isEmpty ? freeStuckVmim('target', received, target) : undefined)
  );
}

function abortWaiting(
  { sent, received }: Pair & { readonly sent: Vmim },
  snapshot: RecordedRun,
): StepDecision {
  const { source, target } = snapshot;
  if (hasBegun(openState(source.vmi))) return remove('source', sent);
  if (mayCopy(snapshot)) return isBeingDeleted(sent) ? waiting(sent) : COPY_BEGINS;
  if (received !== undefined && !isOverdue(received, target)) return abortReceived(received, snapshot);
  if (!isBeingDeleted(sent)) return remove('source', sent);
  const mayBegin = received === undefined && hasTargetPod(target);
  return isOverdue(sent, source) && !mayBegin ? clearVmimFinalizers('source', sent) : waiting(sent);
}

const COPY_BEGINS = wait(
  LIVE_REASON.aborting,
  'waiting until the copy begins, which can be stopped only then',
);

/** Deletes the target's VMIM first, unless its node has the launcher and the source may hear of that soon. */
const abortReceived = (received: Vmim, snapshot: RecordedRun): StepDecision =>
  !isBeingDeleted(received) &&
  !isFinal(received) &&
  isHandedOver(received, snapshot) &&
  isWithinSilence(snapshot)
    ? COPY_BEGINS
    : remove('target', received);

const isHandedOver = ({ metadata }: Vmim, { target }: RecordedRun): boolean =>
  target.vmi?.status?.migrationState?.migrationUid === metadata.uid && hasTargetPod(target);

/** Whether the time of silence is not over yet: since the run goes back, or else since the launcher was created. */
function isWithinSilence({ record, hub, target }: RecordedRun): boolean {
  const [pod] = target.pods;
  return hub.now - timeOf(record.end?.at ?? pod?.metadata.creationTimestamp) < LIMIT_MS.silence;
}

function removeBoth(sent: Vmim | undefined, received: Vmim | undefined): StepDecision {
  const left = [
    ...(sent === undefined ? [] : [{ on: 'source' as const, vmim: sent }]),
    ...(received === undefined ? [] : [{ on: 'target' as const, vmim: received }]),
  ];
  const [first] = left;
  if (first === undefined) return DONE;
  const due = left.filter(({ vmim }) => !isBeingDeleted(vmim));
  const writes = due.map(({ on, vmim }): LiveWrite => ({ verb: 'delete', on, object: vmim }));
  return writes.length === 0 ? waiting(first.vmim) : write(`deleting ${names(due)}`, ...writes);
}

const names = (of: readonly { readonly vmim: Vmim }[]): string =>
  of.map(({ vmim }) => vmim.metadata.name).join(', ');

const remove = (on: 'source' | 'target', vmim: Vmim): StepDecision =>
  isBeingDeleted(vmim)
    ? waiting(vmim)
    : write(`deleting ${vmim.metadata.name} on the ${on}`, { verb: 'delete', on, object: vmim });

const isBeingDeleted = ({ metadata }: Vmim): boolean => metadata.deletionTimestamp !== undefined;

const waiting = ({ metadata }: Vmim): StepDecision =>
  wait(LIVE_REASON.aborting, `waiting until KubeVirt has removed the VMIM ${metadata.name}`);

/** Whether the VMIM is being deleted for longer than KubeVirt needs for one that it can remove. */
export const isOverdue = (
  { metadata }: Vmim,
  { now }: Pick<SourceSide, 'now'>,
  limitMs: number = LIMIT_MS.stuckVmim,
): boolean => now - timeOf(metadata.deletionTimestamp) > limitMs;

/**
 * Removes the finalizers of a VMIM that is over, or whose VMI is gone. KubeVirt removes its own only while the VMI's state names the VMIM
 * (recorded: cross-rerunonfailure-source-fails), and the next VMI of that name could not be migrated.
 */
export const freeStuckVmim = (
  on: 'source' | 'target',
  vmim: Vmim | undefined,
  side: SourceSide | TargetSide,
): StepDecision | undefined =>
  vmim !== undefined && isSpent(vmim, side) && isOverdue(vmim, side)
    ? clearVmimFinalizers(on, vmim)
    : undefined;

/** Whether KubeVirt has nothing left to do for the VMIM. */
const isSpent = (vmim: Vmim, { vmi }: Pick<SourceSide, 'vmi'>): boolean => vmi === undefined || isFinal(vmim);

/** Removes the finalizers of VMIMs that are being deleted; done when KubeVirt has something to do for each that is left. */
export function freeStuckVmims({ source, target }: Pick<RunSnapshot, 'source' | 'target'>): StepDecision {
  const sides = [
    ['source', source],
    ['target', target],
  ] as const;
  const left = sides.flatMap(([on, side]) =>
    side.vmims
      .filter((vmim) => side.vmi === undefined || (isFinal(vmim) && isBeingDeleted(vmim)))
      .map((vmim) => freeStuckVmim(on, vmim, side) ?? waiting(vmim)),
  );
  return left.find(({ kind }) => kind === 'write') ?? left[0] ?? DONE;
}

const clearVmimFinalizers = (on: 'source' | 'target', vmim: Vmim): StepDecision =>
  write(`taking the finalizers of ${vmim.metadata.name} away, which KubeVirt never removes`, {
    verb: 'replace',
    on,
    object: withoutFinalizers(vmim),
  });

export const withoutFinalizers = (vmim: Vmim): Vmim => ({
  ...vmim,
  metadata: { ...vmim.metadata, finalizers: [] },
});
