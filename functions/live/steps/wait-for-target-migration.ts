import { LIMIT_MS } from '../run/deadlines.ts';
import { DONE, fail, waitUntil, type StepDecision } from '../run/decision.ts';
import type { Vmim } from '../../domain/live/kubevirt.ts';
import { LIVE_REASON } from '../../domain/live/names.ts';
import { neverHadLauncher, vmimOf } from '../guest/proofs.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import { waitingSince, waitAtMost } from '../run/waiting-since.ts';
import { isFinal } from '../../domain/migration.ts';
import { sourceGone, sourceStopped } from '../guest/source-stopped.ts';

/** Waits for the address of the target's synchronization controller, to which the source will connect. */
export function decide(snapshot: RecordedRun): StepDecision {
  const { source, target, run, record } = snapshot;
  if (vmimOf(source.vmims, run, record.attempt) !== undefined) return DONE;
  const received = vmimOf(target.vmims, run, record.attempt);
  if (received === undefined || isFinal(received)) return ended(snapshot);
  if (!APART.includes(received.status?.phase ?? '')) return vanished(snapshot);
  return sourceStopped(snapshot) ?? address(snapshot, received);
}

const ended = (snapshot: RecordedRun): StepDecision =>
  fail(
    LIVE_REASON.transferFailed,
    neverHadLauncher(snapshot)
      ? 'the VMIM on the target has ended before the source knew of it'
      : `${goneOf(snapshot)}, and the migration has ended`,
  );

function address({ hub }: RecordedRun, { status }: Vmim): StepDecision {
  if (status?.synchronizationAddresses?.[0] !== undefined && status.phase === 'WaitingForSync') return DONE;
  const message =
    'the synchronization controller of the target has no address: check that virt-synchronization-controller runs there, and that the ' +
    'feature gate DecentralizedLiveMigration is on';
  return waitAtMost(LIMIT_MS.address, hub, { reason: LIVE_REASON.noAddress, message });
}

/** Phases of a VMIM on the target that has not met the one on the source (facts/cross-cluster.md §C2). */
const APART: readonly string[] = ['', 'WaitingForSync'];

/**
 * Decides about a VMIM on the source that was there, and is gone: KubeVirt deletes it with its VMI (recorded: cross-source-fails), or a
 * user has. The target ends its own a moment later, by itself.
 */
function vanished(snapshot: RecordedRun): StepDecision {
  const message = goneOf(snapshot);
  if (sourceGone(snapshot) !== undefined) return fail(LIVE_REASON.transferFailed, message);
  const reason = LIVE_REASON.aborting;
  const { hub } = snapshot;
  return waitUntil(
    { now: hub.now, until: waitingSince(hub, reason) + LIMIT_MS.silence },
    { reason, message: `${message}: waiting until the migration ends on the target too` },
    LIVE_REASON.transferFailed,
  );
}

const goneOf = (snapshot: RecordedRun): string =>
  sourceGone(snapshot) === undefined
    ? 'the VMIM on the source is gone'
    : 'the VM on the source ended while its guest was being moved';
