import type { LockedMigration, Reference, BlockedMigration } from './lock.ts';
import { HELD_BACK, KIND, KUBEVIRT } from './names.ts';
import type { Migration, OwnerReference, Pod } from './objects.ts';

export const referenceOf = ({ metadata }: Migration): Reference => ({
  name: metadata.name,
  uid: metadata.uid,
});

/** Whether the migration is Failed or Succeeded (facts/kubevirt.md §1.1). */
export const isFinal = ({ status }: Migration): boolean =>
  status?.phase === 'Failed' || status?.phase === 'Succeeded';

/** KubeVirt's own IsRunning (facts/kubevirt.md §1.1): past Pending, not yet final. A sending migration also waits while Scheduling. */
export function isRunning(migration: Migration): boolean {
  const phase = migration.status?.phase ?? '';
  const waiting = ['', 'Pending', 'WaitingForSync', 'Synchronizing', 'Failed', 'Succeeded'];
  return !waiting.includes(phase) && !(phase === 'Scheduling' && isSending(migration));
}

/**
 * The migration's target launcher. Its label outlives the migration, so the UID must be of a migration that was read
 * (facts/kubevirt.md §1.2). Any phase counts, because an admitted pod was charged; a living pod is preferred.
 */
export function targetPodOf({ uid }: Reference, pods: readonly Pod[]): Pod | undefined {
  const targets = pods.filter(
    ({ metadata }) =>
      metadata.labels?.[KUBEVIRT.migrationJobUID] === uid &&
      metadata.labels[KUBEVIRT.launcherLabel] === KUBEVIRT.launcher,
  );
  return targets.find((pod) => !isGoing(pod)) ?? targets[0];
}

/**
 * The pod that attaches a VM's hotplugged volumes to this launcher, its owner. The newest one has all volumes; a terminating
 * one does not count.
 */
export function attachmentPodOf(launcher: Pod | undefined, pods: readonly Pod[]): Pod | undefined {
  const made = ({ metadata }: Pod): number => Date.parse(metadata.creationTimestamp);
  return pods
    .filter((pod) => isAttachment(pod) && isOwnedBy(pod, launcher?.metadata.uid))
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .toSorted((one, other) => made(other) - made(one))[0];
}

/** The one owner that controls the pod: the API server refuses two. */
export const controllerOf = ({ metadata }: Pod): OwnerReference | undefined =>
  metadata.ownerReferences?.find(({ controller }) => controller === true);

export const isOwnedBy = (pod: Pod, owner: string | undefined): boolean =>
  owner !== undefined && controllerOf(pod)?.uid === owner;

/** The pod attaches the hotplugged volumes of a VM. */
export const isAttachment = ({ metadata }: Pod): boolean =>
  metadata.labels?.[KUBEVIRT.launcherLabel] === KUBEVIRT.attachment;

/** The target launcher as KubeVirt identifies it: by the labels of its own VMI, whatever its owner is (facts/kubevirt.md §1.2). */
const ownTargetOf = ({ vmi, ...reference }: LockedMigration, pods: readonly Pod[]): Pod | undefined =>
  targetPodOf(
    reference,
    pods.filter((pod) => vmOf(pod) === vmi),
  );

/**
 * The pod that the migration waits for, once it is admitted. Also checked before each lock: otherwise a pod could count as its
 * target only within a lock.
 */
export function admittedPodOf(migration: LockedMigration, pods: readonly Pod[]): Pod | undefined {
  const target = ownTargetOf(migration, pods);
  return migration.lacks === 'attachment' ? attachmentPodOf(target, pods) : target;
}

/** Whether each migration has the pod that it waits for. */
export const allAdmitted = (migrations: readonly LockedMigration[], pods: readonly Pod[]): boolean =>
  migrations.every((migration) => admittedPodOf(migration, pods) !== undefined);

/** The fields of a migration that show whether a quota refused it. */
interface BlockedStatus {
  readonly metadata: { readonly deletionTimestamp?: string | undefined };
  readonly status?:
    | {
        readonly phase?: string | undefined;
        readonly conditions?:
          | readonly {
              readonly type: string;
              readonly status: string;
              readonly lastProbeTime?: string | null | undefined;
            }[]
          | undefined;
      }
    | undefined;
}

type WithConditions = Pick<BlockedStatus, 'status'>;

/** Whether one of these conditions is True. */
const isTrue = ({ status }: WithConditions, types: readonly string[]): boolean =>
  (status?.conditions ?? []).some(
    (condition) => types.includes(condition.type) && condition.status === 'True',
  );

/** Whether KubeVirt's condition reports a refusal by a quota; the condition outlives the refusal (facts/kubevirt.md §1.3). */
export const wasRejectedByQuota = (migration: WithConditions): boolean =>
  isTrue(migration, [KUBEVIRT.rejectedByQuota]);

/**
 * Whether the migration is Pending and refused by a quota, by KubeVirt's condition. KubeVirt never clears the condition while
 * Pending (facts/kubevirt.md §1.3), even if something else holds the migration back by now.
 */
export const isRejectedByQuota = (migration: BlockedStatus): boolean =>
  isPending(migration) && wasRejectedByQuota(migration) && !isTrue(migration, HELD_BACK);

/** How far the clocks of API servers and of virt-controller may be apart, milliseconds. */
export const CLOCKS_APART_MS = 2_000;
/** How long ago a refusal counts as fresh, milliseconds. */
const FRESH_MS = 10_000;

/**
 * Whether a quota refused the migration a moment ago. KubeVirt checks its limits before it creates the pod, so there was a
 * migration slot (facts/kubevirt.md §1.5). `now`: the API server's, milliseconds; a clock difference only costs a full
 * assessment.
 */
export function isFreshlyRejected(migration: BlockedStatus, now: number): boolean {
  if (!isRejectedByQuota(migration)) return false;
  const age = now - rejectedAt(migration);
  return age >= -CLOCKS_APART_MS && age <= FRESH_MS;
}

/**
 * When a quota first refused the migration, by virt-controller's clock, milliseconds: KubeVirt never refreshes its condition
 * (facts/kubevirt.md §1.3). NaN: not known.
 */
export function rejectedAt({ status }: WithConditions): number {
  const condition = status?.conditions?.find(({ type }) => type === KUBEVIRT.rejectedByQuota);
  return Date.parse(condition?.lastProbeTime ?? '');
}

/** Whether the migration is in phase Pending, where all waiting happens (facts/kubevirt.md §1.1), and not cancelled. */
export const isPending = ({ metadata, status }: BlockedStatus): boolean =>
  status?.phase === 'Pending' && metadata.deletionTimestamp === undefined;

/**
 * Whether the migration is Pending, and KubeVirt does not show why: it waits for a slot, say, or something other than a quota's amounts
 * refuses its target, which leaves no condition (facts/kubevirt.md §1.3).
 */
export const isUnexplained = (migration: BlockedStatus): boolean =>
  isPending(migration) && !isTrue(migration, [KUBEVIRT.rejectedByQuota, ...HELD_BACK]);

/** Whether the API server refuses the target of a migration that has none. */
type IsRefused = (migration: Migration) => boolean;

/**
 * The blocked migration; undefined: nothing blocks it. A migration is blocked when it was refused and has no target launcher;
 * with one, the condition is stale. It is also blocked when its target is ready and lacks the attachment pod that the VM's
 * launcher has. No condition reports that refusal (facts/kubevirt.md §1.3), and a pod that nothing refuses is created within
 * the moment.
 */
export function blockedMigrationOf(
  migration: Migration,
  pods: readonly Pod[],
  isRefused: IsRefused = isRejectedByQuota,
): BlockedMigration | undefined {
  const reference = referenceOf(migration);
  const target = targetAmong(migration, pods);
  if (target === undefined) return isRefused(migration) ? reference : undefined;
  if (!isPending(migration) || !isReady(target) || attachmentPodOf(target, pods) !== undefined)
    return undefined;
  return sourceAttachmentOf(migration, pods) === undefined
    ? undefined
    : { ...reference, lacks: 'attachment' };
}

function targetAmong(migration: Migration, pods: readonly Pod[]): Pod | undefined {
  const own = pods.filter((pod) => isOfVmi(migration, pod));
  return targetPodOf(referenceOf(migration), own);
}

/**
 * Whether the migration is Pending with a target: KubeVirt counts it among its parallel migrations, though it is not running
 * (facts/kubevirt.md §1.5).
 */
export const isPendingWithTarget = (migration: Migration, pods: readonly Pod[]): boolean =>
  isPending(migration) && targetAmong(migration, pods) !== undefined;

/**
 * Every migration that lacks a pod, as far as is known, in order of precedence. Those that have their target are charged twice
 * already, and go first, as in KubeVirt's own queue (facts/kubevirt.md §1.5).
 */
export function candidatesAmong(
  migrations: readonly Migration[],
  pods: readonly Pod[],
  isRefused?: IsRefused,
): Candidate[] {
  const blocked = migrations.toSorted(byPriority).flatMap((migration) => {
    const blocked = blockedMigrationOf(migration, pods, isRefused);
    return blocked === undefined ? [] : [{ migration, blocked }];
  });
  return blocked.toSorted((one, other) => Number(hasTarget(other)) - Number(hasTarget(one)));
}

/** Whether the migration has its target, so that KubeVirt counts it as running. */
export const hasTarget = ({ blocked }: Candidate): boolean => blocked.lacks !== undefined;

export interface Candidate {
  readonly migration: Migration;
  readonly blocked: BlockedMigration;
}

/** Whether KubeVirt's own objects show that a pod is missing. Where only an Event does, which a tenant may have written, nothing is locked. */
export const isShownByKubeVirt = ({ migration, blocked }: Candidate): boolean =>
  blocked.lacks !== undefined || isRejectedByQuota(migration);

/**
 * virt-controller's IsPodReady: by the containers, not by the condition, since the readiness gate of a launcher opens only
 * when the guest is there. It does not wait for the guest's own probe or a mesh's proxy.
 */
function isReady(pod: Pod): boolean {
  const { phase, containerStatuses = [] } = pod.status ?? {};
  const isUp = containerStatuses.every(({ name, ready, state }) =>
    name === KUBEVIRT.compute || name === KUBEVIRT.istioProxy ? state?.running !== undefined : ready,
  );
  return phase === 'Running' && isUp && !isGoing(pod);
}

/** The attachment pod of the VM's current launcher: the target's will be like it. */
export function sourceAttachmentOf(
  migration: Migration,
  pods: readonly Pod[],
  node?: string,
): Pod | undefined {
  const living = pods.filter((pod) => !isDone(pod));
  return attachmentPodOf(sourcePodOf(migration, pods, node), living);
}

/**
 * The receiving side of a cross-cluster migration: its pod stays for good (KubeVirt IsDecentralizedTarget). Lists leave out an id
 * that is too long.
 */
export const isReceiving = ({ spec: { receive, sendTo } }: Migration): boolean =>
  receive !== undefined && (receive.migrationID === undefined || receive.migrationID !== sendTo?.migrationID);

/** The sending side (KubeVirt IsDecentralizedSource). Lists leave out an id that is too long. */
const isSending = ({ spec: { receive, sendTo } }: Migration): boolean =>
  sendTo !== undefined && (sendTo.migrationID === undefined || receive?.migrationID !== sendTo.migrationID);

const PRIORITY: Readonly<Record<string, number>> = {
  'system-critical': 100,
  'user-triggered': 50,
  'system-maintenance': 20,
};

/** KubeVirt's order: by priority, then age, then name. */
export function byPriority(one: Migration, other: Migration): number {
  const rank = ({ spec }: Migration): number => PRIORITY[spec.priority ?? ''] ?? 0;
  const ahead = rank(other) - rank(one);
  if (ahead !== 0) return ahead;
  const key = ({ metadata }: Migration): string => `${metadata.creationTimestamp} ${metadata.name}`;
  return key(one) < key(other) ? -1 : 1;
}

/** The pod has ended, so that quotas no longer count what it requests. */
export const isDone = ({ status }: Pod): boolean =>
  status?.phase === 'Succeeded' || status?.phase === 'Failed';

const isGoing = (pod: Pod): boolean => isDone(pod) || pod.metadata.deletionTimestamp !== undefined;

/** Whether the migration's own VMI owns the launcher: a tenant can put the label on any pod. */
function isOfVmi({ spec }: Migration, pod: Pod): boolean {
  const owner = controllerOf(pod);
  return owner?.kind === KIND.vmi.kind && owner.name === spec.vmiName;
}

/** The VM's current launcher: the target's spec is like its admitted spec (facts/kubevirt.md §2.2). */
export function sourcePodOf(migration: Migration, pods: readonly Pod[], node?: string): Pod | undefined {
  const candidates = launchersOf(migration, pods);
  return candidates.find(({ spec }) => spec.nodeName === node) ?? candidates[0];
}

/** Every living launcher of the VM but the migration's own target. */
export const launchersOf = (migration: Migration, pods: readonly Pod[]): Pod[] =>
  pods.filter(
    (pod) =>
      !isDone(pod) &&
      pod.metadata.labels?.[KUBEVIRT.migrationJobUID] !== migration.metadata.uid &&
      isOfVmi(migration, pod),
  );

const vmOf = ({ metadata }: Pod): string | undefined => metadata.labels?.[KUBEVIRT.createdBy];

/** The UID of the migration that the launcher was created for. */
const jobUidOf = ({ metadata }: Pod): string | undefined => metadata.labels?.[KUBEVIRT.migrationJobUID];

const isPendingTarget = (pod: Pod): boolean => jobUidOf(pod) !== undefined && pod.status?.phase === 'Pending';

/**
 * How long the second launcher of a VM may stay once its migration has ended or it is being deleted, and how old it may be while its
 * migration is not listed, milliseconds.
 */
const GOING_MS = 60_000;

/**
 * The launchers of VMs that have several, although no migration is under way or has just ended: no end of a migration returns what they
 * take. Such a launcher may never end (kubevirt#18320), and any user can create a pod with a launcher's labels.
 */
export function leftOverLaunchers(
  pods: readonly Pod[],
  { migrations, now }: { readonly migrations: readonly Migration[]; readonly now: number },
): Pod[] {
  const byUid = new Map(migrations.map((migration) => [migration.metadata.uid, migration]));
  const isRecent = (time: string): boolean => now - Date.parse(time) < GOING_MS;
  const isReturned = (pod: Pod): boolean => {
    const { creationTimestamp, deletionTimestamp } = pod.metadata;
    if (deletionTimestamp !== undefined) return isRecent(deletionTimestamp);
    const migration = byUid.get(jobUidOf(pod) ?? '');
    if (migration !== undefined && !isFinal(migration)) return true;
    const end = migration === undefined ? undefined : enteredAt(migration);
    if (end !== undefined) return isRecent(end);
    // A migration that is not listed may be as new as its target, which is seconds old and not up then.
    return isPendingTarget(pod) && isRecent(creationTimestamp);
  };
  const launchers = pods.filter((pod) => !isDone(pod) && !isAttachment(pod));
  return [...Map.groupBy(launchers, vmOf).values()].flatMap((own) =>
    own.length < 2 || own.some(isReturned) ? [] : own,
  );
}

/**
 * Returns those left-over launchers that keep this migration from its target: KubeVirt creates none beside several of the VM, and neither
 * reports that nor gives up (facts/kubevirt.md §1.5).
 */
export function launchersInTheWay(migration: Migration, leftOver: readonly Pod[]): Pod[] {
  const own = launchersOf(migration, leftOver);
  return own.length > 1 ? own : [];
}

/** When the migration entered its phase, by virt-controller's clock (RFC 3339); undefined: not known. */
export const enteredAt = ({ status }: Pick<Migration, 'status'>): string | undefined =>
  status?.phaseTransitionTimestamps?.findLast(({ phase }) => phase === status.phase)
    ?.phaseTransitionTimestamp;

/**
 * Whether a VM has two launchers, which are charged twice until the former one ends: their headroom returns by itself, unless they are
 * left over. True while a migration is under way, and between its success and the end of the source pod. A migration that is itself
 * blocked, because it lacks its attachment pod, does not count.
 */
export function overlaps(pods: readonly Pod[], candidates: readonly Candidate[] = []): boolean {
  const stuck = candidates.flatMap(({ blocked }) => targetPodOf(blocked, pods) ?? []).map(vmOf);
  const vms = pods
    .filter((pod) => !isDone(pod) && !isAttachment(pod))
    .map(vmOf)
    .filter((vm) => !stuck.includes(vm));
  return new Set(vms).size < vms.length;
}

/** Phases between the start of its target pod and its end, when only the end is awaited (facts/kubevirt.md §1.1). */
const UNDER_WAY: readonly (string | undefined)[] = ['Scheduled', 'PreparingTarget', 'TargetReady', 'Running'];

/** The migration got its target pod some phases ago, so an earlier event has triggered what follows. */
export const isUnderWay = ({
  status,
}: {
  readonly status?: { readonly phase?: string | undefined } | undefined;
}): boolean => UNDER_WAY.includes(status?.phase);
