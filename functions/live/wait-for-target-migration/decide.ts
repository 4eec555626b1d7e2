import { LIMIT_MS } from '../../domain/live/deadlines.ts';
import { DONE, fail, type StepDecision } from '../../domain/live/decision.ts';
import { LIVE_REASON } from '../../domain/live/names.ts';
import { vmimOf } from '../../domain/live/proofs.ts';
import type { RecordedRun } from '../../domain/live/run-snapshot.ts';
import { waitAtMost } from '../../domain/live/shown-wait.ts';
import { isFinal } from '../../domain/migration.ts';

/** The address of the target's synchronization controller, to which the source will connect. */
export function decide({ source, target, hub, run, record }: RecordedRun): StepDecision {
  if (vmimOf(source.vmims, run, record.attempt) !== undefined) return DONE;
  const received = vmimOf(target.vmims, run, record.attempt);
  if (received === undefined || isFinal(received))
    return fail(LIVE_REASON.transferFailed, 'the VMIM on the target has ended before the source knew of it');
  const { status } = received;
  if (status?.synchronizationAddresses?.[0] !== undefined && status.phase === 'WaitingForSync') return DONE;
  const message =
    'the synchronization controller of the target has no address: check that virt-synchronization-controller runs there, and that the ' +
    'feature gate DecentralizedLiveMigration is on';
  return waitAtMost(LIMIT_MS.address, hub, { reason: LIVE_REASON.noAddress, message });
}
