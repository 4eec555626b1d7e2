import { LIVE_KUBEVIRT, MARK, type Mark } from '../../domain/live/names.ts';
import {
  WAIT_AS_RECEIVER,
  type MigrationState,
  type VirtualMachine,
  type Vmi,
  type Vmim,
} from '../../domain/live/kubevirt.ts';

/** The VMI of the source, and the VMIMs by which this run sends its guest. */
interface SourceObjects {
  readonly vmi: Vmi | undefined;
  readonly vmims: readonly Vmim[];
}

/** The objects that show where a guest runs: the VM's objects on both clusters, undefined if there is none. */
export interface Sides {
  readonly source: SourceObjects;
  /** The objects on the target that this run made. */
  readonly target: {
    readonly vm: VirtualMachine | undefined;
    readonly vmi: Vmi | undefined;
    readonly vmim: Vmim | undefined;
  };
  /** The source's migration before the run: its state on the VMI shows nothing about this run. */
  readonly before: string | undefined;
}

/**
 * Returns the marks of a cut-over that can be seen now. Some go away by themselves (a source VMI is deleted), so each is stored when it is
 * seen first. Without any, the guest never ran on the target (facts/cross-cluster.md §C2).
 */
export function marksOf(sides: Sides): Mark[] {
  const { source, target, before } = sides;
  const sent = sentState(source, before);
  const received = target.vmi?.status?.migrationState;
  const marks: Record<Mark, boolean> = {
    [MARK.guestReady]: isGuestReady(sent) || isGuestReady(received) || wasGuestReady(target.vmim),
    [MARK.postCopy]: isPostCopy(sides),
    [MARK.received]: hasSucceeded(target.vmim),
    [MARK.notWaiting]: target.vmi !== undefined && !isMigrationTarget(target.vmi),
    [MARK.strategyRestored]: target.vm !== undefined && !isReceiver(target.vm),
    [MARK.sent]: isCompleted(sent),
  };
  return Object.values(MARK).filter((mark) => marks[mark]);
}

interface Vmis extends Pick<Sides, 'source' | 'before'> {
  readonly target: Pick<Sides['target'], 'vmi'>;
}

/** Whether the guest left before all its memory: it runs on the target, and is lost if either side ends now. */
export const isPostCopy = ({ source, target, before }: Vmis): boolean =>
  [ownStateOf(source.vmi, before), target.vmi?.status?.migrationState].some(
    (state) => state?.mode === 'PostCopy',
  );

/**
 * Whether the guest has arrived. From then on the source's disks are out of date for good, so the word of the target's KubeVirt is not
 * enough: if the source fails by itself, some releases end the target's migration as Succeeded (kubevirt#17261). The guest must have been
 * active there too, which only the target's node says. The VMIM may be gone already: one that was deleted while it ran vanishes when it
 * succeeds (facts/cross-cluster.md §C6). Some releases then clear both sides of the state (recorded: cross-sides-cleared-next-crash), and
 * may fail the VMIM for that, so its uid says what has completed.
 */
export function hasArrived(sides: Sides & { readonly wasReady?: boolean }): boolean {
  const { source, target, before, wasReady = false } = sides;
  const sent = sentState(source, before);
  const { vmi, vmim } = target;
  const state = vmi?.status?.migrationState;
  if (!wasReady && !isGuestReady(state) && !isGuestReady(sent)) return false;
  return (
    hasSucceeded(vmim) || (vmi !== undefined && hasCompleted(vmi, [vmim?.metadata.uid, uidSentTo(sent)]))
  );
}

/** Whether the VMI has completed a migration. `vmims`: uids of the VMIMs that it may have completed. */
function hasCompleted(vmi: Vmi, vmims: readonly (string | undefined)[]): boolean {
  const { phase, migrationState: state } = vmi.status ?? {};
  if (!isCompleted(state) || phase === 'WaitingForSync') return false;
  const { migrationUid } = state ?? {};
  return (
    ownStateOf(vmi, undefined) !== undefined || (migrationUid !== undefined && vmims.includes(migrationUid))
  );
}

const uidSentTo = (sent: MigrationState | undefined): string | undefined => sent?.targetState?.migrationUID;

/** Whether the guest runs on the target now, and KubeVirt has finished its migration. */
export const runsOnTarget = ({ vmi }: Pick<Sides['target'], 'vmi'>): boolean =>
  vmi?.status?.phase === 'Running' &&
  vmi.status.nodeName !== undefined &&
  vmi.metadata.deletionTimestamp === undefined &&
  !isMigrationTarget(vmi);

/** Whether the VMI waits for its guest, or receives it. */
export const isMigrationTarget = ({ metadata }: Vmi): boolean =>
  metadata.annotations?.[LIVE_KUBEVIRT.migrationTarget] !== undefined;

/** Whether the VM waits for its guest, so that KubeVirt never starts it. */
export const isReceiver = ({ spec }: VirtualMachine): boolean => spec.runStrategy === WAIT_AS_RECEIVER;

/**
 * Returns the source's state of a migration of this run: one between clusters, whose sides have different VMIMs, and which was not there
 * before the run. A local migration has one VMIM, and proves nothing.
 */
export function ownStateOf(vmi: Vmi | undefined, before: string | undefined): MigrationState | undefined {
  const state = vmi?.status?.migrationState;
  const source = state?.sourceState?.migrationUID;
  const isLocal = source === undefined || source === state?.targetState?.migrationUID;
  return isLocal || source === before ? undefined : state;
}

/**
 * Returns the source's state of this run's migration. A local migration, as of a drain, replaces that of the VMI, also where the guest has left
 * and the VMI says Running for ever (facts/cross-cluster.md §C6); the VMIM keeps its own at its end, also of one that has failed afterwards.
 */
const sentState = ({ vmi, vmims }: SourceObjects, before: string | undefined): MigrationState | undefined =>
  ownStateOf(vmi, before) ??
  vmims
    .map(({ status }) => status?.migrationState)
    .find((state) => isCompleted(state) || isGuestReady(state));

/** Whether the guest has left the source, as the source says. */
export const hasLeft = (source: SourceObjects, before: string | undefined): boolean =>
  isCompleted(sentState(source, before));

/** The source's migration between clusters, or within its own, that the VMI knows: before a run begins, an earlier one. */
export const migrationKnownBy = (vmi: Vmi | undefined): string | undefined =>
  vmi?.status?.migrationState?.sourceState?.migrationUID;

const hasSucceeded = (vmim: Vmim | undefined): boolean => vmim?.status?.phase === 'Succeeded';

/** Whether the migration succeeded: a failed migration is completed too. */
const isCompleted = (state: MigrationState | undefined): boolean =>
  state?.completed === true && state.failed !== true;

/**
 * Whether the guest was active on the target, by the state that its VMIM there keeps at its end: the VMI may be another one by then
 * (facts/cross-cluster.md §C7).
 */
export const wasGuestReady = (vmim: Vmim | undefined): boolean => isGuestReady(vmim?.status?.migrationState);

const isGuestReady = (state: MigrationState | undefined): boolean =>
  typeof (state?.targetNodeDomainReadyTimestamp ?? state?.targetState?.domainReadyTimestamp) === 'string';
