import { grantBy, grantOf } from '../domain/quota/grant.ts';
import { canonicalKey } from '../domain/quota/charged.ts';
import { fenceOf, isFencedBy } from '../domain/quota/lower.ts';
import { isCharged } from '../domain/quota/raise.ts';
import {
  isLockExpired,
  lockOf,
  LOCK_VERSION,
  unreadableToken,
  type LockedMigration,
  type Lock,
  type LockState,
} from '../domain/lock.ts';
import { admittedPodOf, allAdmitted, isFinal, isPending, wasRejectedByQuota } from '../domain/migration.ts';
import { ANNOTATION, LOCK_OUTCOME, REASON, type LockOutcome, type Reason } from '../domain/names.ts';
import type { KubernetesEvent, Lease, Migration, Namespace, Pod, ResourceQuota } from '../domain/objects.ts';
import { parseQuantity } from '../domain/quantity.ts';
import { hasLedSince } from '../domain/controller-lease.ts';
import { allWaitForSlot } from '../domain/view/slots.ts';
import { parsePodRejection, refusalsAfter, type PodRejection } from '../domain/quota/pod-rejection.ts';

export interface LowerSnapshot {
  /** The API server's clock, milliseconds. */
  readonly now: number;
  readonly namespace: Namespace;
  /** The lock's quotas that still are what the lock says; every quota of the namespace where no lock is readable. */
  readonly quotas: readonly ResourceQuota[];
  /** The lock's migrations that still exist; undefined: not read, so the lock ends at its time. */
  readonly migrations: readonly Migration[] | undefined;
  /** The target launchers of the lock's migrations, and their attachment pods; undefined: the list failed. */
  readonly targets: readonly Pod[] | undefined;
  /** virt-controller's Events about refused pods; undefined: unknown. */
  readonly rejections: readonly KubernetesEvent[] | undefined;
  /** virt-controller's Lease; left out: unknown. */
  readonly lease?: Lease | undefined;
  /** How long the guard has watched this lock, milliseconds; left out: unknown. */
  readonly watchedMs?: number | undefined;
  /** UIDs of migrations that KubeVirt has no slot left for, by the guard's view; left out: not known. */
  readonly slotless?: readonly string[] | undefined;
  readonly stallSeconds: number;
  /** The watchdog has seen this token for longer than its lock may live. */
  readonly overdueToken: string | undefined;
}

export type LowerDecision =
  | { readonly kind: 'leave' | 'wait'; readonly reason: Reason; readonly message: string }
  /** The raise had no effect: virt-controller may be sleeping in its back-off. */
  | {
      readonly kind: 'nudge';
      readonly migrations: readonly Migration[];
      readonly value: string;
      readonly reason: Reason;
      readonly message: string;
    }
  | Lower;

export interface Lower {
  readonly kind: 'lower';
  /** Token of the lock; undefined: no lock is readable, so each grant's own token counts. */
  readonly token: string | undefined;
  readonly lock: Lock | undefined;
  readonly outcome: LockOutcome;
  readonly reason: Reason;
  readonly message: string;
}

type LowerResult = Pick<Lower, 'outcome' | 'reason' | 'message'>;

/** Lowering is the safe direction: early costs one attempt, late costs the tenant. */
export function decide(snapshot: LowerSnapshot): LowerDecision {
  const state = lockOf(snapshot.namespace);
  if (state.kind !== 'held') return repair(snapshot, state);
  const { lock } = state;
  if (isLockOver(state, snapshot)) return lower(lock, over(snapshot, lock));
  if (lock.v !== LOCK_VERSION) {
    return wait(`a lock of version ${String(lock.v)} is lowered only when it expires`);
  }
  const { migrations } = snapshot;
  if (allAdmitted(lock.migrations, snapshot.targets ?? [])) return lower(lock, admitted(lock));
  const begun = begunOutcome(snapshot, lock);
  if (begun !== undefined) return lower(lock, { outcome: begun, reason: REASON_OF[begun], message: BEGUN });
  if (migrations === undefined) return wait('the lock has not expired');
  const still = stillWaiting(migrations, snapshot, lock);
  if (still.length === 0) return lower(lock, allEnded(snapshot, lock));
  return stalled(snapshot, lock, still) ?? wait(`still without the missing pod: ${namesOf(still)}`);
}

const wait = (message: string): LowerDecision => ({ kind: 'wait', reason: REASON.stillWaiting, message });

const lower = (lock: Lock, found: LowerResult): Lower => ({
  kind: 'lower',
  token: lock.token,
  lock,
  ...found,
});

/** Whether the lock is over, whatever its migrations do. `now` is the API server's clock, milliseconds. */
export const isLockOver = (
  state: LockState,
  { now, overdueToken }: Pick<LowerSnapshot, 'now' | 'overdueToken'>,
): boolean => state.kind !== 'held' || isLockExpired(state.lock, now) || overdueToken === state.lock.token;

/**
 * How the lock ended by a fence that is written while another quota lacks it: that write failed, or `lower` crashed. No raise can land
 * on the fenced one, so the rest must not wait for the migrations. undefined: no quota is fenced, or each is.
 */
function begunOutcome({ quotas }: Pick<LowerSnapshot, 'quotas'>, { token }: Lock): LockOutcome | undefined {
  const fenced = quotas.filter((quota) => isFencedBy(quota, token));
  const [first] = fenced;
  return first === undefined || fenced.length === quotas.length ? undefined : fenceOf(first)?.outcome;
}

const BEGUN = 'some quotas of the lock are lowered already, and this lowers the others';

/** A fence does not say why it was written. */
const REASON_OF: Readonly<Record<LockOutcome, Reason>> = {
  [LOCK_OUTCOME.admitted]: REASON.admitted,
  [LOCK_OUTCOME.charged]: REASON.charged,
  [LOCK_OUTCOME.gaveWay]: REASON.ended,
  [LOCK_OUTCOME.slotGone]: REASON.parallelLimit,
  [LOCK_OUTCOME.notTried]: REASON.notTried,
  [LOCK_OUTCOME.ourFault]: REASON.fenced,
  [LOCK_OUTCOME.failed]: REASON.raisedButNotAdmitted,
};

/** Lowers leftovers: without a readable lock every grant is one. Lowering it also fences late raises. */
function repair({ quotas, namespace }: LowerSnapshot, state: LockState): LowerDecision {
  const left = quotas.some((quota) => grantOf(quota).kind !== 'none');
  if (state.kind === 'none' && !left) {
    const message = 'the namespace is not locked and holds no grant';
    return { kind: 'leave', reason: REASON.notOurLock, message };
  }
  const found = { kind: 'lower', lock: undefined, outcome: LOCK_OUTCOME.failed } as const;
  const reason = REASON.grantWithoutLock;
  if (state.kind !== 'malformed')
    return { ...found, token: undefined, reason, message: 'a ResourceQuota holds a grant without a lock' };
  return {
    ...found,
    token: unreadableToken(namespace),
    reason,
    message: `the lock cannot be read (${state.problem})`,
  };
}

/** The outcome of a lock that was ended early, by its reason; any other reason is a failure. */
const OUTCOME_OF: Readonly<Partial<Record<Reason, LockOutcome>>> = {
  [REASON.noProof]: LOCK_OUTCOME.ourFault,
  [REASON.statusUnknown]: LOCK_OUTCOME.ourFault,
  [REASON.fenced]: LOCK_OUTCOME.ourFault,
  [REASON.lockExpired]: LOCK_OUTCOME.ourFault,
  [REASON.parallelLimit]: LOCK_OUTCOME.slotGone,
  // With a pause: another migration may be about to take that headroom, and would be locked for at once again.
  [REASON.fits]: LOCK_OUTCOME.ourFault,
};

function over(snapshot: LowerSnapshot, lock: Lock): LowerResult {
  const isThrough = lock.migrations.length > 0 && allAdmitted(lock.migrations, snapshot.targets ?? []);
  if (isThrough) return admitted(lock);
  const raised = raisedFor(snapshot, lock);
  const { reason, message } = lock.ended ?? PAST_ITS_TIME;
  const outcome = isAllCharged(raised, lock)
    ? LOCK_OUTCOME.charged
    : (begunOutcome(snapshot, lock) ?? outcomeOf(lock));
  return { outcome, reason: reason as Reason, message };
}

const PAST_ITS_TIME = { reason: REASON.lockExpired, message: 'the lock has expired' };

/** Only a lock whose raise or whose end came too late expires: the guard, the Broker or a step was away (docs/adr/0005). */
const outcomeOf = ({ ended }: Lock): LockOutcome =>
  ended === undefined ? LOCK_OUTCOME.ourFault : (OUTCOME_OF[ended.reason as Reason] ?? LOCK_OUTCOME.failed);

const raisedFor = ({ quotas }: Pick<LowerSnapshot, 'quotas'>, { token }: Lock): ResourceQuota[] =>
  quotas.filter((quota) => grantBy(quota, token) !== undefined);

const isAllCharged = (raised: readonly ResourceQuota[], { token }: Lock): boolean =>
  raised.length > 0 && raised.every((quota) => isCharged(quota, grantBy(quota, token) ?? { target: {} }));

/** "mig0 got its pod" */
const gotPods = (migrations: readonly LockedMigration[]): string =>
  `${migrations.map(({ name }) => name).join(', ')} got ${migrations.length === 1 ? 'its pod' : 'their pods'}`;

const admitted = ({ migrations }: Lock): LowerResult => ({
  outcome: LOCK_OUTCOME.admitted,
  reason: REASON.admitted,
  message: gotPods(migrations),
});

/** The lock's migrations that still wait: without their pod, not at their end, and not gone. */
const stillWaiting = (
  migrations: readonly Migration[],
  { targets = [] }: LowerSnapshot,
  lock: Lock,
): Migration[] =>
  migrations.filter((migration) => {
    const locked = lock.migrations.find(({ uid }) => uid === migration.metadata.uid);
    return locked !== undefined && isStillBlocked(locked, migration, targets);
  });

function isStillBlocked(locked: LockedMigration, migration: Migration, targets: readonly Pod[]): boolean {
  if (isFinal(migration) || migration.metadata.deletionTimestamp !== undefined) return false;
  // Its volumes may have been unplugged meanwhile. Then the migration goes on without the attachment pod.
  if (locked.lacks === 'attachment' && !isPending(migration)) return false;
  return admittedPodOf(locked, targets) === undefined;
}

/** No migration waits any more. Those without their pod have ended, are gone, or go on without it: no failure. */
function allEnded({ targets = [] }: LowerSnapshot, lock: Lock): LowerResult {
  const through = lock.migrations.filter((each) => admittedPodOf(each, targets) !== undefined);
  const message = 'every migration of the lock has ended, is gone, or goes on without the pod';
  return {
    outcome: LOCK_OUTCOME.gaveWay,
    reason: REASON.ended,
    message: through.length === 0 ? message : `${gotPods(through)}; the others have ended`,
  };
}

const namesOf = (migrations: readonly Migration[]): string =>
  migrations.map(({ metadata }) => metadata.name).join(', ');

/**
 * Nudges once if the pods are missing stallSeconds after the raise, and lowers after twice as long again. virt-controller
 * defers silently. It defers a migration for one second, repeatedly, while another's target is not seen yet, and for five
 * seconds when its limits are reached (facts/kubevirt.md §1.5; docs/adr/0021). The time counts from the raise, or from the last
 * one where a recount undid it: no write to a migration extends it.
 */
function stalled(
  snapshot: LowerSnapshot,
  lock: Lock,
  still: readonly Migration[],
): LowerDecision | undefined {
  const { now } = snapshot;
  const since = raisedSince(snapshot, lock);
  if (since === undefined) return undefined;
  const stalledAt = since + snapshot.stallSeconds * 1_000;
  if (now >= stalledAt && isSlotGone(snapshot, lock, still)) return lower(lock, withoutSlot(still));
  if (isStallOver(snapshot, lock)) return lower(lock, notAdmitted(snapshot, lock, { since, still }));
  const nudgedAt = still.map((migration) => nudgedFor(migration, lock.token));
  const isDueAtOnce = still.some(needsNudge) && nudgedAt.includes(undefined);
  const isDue = now >= stalledAt && nudgedAt.some((at) => at === undefined || at < stalledAt);
  if (!isDueAtOnce && !isDue) return undefined;
  const value = nudgeValue(lock.token, now);
  const message = `nudging ${namesOf(still)}`;
  return { kind: 'nudge', migrations: still, value, reason: REASON.raisedButNotAdmitted, message };
}

/** When the quotas were raised, for the last time where a recount undid it, milliseconds; undefined: none is raised. */
function raisedSince(snapshot: Pick<LowerSnapshot, 'quotas'>, lock: Lock): number | undefined {
  const times = raisedFor(snapshot, lock).map((quota) =>
    Date.parse(grantBy(quota, lock.token)?.standingSince ?? ''),
  );
  return times.length === 0 ? undefined : Math.max(...times);
}

/** Whether a raise without effect has had its time. */
export function isStallOver(
  snapshot: Pick<LowerSnapshot, 'quotas' | 'now' | 'stallSeconds'>,
  lock: Lock,
): boolean {
  const since = raisedSince(snapshot, lock);
  return since !== undefined && snapshot.now >= since + 3 * snapshot.stallSeconds * 1_000;
}

/** KubeVirt defers them silently, because others have taken the slots: a nudge changes nothing. */
const isSlotGone = ({ slotless = [] }: LowerSnapshot, lock: Lock, still: readonly Migration[]): boolean =>
  allWaitForSlot(
    lock.migrations.filter(({ uid }) => still.some(({ metadata }) => metadata.uid === uid)),
    slotless,
  );

const withoutSlot = (still: readonly Migration[]): LowerResult => ({
  outcome: LOCK_OUTCOME.slotGone,
  reason: REASON.parallelLimit,
  message: `other migrations have taken the migration slots of ${namesOf(still)}`,
});

interface Stall {
  readonly since: number;
  readonly still: readonly Migration[];
}

/**
 * A failure, if KubeVirt is seen to have tried. Its Events may be lost: then it counts as one if KubeVirt and the guard were
 * there, except where others wait for the same migration slots, to which it yielded (docs/adr/0005).
 */
function notAdmitted(snapshot: LowerSnapshot, lock: Lock, { since, still }: Stall): LowerResult {
  const { rejections, now } = snapshot;
  const vms = still.map(({ spec }) => spec.vmiName ?? '');
  const raised = raisedFor(snapshot, lock);
  const refusals = refusalsAfter({ at: since, now }, vms, rejections ?? [])
    .map(rejectionIn)
    .filter((rejection) => !isOfBefore(rejection, raised));
  const message = `the quotas were raised, but KubeVirt created no pod for ${namesOf(still)}`;
  if (!refusals.some(isOfPod) && (refusals.length > 0 || !werePresent(snapshot, since))) {
    const why = 'nothing shows that it tried, so this counts as no failure';
    return { outcome: LOCK_OUTCOME.notTried, reason: REASON.notTried, message: `${message}: ${why}` };
  }
  const isDeferred = lock.others === true && rejections !== undefined && refusals.length === 0;
  const outcome = isDeferred ? LOCK_OUTCOME.gaveWay : LOCK_OUTCOME.failed;
  return { outcome, reason: REASON.raisedButNotAdmitted, message };
}

/** The refusal of either pod in the Event; undefined: our guard refused while it was away, and that shows nothing about the pod. */
const rejectionIn = ({ message = '' }: KubernetesEvent): PodRejection | undefined =>
  parsePodRejection(message) ?? parsePodRejection(message, 'attachment');

const isOfPod = (rejection: PodRejection | undefined): boolean => rejection !== undefined;

/**
 * Whether a raised quota refused the pod with less than it allows now. That was before the raise took effect, however late: `standingSince`
 * is when the raise was decided, and its write may be held, while requests of a virt-controller that has stopped still arrive.
 */
function isOfBefore(rejection: PodRejection | undefined, raised: readonly ResourceQuota[]): boolean {
  if (rejection?.kind !== 'exceeded') return false;
  const quota = raised.find(({ metadata }) => metadata.name === rejection.quota);
  return Object.entries(quota?.status?.hard ?? {}).some(([key, amount]) => {
    const limited = rejection.limited.get(canonicalKey(key));
    return limited !== undefined && limited < parseQuantity(amount);
  });
}

/** A Date of the API server is a whole second. */
const CLOCK_GRAIN_MS = 1_000;

/** Whether KubeVirt and the guard are known to have been there since the raise. */
const werePresent = ({ lease, watchedMs = 0, now }: LowerSnapshot, since: number): boolean =>
  hasLedSince(lease, { since, now }) && watchedMs + CLOCK_GRAIN_MS >= now - since;

/** Whether the migration needs a nudge at once: without the condition, no quota event makes virt-controller look at it. */
const needsNudge = (migration: Migration): boolean => !wasRejectedByQuota(migration);

/** The nudge's annotation. `now`: the API server's clock, milliseconds. */
export const nudgeValue = (token: string, now: number): string => `${token} ${new Date(now).toISOString()}`;

/** Milliseconds when this migration was nudged for this lock; undefined: not yet. */
function nudgedFor({ metadata }: Migration, token: string): number | undefined {
  const [of, at = ''] = (metadata.annotations?.[ANNOTATION.nudged] ?? '').split(' ');
  return of === token ? Date.parse(at) : undefined;
}
