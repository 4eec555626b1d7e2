import { adviceToEndSource, adviceToStartTarget } from '../guest/advice.ts';
import { freeStuckVmims } from '../guest/abort.ts';
import { isMigrationTarget } from '../guest/cut-over.ts';
import { isOnTargetAlone } from '../guest/has-moved.ts';
import { madeObjects } from '../guest/made-objects.ts';
import { hasTargetPod, isOff, isTargetUp, receiverOf } from '../guest/proofs.ts';
import { LIMIT_MS } from '../run/deadlines.ts';
import { wait, type Ended, type RunDecision } from '../run/decision.ts';
import { describe } from '../run/describe.ts';
import type { RunSnapshot } from '../run/snapshot.ts';
import { waitingSince } from '../run/waiting-since.ts';
import { LIVE_REASON, type LiveReason } from '../../domain/live/names.ts';
import { decide as removeVmims } from './completed.ts';
import { ended, shownEnd, unlessRefused } from './ends.ts';
import { isPostHookDue } from './hook.ts';
import { COMPLETED, TRANSFER } from './itinerary.ts';

/** Decides about a VM whose source VM is gone, and with it the record. Nothing can start there, so only the target is looked at. */
export function withoutSource(snapshot: RunSnapshot): RunDecision {
  const { status } = snapshot.hub;
  if (status?.completed !== undefined) return tidyAfter(shownEnd(status), snapshot);
  return (
    untilItIsKnown(snapshot) ?? (isOnTargetAlone(snapshot) ? onTargetAlone(snapshot) : sourceGone(snapshot))
  );
}

/**
 * Removes the VMIMs of a VM that is on the target alone, and what KubeVirt has forgotten of any other one. What is left is listed until it is
 * gone; never the only copy, which no user may have to delete.
 */
function tidyAfter(before: Ended, snapshot: RunSnapshot): RunDecision {
  const isThere = isOnTargetAlone(snapshot);
  const isSettled = isThere && !mayArrive(snapshot);
  const tidied = unlessRefused(isSettled ? removeVmims(snapshot) : freeStuckVmims(snapshot), snapshot.hub);
  if (tidied.kind === 'write') return { step: COMPLETED.name, ...tidied };
  return { ...before, leftovers: isThere ? vmimsOf(snapshot) : madeObjects(snapshot).map(describe) };
}

const vmimsOf = ({ source, target }: RunSnapshot): string[] =>
  [...source.vmims, ...target.vmims].map(describe);

/** Waits while the guest may be about to arrive: its VM on the target has the only copy then. */
function untilItIsKnown(snapshot: RunSnapshot): RunDecision | undefined {
  const message =
    'the VM on the source was deleted while its guest was on its way: waiting until it has arrived';
  return mayArrive(snapshot)
    ? waitWithin(LIMIT_MS.undecided, snapshot, { reason: LIVE_REASON.transferring, message })
    : undefined;
}

/** Whether a launcher on the target may receive the guest, and KubeVirt there has not finished that. */
function mayArrive(snapshot: RunSnapshot): boolean {
  const { vmi } = snapshot.target;
  const isFinished = vmi !== undefined && !isMigrationTarget(vmi) && isOnTargetAlone(snapshot);
  return receiverOf(snapshot) !== undefined && hasTargetPod(snapshot.target) && !isFinished;
}

function sourceGone(snapshot: RunSnapshot): Ended {
  const message = 'the VM on the source was deleted, and its guest was not seen to be active on the target';
  return ended('Failed', { reason: LIVE_REASON.sourceGone, message }, madeObjects(snapshot).map(describe));
}

/**
 * Decides the end of a VM whose guest was on the target before its source VM was deleted. A VM that replaced it, as GitOps tools do, is no part of the run:
 * only its owner can tell whether it is a second copy.
 */
function onTargetAlone(snapshot: RunSnapshot): RunDecision {
  const { successor } = snapshot.source;
  const waiting = successor === undefined || isOff(successor) ? undefined : replaced(successor, snapshot);
  if (waiting !== undefined) return waiting;
  if (!isTargetUp(snapshot)) return notRunning(snapshot);
  if (isPostHookDue(snapshot)) return ended('Failed', NO_POST_HOOK, vmimsOf(snapshot));
  const message = 'the VM runs on the target; the one on the source was deleted';
  return ended('Succeeded', { reason: LIVE_REASON.succeeded, message }, vmimsOf(snapshot));
}

function replaced(
  successor: NonNullable<RunSnapshot['source']['successor']>,
  snapshot: RunSnapshot,
): RunDecision {
  const { hub } = snapshot;
  const message =
    `the VM ${describe(successor)} on the source, whose guest has left, was replaced by another one, which may run from disks that are ` +
    `out of date${adviceToEndSource(snapshot, true)}`;
  const waiting = { reason: LIVE_REASON.sourceStartedAgain, message };
  const late = { reason: LIVE_REASON.sourceNotVerified, message: `too late: ${message}` };
  return waitWithin(hub.settings.sourceMs, snapshot, waiting) ?? ended('Failed', late, vmimsOf(snapshot));
}

function notRunning(snapshot: RunSnapshot): RunDecision {
  const message = [notRunningText(snapshot), ...(isPostHookDue(snapshot) ? [NO_POST_HOOK.message] : [])];
  const waiting = { reason: LIVE_REASON.targetNotRunning, message: message.join('; ') };
  return waitWithin(LIMIT_MS.targetRuns, snapshot, waiting) ?? ended('Failed', waiting, vmimsOf(snapshot));
}

function notRunningText(snapshot: RunSnapshot): string {
  if (receiverOf(snapshot) === undefined)
    return 'the VM on the target was deleted after its guest was there, and the one on the source too: restore it from a backup';
  // A launcher that may still have the guest must not be ended.
  const advice = adviceToStartTarget(snapshot, !mayArrive(snapshot));
  return `the guest was on the target, and does not run there now; the VM there has the only copy${advice}`;
}

interface Waiting {
  readonly reason: LiveReason;
  readonly message: string;
}

/** Waits for so long since the status has the wait; undefined if that is over. */
function waitWithin(
  limitMs: number,
  { hub }: RunSnapshot,
  { reason, message }: Waiting,
): RunDecision | undefined {
  return hub.now < waitingSince(hub, reason) + limitMs
    ? { step: TRANSFER.name, ...wait(reason, message) }
    : undefined;
}

const NO_POST_HOOK = {
  reason: LIVE_REASON.hookFailed,
  message: 'the PostHook did not succeed before the VM on the source was deleted: run it by hand',
};
