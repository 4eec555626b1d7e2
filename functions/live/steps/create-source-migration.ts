import { hardwareProblem } from '../on-target/differences.ts';
import { LIMIT_MS } from '../run/deadlines.ts';
import { DONE, fail, wait, write, type StepDecision } from '../run/decision.ts';
import { LIVE_REASON } from '../../domain/live/names.ts';
import { hold } from '../guest/hold.ts';
import { vmimOf } from '../guest/proofs.ts';
import { sourceStopped } from '../guest/source-stopped.ts';
import { migrationIdOf, runLabels, vmimName } from '../run/names.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import { waitAtMost } from '../run/waiting-since.ts';
import { launchesBefore } from '../run/launch-order.ts';
import { KIND } from '../../domain/names.ts';
import { busy, nameTaken } from './create-target-migration.ts';

/**
 * Creates the VMIM that sends. From then on it holds up the source's own drains, and it is stuck if the target's launcher never comes: so
 * it is made only when the launcher fits, or is let in.
 */
export function decide(snapshot: RecordedRun): StepDecision {
  const { source, run, record } = snapshot;
  if (vmimOf(source.vmims, run, record.attempt) !== undefined) return DONE;
  const stopped = sourceStopped(snapshot) ?? nameTaken('source', source);
  if (stopped !== undefined) return stopped;
  const waiting = busy(snapshot) ?? inTurn(snapshot) ?? tooLarge(snapshot);
  if (waiting !== undefined) return waiting;
  // A volume or interface that was plugged in during the wait is not in the VMI of the target.
  const problem = hardwareProblem(source, snapshot.target.vmi);
  if (problem !== undefined) return fail(LIVE_REASON.hardwareDiffers, problem);
  return held(snapshot) ?? create(snapshot);
}

/** Holds the VM. An owner that sets it back without end must not hold up the run for ever. */
function held(snapshot: RecordedRun): StepDecision | undefined {
  const decision = hold(snapshot);
  return decision?.kind === 'wait' ? waitAtMost(LIMIT_MS.busy, snapshot.hub, decision) : decision;
}

function create({ source: { vm }, target, run, record }: RecordedRun): StepDecision {
  const connectURL = vmimOf(target.vmims, run, record.attempt)?.status?.synchronizationAddresses?.[0];
  return write('creating the VMIM on the source', {
    verb: 'create',
    on: 'source',
    object: {
      ...KIND.migration,
      metadata: {
        name: vmimName(run, record.attempt),
        namespace: vm.metadata.namespace,
        labels: runLabels(run),
      },
      spec: {
        vmiName: vm.metadata.name,
        sendTo: { migrationID: migrationIdOf(run, record.attempt), connectURL },
      },
    } as never,
  });
}

function inTurn(snapshot: RecordedRun): StepDecision | undefined {
  const first = launchesBefore(snapshot);
  if (first === undefined) return undefined;
  return wait(
    LIVE_REASON.inTurn,
    `the launcher of ${first} comes first, because a quota of the target counts both`,
  );
}

function tooLarge({ target, hub }: RecordedRun): StepDecision | undefined {
  const { missing, isLetIn } = target.fit;
  if (missing === undefined) return undefined;
  if (isLetIn && hub.settings.allowOverQuota) return undefined;
  const message = isLetIn
    ? `the VM would be over its quota for good, so that its next restart is refused: ${missing}. Increase the quota, or set ` +
      'allowOverQuota: "true" in the settings of the provider'
    : `the VM does not fit on the target: ${missing}. Increase the quota; for its pods alone, a VMMRQ with allowReceive is enough ` +
      'while managed-tenant-quota runs there too';
  return waitAtMost(LIMIT_MS.meeting, hub, { reason: LIVE_REASON.overQuota, message });
}
