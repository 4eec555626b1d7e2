import { isDone, isFinal } from '../../domain/migration.ts';
import { FIELD_MANAGER } from '../../domain/names.ts';
import type { Pod } from '../../domain/objects.ts';
import { hasLeft, isMigrationTarget, isReceiver, ownStateOf, runsOnTarget } from './cut-over.ts';
import { timeOf } from '../run/deadlines.ts';
import type { VirtualMachine, Vmi, Vmim } from '../../domain/live/kubevirt.ts';
import { KUBEVIRT_MANAGER } from '../../domain/live/names.ts';
import { isOfRun, vmimName, type RunId } from '../run/names.ts';
import { isHeld, strategyOf, type RunRecord } from '../run/record.ts';
import type { RecordedRun, RunSnapshot, SourceSide, TargetSide } from '../run/snapshot.ts';

/** The VMIM of an attempt on one side; undefined if there is none. */
export const vmimOf = (vmims: readonly Vmim[], run: RunId, attempt: number): Vmim | undefined =>
  vmims.find(({ metadata }) => metadata.name === vmimName(run, attempt));

/** The VM on the target, if this run made it. */
export const receiverOf = ({ run, target: { vm } }: RunSnapshot): VirtualMachine | undefined =>
  vm !== undefined && isOfRun(vm, run) ? vm : undefined;

/** Whether the VMIM is gone, or at its end. */
export const isGoneOrFinal = (vmim: Vmim | undefined): boolean => vmim === undefined || isFinal(vmim);

/**
 * Whether the guest runs on the source. The VMI by itself does not prove it: a VMI whose guest has left may say Running for ever
 * (facts/cross-cluster.md §C6). So its launcher must run, and no migration of this run may have completed or be under way.
 */
export function isSourceAlive({ source, record }: RecordedRun): boolean {
  const { vmi, vmims, pods } = source;
  return isUp(vmi) && !hasLeft(source, record.before) && vmims.every(isGoneOrFinal) && pods.some(isRunning);
}

/** Whether the VMI is up: then KubeVirt has not halted the VM, which it does once the VMI has ended. */
export const isUp = (vmi: Vmi | undefined): boolean =>
  vmi?.status?.phase === 'Running' && vmi.metadata.deletionTimestamp === undefined;

const isRunning = ({ metadata, status }: Pod): boolean =>
  status?.phase === 'Running' && metadata.deletionTimestamp === undefined;

/** Whether a launcher is on the target that may have the guest, or is about to receive it. */
export const hasTargetPod = ({ pods }: Pick<TargetSide, 'pods'>): boolean => pods.some((pod) => !isDone(pod));

/** Whether no launcher was ever created on the target, which proves that no guest was ever there. */
export function neverHadLauncher({ target: { vmi, pods }, record }: RecordedRun): boolean {
  if (pods.length > 0) return false;
  // A VMI that is gone may have had a launcher.
  if (vmi === undefined) return record.attempt === 0;
  return isFirstVmi(vmi, record) && isMigrationTarget(vmi) && !namesLauncher(vmi);
}

/** Whether the VMI is still the one that was there when the attempts began: one that has taken its place may never have had a launcher. */
const isFirstVmi = (vmi: Vmi, record: RunRecord): boolean =>
  isReceivingVmi(vmi, record) && (record.attempt === 0 || vmi.metadata.uid === record.receiverVmi);

/** Whether the VMI is of the VM that the attempts were for. */
export const isReceivingVmi = ({ metadata }: Vmi, { attempt, receiver }: RunRecord): boolean =>
  attempt === 0 || metadata.ownerReferences?.some(({ uid }) => uid === receiver) === true;

function namesLauncher({ status }: Vmi): boolean {
  const { targetPod, targetState } = status?.migrationState ?? {};
  const names = [targetPod, targetState?.pod, ...Object.keys(status?.activePods ?? {})];
  return names.some((name) => name !== undefined);
}

/**
 * Whether KubeVirt itself halted the source VM because its launcher died during a migration of this run that never reached its
 * cut-over. KubeVirt deletes the VMI and the VMIM with it, so the proof is on the target: its migration has failed, its VMI waits
 * again, and no launcher is there (recorded: cross-source-fails).
 */
export const isHaltedByMigration = (snapshot: RecordedRun): boolean =>
  isHaltedByKubeVirt(snapshot) && hasGivenUp(snapshot);

/** Whether KubeVirt itself halted the source VM, which says nothing of where the guest is. The VM's managed fields name the writer. */
export const isHaltedByKubeVirt = ({ source, record }: RecordedRun): boolean =>
  source.vmims.every(isGoneOrFinal) &&
  (source.vmi === undefined
    ? isHaltedByManager(source.vm, KUBEVIRT_MANAGER)
    : isKeptDown(source, source.vmi, record));

/** Whether KubeVirt has halted the VM, and its VMI is still there. Beside `running` the VMI may stay for good (isKeptDown). */
export const isGoingDown = ({ vm, vmi }: RecordedRun['source']): boolean =>
  vm.spec.running === undefined && vmi !== undefined && isHaltedByManager(vm, KUBEVIRT_MANAGER);

/**
 * Whether the VMI stays as it ended, so that KubeVirt neither halts the VM nor starts it again. KubeVirt cannot halt a VM of the older
 * form: a run strategy beside `running` is an error, which its webhook refuses (recorded: cross-source-running-true;
 * facts/cross-cluster.md §C7). After a migration that ended before it began, KubeVirt waits for the end of that migration (isUnfinished).
 * The run itself keeps down a VM that it has set to Manual (hold.ts).
 * A VMI that has started since the run began counts too: a delayed call may create the source's VMIM for it.
 */
function isKeptDown({ vm, others }: RecordedRun['source'], vmi: Vmi, record: RunRecord): boolean {
  const hasEnded = ['Succeeded', 'Failed'].includes(vmi.status?.phase ?? '');
  if (!hasEnded || vmi.metadata.deletionTimestamp !== undefined) return false;
  return (
    isHeld(vm, record) ||
    (isOfOldForm(vm) && hasFailedState(vmi)) ||
    (isKeptRunning(vm) && isUnfinished(vmi) && others.every(isGoneOrFinal))
  );
}

const isOfOldForm = (vm: VirtualMachine): boolean =>
  vm.spec.running === true && (vm.spec.runStrategy === undefined || isHaltedByManager(vm, KUBEVIRT_MANAGER));

/**
 * Whether KubeVirt halts the VM at its next crash or restart, instead of starting it again. KubeVirt does so after a failed migration
 * between clusters, until another migration has replaced the state (recorded: cross-failed-then-source-crashes). By the same rule it keeps
 * the strategy RerunOnFailure (recorded: cross-rerunonfailure).
 */
export const isHaltedByNextCrash = ({ vm, vmi }: Pick<SourceSide, 'vm' | 'vmi'>): boolean =>
  isKeptRunning(vm) && hasFailedState(vmi);

/** Whether KubeVirt does not start the VM again after its next crash or restart: it halts the VM, or does nothing (isUnfinished). */
export const isDownByNextCrash = ({ vm, vmi, vmims, others }: SourceSide): boolean =>
  isKeptRunning(vm) &&
  (hasFailedState(vmi) || (isUnfinished(vmi) && [...vmims, ...others].every(isGoneOrFinal)));

/**
 * Whether the same applies to the VM on the target, once its guest is there. A KubeVirt that keeps both sides of the state treats it as a
 * VM whose guest has left (facts/cross-cluster.md §C7). Releases differ in whether they clear them
 * (recorded: cross-sides-cleared-next-crash).
 */
export function isDownByNextCrashThere({ vm, vmi }: Pick<TargetSide, 'vm' | 'vmi'>): boolean {
  const { sourceState, targetState } = ownStateOf(vmi, undefined) ?? {};
  const isBetweenClusters =
    (sourceState?.syncAddress === undefined) !== (targetState?.syncAddress === undefined);
  return isKeptRunning(vm) && isBetweenClusters;
}

const isKeptRunning = (vm: VirtualMachine | undefined): boolean =>
  vm !== undefined && ['Always', 'running'].includes(strategyOf(vm) ?? '');

/** Whether the last migration between clusters that the VMI knows has failed. */
function hasFailedState(vmi: Vmi | undefined): boolean {
  const state = ownStateOf(vmi, undefined);
  return state?.completed === true && state.failed === true;
}

/**
 * Whether a migration between clusters is in the VMI's state without an end: virt-handler ends one only once it has begun, and KubeVirt
 * waits for that (vm.go, syncRunStrategy: "decentralized migration not completed, adding to queue"; recorded: cross-unreachable).
 */
function isUnfinished(vmi: Vmi | undefined): boolean {
  const state = ownStateOf(vmi, undefined);
  return state?.targetState?.syncAddress !== undefined && state.completed !== true;
}

/** Whether the target waits again for a guest that never came. */
export function hasGivenUp(snapshot: RecordedRun): boolean {
  const { target, record, run } = snapshot;
  const receiver = receiverOf(snapshot);
  if (receiver === undefined || !isReceiver(receiver)) return false;
  if (hasTargetPod(target) || !isWaiting(target.vmi) || !isFirstVmi(target.vmi, record)) return false;
  const hasFailed = vmimOf(target.vmims, run, record.attempt)?.status?.phase === 'Failed';
  return hasFailed || neverHadLauncher(snapshot);
}

/** Whether the target may still give up, and prove it so. */
export const mayGiveUp = ({ target }: RunSnapshot): boolean =>
  hasTargetPod(target) ||
  !target.vmims.every(isGoneOrFinal) ||
  (target.vmi !== undefined && !isWaiting(target.vmi));

const isWaiting = (vmi: Vmi | undefined): vmi is Vmi =>
  vmi?.status?.phase === 'WaitingForSync' && isMigrationTarget(vmi);

/** Whether this writer alone set the VM to Halted. */
export function isHaltedByManager(vm: VirtualMachine, manager: string): boolean {
  if (vm.spec.runStrategy !== 'Halted') return false;
  const owners = strategyOwners(vm);
  return owners.length > 0 && owners.every((owner) => owner === manager);
}

/** Names of the field managers that set the VM's run strategy; '' for one that has no name. */
export const strategyOwners = ({ metadata }: VirtualMachine): string[] =>
  (metadata.managedFields ?? []).flatMap(({ fieldsV1, manager = '' }) =>
    fieldsV1?.['f:spec']?.['f:runStrategy'] === undefined ? [] : [manager],
  );

/**
 * Returns when the run wrote the VM last, by the clock of its API server, milliseconds; -Infinity if that is not known. A call may be
 * delayed between its reading and its write.
 */
export const writtenAt = ({ metadata }: VirtualMachine): number =>
  Math.max(
    ...(metadata.managedFields ?? []).flatMap(({ manager, time }) =>
      manager === FIELD_MANAGER && time !== undefined ? [timeOf(time)] : [],
    ),
  );

/** Whether KubeVirt starts the VM by itself, or keeps it running. */
export const isWantedRunning = ({ vm, vmi }: Pick<SourceSide, 'vm' | 'vmi'>): boolean =>
  isKeptRunning(vm) ||
  (vm?.spec.runStrategy === 'Once' && vmi === undefined) ||
  (vm?.spec.runStrategy === 'RerunOnFailure' && !isDown(vm, vmi));

/**
 * Whether a VM that runs again only on failure has been stopped, or has shut down. After a failure KubeVirt adds a start request before it
 * deletes the VMI. The VM is read before its VMI, so its own status has to say that it is Stopped (recorded: cross-rerunonfailure).
 */
const isDown = ({ status }: VirtualMachine, vmi: Vmi | undefined): boolean =>
  vmi === undefined && status?.printableStatus === 'Stopped' && !isStartRequested({ status });

/** Whether a start is requested: by a user, also as a part of a restart, or by KubeVirt itself. */
export const isStartRequested = ({ status }: Pick<VirtualMachine, 'status'>): boolean =>
  (status?.stateChangeRequests ?? []).some(({ action }) => action === 'Start');

/** Whether the guest runs on the target now. */
export const isTargetUp = (snapshot: RunSnapshot): boolean =>
  receiverOf(snapshot) !== undefined && runsOnTarget(snapshot.target);

/** Whether KubeVirt leaves the VM off, by its spec. */
export const isOff = ({ spec }: VirtualMachine): boolean =>
  spec.runStrategy === 'Halted' || spec.running === false;
