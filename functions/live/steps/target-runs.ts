import { adviceToStartTarget } from '../guest/advice.ts';
import type { Vmi } from '../../domain/live/kubevirt.ts';
import { isMigrationTarget } from '../guest/cut-over.ts';
import { isTargetUp, receiverOf } from '../guest/proofs.ts';
import { LIMIT_MS } from '../run/deadlines.ts';
import { DONE, type StepDecision } from '../run/decision.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import { waitAtMost } from '../run/waiting-since.ts';
import { LIVE_REASON } from '../../domain/live/names.ts';

/**
 * Done while a guest runs on the target, which a success promises. KubeVirt halts a VM there whose guest fails just after its arrival
 * (kubevirt#18763; recorded: cross-target-fails-after-arrival), and the one on the source is off by then.
 */
export function decide(snapshot: RecordedRun): StepDecision {
  if (isTargetUp(snapshot)) return DONE;
  return waitAtMost(LIMIT_MS.targetRuns, snapshot.hub, {
    reason: LIVE_REASON.targetNotRunning,
    message: notRunning(snapshot),
  });
}

function notRunning(run: RecordedRun): string {
  if (receiverOf(run) === undefined)
    return 'the VM on the target was deleted after its guest had arrived; the disks on the source are from before';
  if (isHandedOver(run.target.vmi))
    return 'the guest has arrived on the target, and KubeVirt there does not say yet that it runs';
  return (
    'the guest has arrived on the target, and does not run there any more; the VM there has the newest data, and the one on the ' +
    `source is off${adviceToStartTarget(run, run.record.arrivedAt !== undefined)}`
  );
}

/** Whether the VMI is still that of a migration whose guest is there, as for a moment after each arrival. */
const isHandedOver = (vmi: Vmi | undefined): boolean =>
  vmi?.status?.phase === 'Scheduled' &&
  vmi.metadata.deletionTimestamp === undefined &&
  isMigrationTarget(vmi);
