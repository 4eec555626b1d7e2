import { shown } from '../../domain/foreign-text.ts';
import { differencesOf, hardwareProblem } from '../on-target/differences.ts';
import { LIMIT_MS, timeOf } from '../run/deadlines.ts';
import { DONE, fail, waitUntil, write, type LiveWrite, type StepDecision } from '../run/decision.ts';
import type { VirtualMachine, Vmi } from '../../domain/live/kubevirt.ts';
import { LIVE_KIND, LIVE_REASON } from '../../domain/live/names.ts';
import { receiverOf } from '../guest/proofs.ts';
import { isOfRun } from '../run/names.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import { standbyVm, unmappedNetworks } from '../on-target/standby-vm.ts';
import { fixedDisks } from '../on-target/volumes.ts';
import type { KubernetesObject } from '../../domain/objects.ts';

/** Creates the VM that waits for its guest, then makes it its volumes' owner; done when KubeVirt has made a VMI that waits. */
export function decide(snapshot: RecordedRun): StepDecision {
  const { target, record } = snapshot;
  const { vm } = target;
  if (vm === undefined && record.attempt === 0) return create(snapshot);
  const receiver = receiverOf(snapshot);
  if (receiver === undefined || receiver.metadata.deletionTimestamp !== undefined) return lost(snapshot);
  return record.attempt > 0 ? DONE : prepare(snapshot, receiver);
}

function prepare(snapshot: RecordedRun, receiver: VirtualMachine): StepDecision {
  const { target } = snapshot;
  const orphans = (target.setup?.volumes ?? []).filter((volume) => isOrphan(volume, snapshot, receiver));
  if (orphans.length > 0) return adopt(orphans, receiver);
  if (target.vmi?.status?.phase === 'WaitingForSync') return compare(snapshot, target.vmi);
  const message = `the VM on the target does not wait for its guest yet (${shown(receiver.status?.printableStatus ?? 'new')})${failureOf(receiver)}`;
  const until = timeOf(receiver.metadata.creationTimestamp) + LIMIT_MS.receiver;
  return waitUntil(
    { now: target.now, until },
    { reason: LIVE_REASON.receiverPending, message },
    LIVE_REASON.receiverFailed,
  );
}

/** Says why KubeVirt cannot make the VMI, such as for a quota that counts it; empty if it can. */
function failureOf({ status }: VirtualMachine): string {
  const failure = (status?.conditions ?? []).find((one) => one.type === 'Failure' && one.status === 'True');
  const why = shown(failure?.message);
  return why === '' ? '' : `: ${why}`;
}

/** Compares the hardware: instance types are by name, and another cluster's may be others. */
function compare({ source }: RecordedRun, receiver: Vmi): StepDecision {
  const problem = hardwareProblem(source, receiver);
  return problem === undefined ? DONE : fail(LIVE_REASON.hardwareDiffers, problem);
}

function lost({ run, target: { vm } }: RecordedRun): StepDecision {
  if (vm === undefined || isOfRun(vm, run))
    return fail(LIVE_REASON.targetGone, 'the VM on the target was deleted before its guest arrived');
  return fail(
    LIVE_REASON.vmAlreadyExists,
    `a VM ${vm.metadata.name}, which this run did not make, is on the target: set targetName in the plan`,
  );
}

/** Creates the VM only if the source VM is as it runs: otherwise the copy would start differently at its next restart. */
function create({ run, hub, source, record }: RecordedRun): StepDecision {
  const { vm, vmi } = source;
  if (vmi === undefined) return fail(LIVE_REASON.sourceStopped, 'the VM was stopped on the source');
  const problems = [
    ...differencesOf(vm, vmi).map(({ message }) => message),
    ...unmappedNetworks(vm, hub.networks),
    ...fixedDisks(vm),
  ];
  if (problems.length > 0) return fail(LIVE_REASON.receiverFailed, problems.join('; '));
  const object = standbyVm({ run, record, plan: hub.plan, networks: hub.networks, vm, vmi });
  return write('creating the VM that waits on the target', { verb: 'create', on: 'target', object });
}

/** Whether a volume of this run would stay when the VM is deleted. */
const isOrphan = (volume: KubernetesObject, { run }: RecordedRun, { metadata }: VirtualMachine): boolean =>
  isOfRun(volume, run) && volume.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid) !== true;

const adopt = (
  volumes: readonly KubernetesObject[],
  { metadata: { name, uid } }: VirtualMachine,
): StepDecision =>
  write(
    'giving the volumes on the target to their VM',
    ...volumes.map((volume): LiveWrite => {
      const { metadata } = volume;
      const owner = { ...LIVE_KIND.vm, name, uid, blockOwnerDeletion: true };
      const ownerReferences = [...(metadata.ownerReferences ?? []), owner];
      return {
        verb: 'replace',
        on: 'target',
        object: { ...volume, metadata: { ...metadata, ownerReferences } },
      };
    }),
  );
