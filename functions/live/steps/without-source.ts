import { adviceToEndSource, adviceToStartTarget } from '../guest/advice.ts';
import { freeStuckVmims } from '../guest/abort.ts';
import { marksOf } from '../guest/cut-over.ts';
import { isOnTargetAlone } from '../guest/has-moved.ts';
import { madeObjects } from '../guest/made-objects.ts';
import { hasTargetPod, isOff, isTargetUp, receiverOf } from '../guest/proofs.ts';
import { LIMIT_MS } from '../run/deadlines.ts';
import { wait, type Ended, type RunDecision } from '../run/decision.ts';
import { describe } from '../run/describe.ts';
import type { RunSnapshot } from '../run/snapshot.ts';
import { waitingSince } from '../run/waiting-since.ts';
import { has } from '../../domain/live/conditions.ts';
import type { LiveCondition, VmStatus } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION, LIVE_REASON, MARK, type LiveReason } from '../../domain/live/names.ts';
import { decide as removeVmims } from './completed.ts';
import { ended, shownEnd, unlessRefused } from './ends.ts';
import { isPostHookDue } from './hook.ts';
import { COMPLETED, TRANSFER } from './itinerary.ts';

/** Decides about a VM whose source VM is gone, and with it the record. Nothing can start there, so only the target is looked at. */
export function withoutSource(snapshot: RunSnapshot): RunDecision {
  const { status } = snapshot.hub;
  if (status?.completed !== undefined) return tidyAfter(shownEnd(status), snapshot);
  if (isOnTargetAlone(snapshot)) return arrivedWithoutSource(snapshot);
  return untilItIsKnown(snapshot) ?? sourceGone(snapshot);
}

/** Removes the VMIMs of a VM that has arrived, and what KubeVirt has forgotten of any other one. What is left is listed until it is gone. */
function tidyAfter(before: Ended, snapshot: RunSnapshot): RunDecision {
  const isThere = isOnTargetAlone(snapshot) || isArrivalShown(snapshot.hub.status);
  const tidied = unlessRefused(isThere ? removeVmims(snapshot) : freeStuckVmims(snapshot), snapshot.hub);
  if (tidied.kind === 'write') return { step: COMPLETED.name, ...tidied };
  return { ...before, leftovers: isThere ? vmimsOf(snapshot) : madeObjects(snapshot).map(describe) };
}

/** Whether the status has an end after the arrival, whatever has become of the VM on the target since. */
const isArrivalShown = (status: VmStatus | undefined): boolean =>
  has(status, LIVE_CONDITION.succeeded) ||
  (has(status, LIVE_CONDITION.cutOver) && status?.conditions?.some(isAfterArrival) === true);

const AFTER_ARRIVAL: readonly string[] = [
  LIVE_REASON.targetNotRunning,
  LIVE_REASON.hookFailed,
  LIVE_REASON.sourceNotVerified,
];
const isAfterArrival = ({ type, reason }: LiveCondition): boolean =>
  type === LIVE_CONDITION.failed && AFTER_ARRIVAL.some((one) => one === reason);

const vmimsOf = ({ source, target }: RunSnapshot): string[] =>
  [...source.vmims, ...target.vmims].map(describe);

/** Waits while the guest may be about to arrive: its VM on the target has the only copy then. */
function untilItIsKnown(snapshot: RunSnapshot): RunDecision | undefined {
  const mayArrive =
    receiverOf(snapshot) !== undefined && (hasTargetPod(snapshot.target) || isActive(snapshot));
  const message =
    'the VM on the source was deleted while its guest was on its way: waiting until it has arrived';
  return mayArrive
    ? waitWithin(LIMIT_MS.undecided, snapshot, { reason: LIVE_REASON.transferring, message })
    : undefined;
}

/** Whether the guest was active on the target, as its node says. */
function isActive(snapshot: RunSnapshot): boolean {
  const { source, target } = snapshot;
  const seen = { vm: receiverOf(snapshot), vmi: target.vmi, vmim: target.vmims.at(-1) };
  const marks = marksOf({ source, target: seen, before: undefined });
  return marks.includes(MARK.guestReady) || marks.includes(MARK.postCopy);
}

function sourceGone(snapshot: RunSnapshot): Ended {
  const message = isActive(snapshot)
    ? 'the VM on the source was deleted; its guest was active on the target, which has the newest data'
    : 'the VM on the source was deleted, and its guest was not seen to be active on the target';
  return ended('Failed', { reason: LIVE_REASON.sourceGone, message }, madeObjects(snapshot).map(describe));
}

/**
 * Decides the end of a VM that arrived before its source VM was deleted. A VM that replaced it, as GitOps tools do, is no part of the run:
 * only its owner can tell whether it is a second copy.
 */
function arrivedWithoutSource(snapshot: RunSnapshot): RunDecision {
  const { successor } = snapshot.source;
  const waiting = successor === undefined || isOff(successor) ? undefined : replaced(successor, snapshot);
  if (waiting !== undefined) return waiting;
  if (isPostHookDue(snapshot)) return ended('Failed', NO_POST_HOOK, vmimsOf(snapshot));
  if (!isTargetUp(snapshot)) return notRunning(snapshot);
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
  const message =
    'the guest has arrived on the target, and does not run there any more; the VM there has the only copy' +
    adviceToStartTarget(snapshot, true);
  const waiting = { reason: LIVE_REASON.targetNotRunning, message };
  return waitWithin(LIMIT_MS.targetRuns, snapshot, waiting) ?? ended('Failed', waiting, vmimsOf(snapshot));
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
