import { shown, type ForeignText } from '../../domain/foreign-text.ts';
import { isPostCopy } from '../guest/cut-over.ts';
import { LIMIT_MS, timeOf } from '../run/deadlines.ts';
import {
  fail,
  wait,
  waitUntil,
  write,
  type Deadline,
  type Fail,
  type StepDecision,
  type Wait,
} from '../run/decision.ts';
import { endSource, removeStartRequests } from '../guest/end-source.ts';
import type { Vmim } from '../../domain/live/kubevirt.ts';
import { LIVE_ANNOTATION, LIVE_KUBEVIRT, LIVE_REASON, MARK } from '../../domain/live/names.ts';
import { hold, noteStrategy } from '../guest/hold.ts';
import { hasTargetPod, isGoneOrFinal, vmimOf } from '../guest/proofs.ts';
import { isPastCutOver, withRecord } from '../run/record.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import { waitingSince } from '../run/waiting-since.ts';
import { describeName } from '../run/describe.ts';
import { wasRejectedByQuota } from '../../domain/migration.ts';
import { stopRequested } from '../guest/source-stopped.ts';

/**
 * Waits while KubeVirt moves the guest, the riskiest part; done when the guest has arrived and the source VM is off. `decide` of the run
 * has recorded every mark of the cut-over before, so a failure without one is a failure before it.
 */
export function decide(snapshot: RecordedRun): StepDecision {
  const { record } = snapshot;
  if (record.arrivedAt !== undefined) return arrived(snapshot, record.arrivedAt);
  const held = hold(snapshot) ?? noteStrategy(snapshot);
  if (held?.kind === 'write') return held;
  const next = isPastCutOver(record) ? decideWhileMoving(snapshot) : decideBefore(snapshot);
  // An owner that sets the VM back without end must not hide that the migration has ended.
  return next.kind === 'wait' ? (held ?? next) : next;
}

function decideBefore(snapshot: RecordedRun): StepDecision {
  const { sent, received } = vmims(snapshot);
  const failed = [received, sent].find((vmim) => vmim?.status?.phase === 'Failed');
  if (failed !== undefined) return transferFailed(snapshot, failed);
  const stopped = stopRequested(snapshot);
  if (stopped !== undefined) return stopped;
  if (isWithdrawable(snapshot)) return withdraw(snapshot);
  const waiting = currentWait(snapshot);
  return touch(snapshot) ?? waitUntil(deadlineOf(snapshot, waiting), waiting, LIVE_REASON.transferFailed);
}

/** Ends the source VM. The VM that runs on the target stays, however that goes. */
function arrived(snapshot: RecordedRun, arrivedAt: string): StepDecision {
  const decision = endSource(snapshot);
  const isLate = snapshot.hub.now > timeOf(arrivedAt) + snapshot.hub.settings.sourceMs;
  if (decision.kind !== 'wait' || !isLate) return decision;
  return fail(LIVE_REASON.sourceNotVerified, decision.message);
}

/**
 * Waits for the arrival, and removes start requests meanwhile. Once the run does not wait any more, a user decides by hand, and may want
 * the source VM.
 */
function decideWhileMoving(snapshot: RecordedRun): StepDecision {
  const next = undecided(snapshot);
  return next.kind === 'wait' ? (removeStartRequests(snapshot) ?? next) : next;
}

/** Waits for the arrival of a guest that may be on the target. The ordinary second between the two is no problem. */
function undecided(snapshot: RecordedRun): StepDecision {
  const { sent, received } = vmims(snapshot);
  const { hub, source, target, record } = snapshot;
  const areOver = isGoneOrFinal(sent) && isGoneOrFinal(received);
  if (areOver && phaseOf(received) !== 'Succeeded')
    return fail(LIVE_REASON.cutOverUndecided, undecidedMessage(snapshot));
  const isPulling = !areOver && isPostCopy({ source, target, before: record.before });
  const limitMs = Math.max(LIMIT_MS.undecided, isPulling ? record.transferSeconds * 1_000 : 0);
  if (hub.now >= timeOf(record.marks[0]?.at) + limitMs)
    return fail(
      LIVE_REASON.cutOverUndecided,
      `too late: ${isPulling ? PULLING : undecidedMessage(snapshot)}`,
    );
  const completing = `${seenIn(record)}, and KubeVirt completes its migration`;
  return wait(LIVE_REASON.transferring, isPulling ? PULLING : completing);
}

/** A guest in post-copy is lost where either VM ends. */
const PULLING =
  'the guest runs on the target, and the rest of its memory is still being copied: both VMs are needed until both VMIMs have ended';

/** Describes what was seen, as far as it was: without its node's word KubeVirt may be wrong (kubevirt#17261). */
const seenIn = ({ marks }: RecordedRun['record']): string =>
  marks.some(({ mark }) => mark === MARK.guestReady || mark === MARK.postCopy)
    ? 'the guest was active on the target'
    : 'KubeVirt reports that the guest has left the source';

/** Describes what is known. Nothing proves then that either VM may be stopped. */
function undecidedMessage(snapshot: RecordedRun): string {
  const { received } = vmims(snapshot);
  const outcome =
    received === undefined ? 'its VMIM there is gone' : `its VMIM there is ${phaseOf(received)}`;
  return `${seenIn(snapshot.record)}, and ${outcome}: nothing proves which VM has the newest data, so both stay as they are`;
}

const phaseOf = (vmim: Vmim | undefined): string => vmim?.status?.phase || 'new';

interface Vmims {
  readonly sent: Vmim | undefined;
  readonly received: Vmim | undefined;
}

const vmims = ({ source, target, run, record }: RecordedRun): Vmims => ({
  sent: vmimOf(source.vmims, run, record.attempt),
  received: vmimOf(target.vmims, run, record.attempt),
});

function transferFailed({ source, target }: RecordedRun, { metadata }: Vmim): Fail {
  const why = [target.vmi, source.vmi].flatMap((vmi) => vmi?.status?.migrationState?.failureReason ?? []);
  return fail(
    LIVE_REASON.transferFailed,
    `the VMIM ${metadata.name} has failed: ${shown(why[0] ?? 'see the Events of the VMIs')}`,
  );
}

/**
 * Whether the migration may be withdrawn for a drain: before there is a launcher on the target, an unfinished migration only keeps the
 * source's node from being drained.
 */
function isWithdrawable(snapshot: RecordedRun): boolean {
  const { source, target } = snapshot;
  return source.vmi?.status?.evacuationNodeName !== undefined && !hasTargetPod(target);
}

const withdraw = ({ source: { vm }, record }: RecordedRun): StepDecision =>
  write('withdrawing the migration, because the node of the source is being drained', {
    verb: 'replace',
    on: 'source',
    object: withRecord(vm, { ...record, withdrawn: true }),
  });

/**
 * Changes the target's VMIM if the source has not heard of the launcher. After an attempt that failed late, the source drops the target's
 * first message, and the target does not repeat it: the VMIM on the source would be Scheduling for ever (facts/cross-cluster.md §C7). Any
 * change of the target's VMIM makes it speak again.
 */
function touch(snapshot: RecordedRun): StepDecision | undefined {
  const { target } = snapshot;
  const { sent, received } = vmims(snapshot);
  if (sent?.status?.phase !== 'Scheduling' || received === undefined || !hasTargetPod(target))
    return undefined;
  const { metadata } = received;
  const minutes = Math.floor((target.now - timeOf(metadata.creationTimestamp)) / LIMIT_MS.silence);
  const { annotations = {} } = metadata;
  if (minutes < 1 || annotations[LIVE_ANNOTATION.touched] === String(minutes)) return undefined;
  const touched = { ...annotations, [LIVE_ANNOTATION.touched]: String(minutes) };
  return write('touching the VMIM on the target, since the source has not heard of its launcher', {
    verb: 'replace',
    on: 'target',
    object: { ...received, metadata: { ...metadata, annotations: touched } },
  });
}

/** Returns the deadline of the whole transfer once there is a launcher, however long it waited for a slot, and of the way there before. */
function deadlineOf(snapshot: RecordedRun, waiting: Waiting): Deadline {
  const { target, record } = snapshot;
  const { received } = vmims(snapshot);
  if (!hasTargetPod(target)) return launcherDeadline(snapshot, waiting);
  const launched = Math.max(...target.pods.map(({ metadata }) => timeOf(metadata.creationTimestamp)));
  // The seconds for volumes that are filled once the launcher is on a node.
  const fillingSeconds = Number(received?.metadata.annotations?.[LIVE_KUBEVIRT.pendingTimeout] ?? 0);
  const seconds = fillingSeconds + record.transferSeconds;
  return { now: target.now, until: launched + LIMIT_MS.meeting + seconds * 1_000 };
}

/**
 * Returns the deadline of the launcher. KubeVirt needs some seconds to use a slot that has just become free, so the wait for a slot does
 * not count. However often that was, a day is the end.
 */
function launcherDeadline(snapshot: RecordedRun, { reason }: Waiting): Deadline {
  const { hub, source, record } = snapshot;
  const { sent } = vmims(snapshot);
  const waitedMs = source.now - timeOf(sent?.metadata.creationTimestamp ?? record.startedAt);
  if (reason === LIVE_REASON.targetBusy || waitedMs >= LIMIT_MS.queued)
    return { now: waitedMs, until: LIMIT_MS.queued };
  const shownMs = reason === LIVE_REASON.targetPending ? hub.now - waitingSince(hub, reason) : waitedMs;
  return { now: Math.min(waitedMs, shownMs), until: LIMIT_MS.meeting };
}

type Waiting = Omit<Wait, 'kind'>;

/** Returns the wait of the migration, as KubeVirt reports it. */
function currentWait(snapshot: RecordedRun): Waiting {
  const { sent, received } = vmims(snapshot);
  const { target } = snapshot;
  if (received !== undefined && wasRejectedByQuota(received) && !hasTargetPod(target))
    return refusedByQuota(target);
  const blocked = [sent, received].flatMap((vmim) => blockedMessage(vmim) ?? []);
  if (blocked[0] !== undefined)
    return { reason: LIVE_REASON.synchronizing, message: `${shown(blocked[0])} (${IF_IT_STAYS})` };
  const phase = sent?.status?.phase ?? 'new';
  if (phase === 'Running')
    return { reason: LIVE_REASON.transferring, message: 'the guest is being copied to the target' };
  if (target.isQueued === true) return BUSY;
  return { reason: LIVE_REASON.targetPending, message: pendingMessage(phase, target) };
}

const BUSY: Waiting = {
  reason: LIVE_REASON.targetBusy,
  message:
    'KubeVirt on the target runs as many migrations at once as it may, so the launcher waits: increase ' +
    'parallelMigrationsPerCluster or parallelOutboundMigrationsPerNode in its KubeVirt object, or wait',
};

/**
 * Returns the wait for a quota. A VMMRQ lets the launcher in within seconds, unless no mtq serves it. KubeVirt shows the refusal for some
 * seconds more where the launcher fits by now.
 */
const refusedByQuota = ({
  refusal = 'see the Events of its VMI',
  fit: { missing, isLetIn },
}: RecordedRun['target']): Waiting => ({
  reason: LIVE_REASON.overQuota,
  message:
    `a quota refuses the launcher on the target: ${missing ?? refusal}` +
    (isLetIn
      ? '. A VMMRQ gives that: if this stays, see that managed-tenant-quota runs on that cluster'
      : ''),
  endsItself: isLetIn || missing === undefined,
});

/** Describes a launcher that is not ready: KubeVirt reports only in Events why it cannot create it (facts/cross-cluster.md §C5). */
function pendingMessage(phase: string, target: RecordedRun['target']): string {
  if (target.refusal !== undefined && !hasTargetPod(target))
    return `the API server refuses the launcher on the target: ${target.refusal}`;
  return phase === 'Scheduling' && target.vmi !== undefined && !hasTargetPod(target)
    ? `the target has no launcher yet: see the Events of the VMI ${describeName(target.vmi)} there`
    : `the VMIM on the source is ${phase}`;
}

/** Advice for a condition that KubeVirt also sets while the two clusters are about to meet. */
const IF_IT_STAYS = 'if this stays: kubectl vmmrq trust, and port 9185 between the clusters';

/** KubeVirt's condition that goes away when the two clusters have met. */
const BLOCKED = 'decentralizedMigrationBlocked';

const blockedMessage = (vmim: Vmim | undefined): ForeignText | undefined =>
  vmim?.status?.conditions?.find(({ type, status }) => type === BLOCKED && status === 'True')?.message;
