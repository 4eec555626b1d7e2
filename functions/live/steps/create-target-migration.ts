import { abort, isLeftToTarget } from '../guest/abort.ts';
import { LIMIT_MS } from '../run/deadlines.ts';
import { DONE, fail, write, type Fail, type StepDecision, type Wait } from '../run/decision.ts';
import { LIVE_KUBEVIRT, LIVE_REASON } from '../../domain/live/names.ts';
import { vmimOf } from '../guest/proofs.ts';
import { sourceStopped } from '../guest/source-stopped.ts';
import { migrationIdOf, runLabels, vmimName } from '../run/names.ts';
import { withRecord, type RunRecord } from '../run/record.ts';
import type { OwnVmims, RecordedRun, SourceSide } from '../run/snapshot.ts';
import { describe } from '../run/describe.ts';
import { waitAtMost } from '../run/waiting-since.ts';
import { KIND } from '../../domain/names.ts';

/**
 * KubeVirt's timeouts of the VMIM. By default it would end the migration after 5 minutes, or 15, of which CDI needs a part to fill the
 * volumes.
 */
const WHILE_FILLED = Object.fromEntries(
  [LIVE_KUBEVIRT.pendingTimeout, LIVE_KUBEVIRT.unschedulableTimeout].map((name) => [
    name,
    String(LIMIT_MS.volumes / 1_000),
  ]),
);

/** Creates the VMIM that receives; its number is recorded first. An attempt that was withdrawn ends here, and the next one begins. */
export function decide(snapshot: RecordedRun): StepDecision {
  const { source, target, run, record } = snapshot;
  const { attempt } = record;
  if (attempt === 0) return busy(snapshot) ?? begin(snapshot);
  if (record.withdrawn === true) return again(snapshot);
  const isThere = [source, target].some(({ vmims }) => vmimOf(vmims, run, attempt) !== undefined);
  if (isThere) return DONE;
  return sourceStopped(snapshot) ?? nameTaken('target', target) ?? create(snapshot);
}

/** Ends an attempt that was withdrawn, then begins the next one. */
function again(snapshot: RecordedRun): StepDecision {
  const aborted = abort(snapshot);
  if (aborted.kind === 'done') return sourceStopped(snapshot) ?? busy(snapshot) ?? begin(snapshot);
  if (aborted.kind !== 'wait') return aborted;
  return isLeftToTarget(snapshot)
    ? fail(aborted.reason, 'KubeVirt does not remove the VMIM of an attempt that was withdrawn')
    : waitAtMost(LIMIT_MS.busy, snapshot.hub, aborted);
}

/** Fails if a VMIM of that name is not this run's. */
export const nameTaken = (side: 'source' | 'target', { taken }: OwnVmims): Fail | undefined =>
  taken &&
  fail(
    LIVE_REASON.transferFailed,
    `the ${describe(taken)} on the ${side} has the name of the one that moves the VM, and the run has not made it: delete it, and run the ` +
      'plan again',
  );

function create({ target, run, record }: RecordedRun): StepDecision {
  const { attempt } = record;
  return write('creating the VMIM on the target', {
    verb: 'create',
    on: 'target',
    object: {
      ...KIND.migration,
      metadata: {
        name: vmimName(run, attempt),
        namespace: record.target.namespace,
        labels: runLabels(run),
        ...(target.isFilledLate === true && { annotations: WHILE_FILLED }),
      },
      spec: { vmiName: record.target.name, receive: { migrationID: migrationIdOf(run, attempt) } },
    } as never,
  });
}

function begin({ source: { vm }, target, record }: RecordedRun): StepDecision {
  const {
    withdrawn: _withdrawn,
    receiver = target.vm?.metadata.uid,
    receiverVmi = target.vmi?.metadata.uid,
    ...rest
  } = record;
  const own = { ...(receiver && { receiver }), ...(receiverVmi && { receiverVmi }) };
  const next: RunRecord = { ...rest, attempt: record.attempt + 1, ...own };
  return write(`recording attempt ${String(next.attempt)}`, {
    verb: 'replace',
    on: 'source',
    object: withRecord(vm, next),
  });
}

/**
 * Waits for the source's own actions on the VM: a migration that waits for its target would hold them up. A node that cannot be drained
 * must not hold up the run for ever.
 */
export function busy(snapshot: RecordedRun): StepDecision | undefined {
  const waiting = ownWork(snapshot.source);
  return waiting && waitAtMost(LIMIT_MS.busy, snapshot.hub, waiting);
}

function ownWork({ vm, vmi, others }: SourceSide): Pick<Wait, 'reason' | 'message'> | undefined {
  const node = vmi?.status?.evacuationNodeName;
  if (node !== undefined)
    return {
      reason: LIVE_REASON.sourceEvacuating,
      message: `node ${node} of the source is being drained: the VM moves to another node of the source first`,
    };
  const taken = vm?.status?.snapshotInProgress;
  // virt-api, validateSnapshotStatus.
  if (taken !== undefined)
    return {
      reason: LIVE_REASON.sourceSnapshot,
      message: `the VirtualMachineSnapshot ${taken} of the VM is being taken, until whose end KubeVirt refuses to halt the VM`,
    };
  const [other] = others;
  if (other === undefined) return undefined;
  return {
    reason: LIVE_REASON.sourceMigrating,
    message: `the VMIM ${other.metadata.name} moves the VM within the source: waiting for its end`,
  };
}
