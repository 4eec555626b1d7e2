import { grantOf } from '../domain/quota/grant.ts';
import { isExpired, lockOf, LOCK_VERSION, type Admitted, type Lock, type LockState } from '../domain/lock.ts';
import { admittedPodOf, isFinal, isPending, wasRejectedByQuota } from '../domain/migration.ts';
import { ANNOTATION, REASON, type Reason } from '../domain/names.ts';
import type { Migration, Namespace, Pod, ResourceQuota } from '../domain/objects.ts';
import { isRaiseEnforced } from '../domain/quota/restore.ts';

export interface LowerSnapshot {
  /** The API server's clock, milliseconds. */
  readonly now: number;
  readonly namespace: Namespace;
  /** Every quota of the namespace. */
  readonly quotas: readonly ResourceQuota[];
  /** Every migration of the namespace; none where each of the lock's has the pod that it waited for, or the lock is over. */
  readonly migrations: readonly Migration[];
  /** The target launchers of the lock's migrations, and their attachment pods. */
  readonly targets: readonly Pod[];
  readonly stallSeconds: number;
  /** Who stalls is asked about; not where only what is left over is to be put back (the guard, which may nudge nobody). */
  readonly mayNudge: boolean;
  /** The watchdog has seen this token for longer than its lock may live. */
  readonly overdueToken: string | undefined;
}

export type LowerDecision =
  | { readonly kind: 'leave' | 'wait'; readonly reason: Reason; readonly message: string }
  /** The quota rose and nothing came of it: virt-controller may be sleeping in its back-off. */
  | {
      readonly kind: 'nudge';
      readonly migrations: readonly Migration[];
      readonly value: string;
      readonly reason: Reason;
      readonly message: string;
    }
  | {
      readonly kind: 'lower';
      /** Hold a grant, or are the lock's: to be put back, or only fenced. */
      readonly quotas: readonly ResourceQuota[];
      readonly lock: Lock | undefined;
      readonly reason: Reason;
      readonly message: string;
    };

export type Lower = Extract<LowerDecision, { kind: 'lower' }>;

/** How far the API servers' clocks may be apart, by which a nudge says when it was. */
const SKEW_MS = 2_000;

/** Lowering is the safe direction: early costs one attempt, late costs the tenant. */
export function decide(snapshot: LowerSnapshot): LowerDecision {
  const state = lockOf(snapshot.namespace);
  if (state.kind !== 'held') return repair(snapshot, state);
  const { lock } = state;
  if (isOver(state, snapshot)) {
    const { reason, message } = lock.ended ?? {
      reason: REASON.lockExpired,
      message: 'the lock is past its time',
    };
    return lower(snapshot, lock, [reason as Reason, message]);
  }
  if (lock.v !== LOCK_VERSION) {
    const message = `a lock of version ${String(lock.v)} is let go of at its time, not before`;
    return { kind: 'wait', reason: REASON.stillWaiting, message };
  }
  const still = stillWaiting(snapshot, lock);
  if (still.length === 0) return lower(snapshot, lock, settled(lock, snapshot));
  return stalled(snapshot, lock, still) ?? keepWaiting(still);
}

/** It is lowered, whatever the lock's migrations do. `now` is the API server's clock, milliseconds. */
export const isOver = (
  state: LockState,
  { now, overdueToken }: Pick<LowerSnapshot, 'now' | 'overdueToken'>,
): boolean => state.kind !== 'held' || isExpired(state.lock, now) || overdueToken === state.lock.token;

/** No lock that can be read: whatever grant is there has none to stand for it. */
function repair(snapshot: LowerSnapshot, state: LockState): LowerDecision {
  const left = snapshot.quotas.some((quota) => grantOf(quota).kind !== 'none');
  if (state.kind === 'none' && !left) {
    return {
      kind: 'leave',
      reason: REASON.notOurLock,
      message: 'the namespace is not locked and holds no grant',
    };
  }
  const why =
    state.kind === 'malformed' ? `the lock cannot be read (${state.why})` : 'a grant without a lock';
  return lower(snapshot, undefined, [REASON.grantWithoutLock, why]);
}

function lower(
  { quotas }: LowerSnapshot,
  lock: Lock | undefined,
  [reason, message]: readonly [Reason, string],
): LowerDecision {
  const concerned = quotas.filter(
    (quota) =>
      grantOf(quota).kind !== 'none' || lock?.quotas.some(({ uid }) => uid === quota.metadata.uid) === true,
  );
  return { kind: 'lower', quotas: concerned, lock, reason, message };
}

/** The lock's migrations that are neither with the pod that they wait for, nor at their end, nor gone. */
const stillWaiting = ({ migrations, targets }: LowerSnapshot, lock: Lock): Migration[] =>
  migrations.filter((migration) => {
    const waiting = lock.migrations.find(({ uid }) => uid === migration.metadata.uid);
    return waiting !== undefined && isWaiting(waiting, migration, targets);
  });

function isWaiting(waiting: Admitted, migration: Migration, targets: readonly Pod[]): boolean {
  if (isFinal(migration) || migration.metadata.deletionTimestamp !== undefined) return false;
  // Its volumes may have been unplugged meanwhile: then it goes on without.
  if (waiting.lacks === 'attachment' && !isPending(migration)) return false;
  return admittedPodOf(waiting, targets) === undefined;
}

function settled(lock: Lock, { targets }: LowerSnapshot): readonly [Reason, string] {
  const admitted = lock.migrations.filter((each) => admittedPodOf(each, targets) !== undefined);
  if (admitted.length === 0)
    return [REASON.ended, 'every migration of the lock has ended, is gone, or goes on without'];
  return [REASON.admitted, `${admitted.map(({ name }) => name).join(', ')} got the pod that was missing`];
}

const keepWaiting = (still: readonly Migration[]): LowerDecision => ({
  kind: 'wait',
  reason: REASON.stillWaiting,
  message: `${namesOf(still)} still waits for its pod`,
});

const namesOf = (migrations: readonly Migration[]): string =>
  migrations.map(({ metadata }) => metadata.name).join(', ');

/**
 * Nothing happened for stallSeconds after the raise was enforced: one nudge, and lowered where nothing comes of that either
 * for twice as long. virt-controller puts off without a word: for a second, again and again, whoever comes while another's
 * target is not seen yet; for five whoever finds its limits reached (facts/kubevirt.md §1.5; docs/adr/0021).
 */
function stalled(
  snapshot: LowerSnapshot,
  lock: Lock,
  still: readonly Migration[],
): LowerDecision | undefined {
  const { now } = snapshot;
  const since = enforcedSince(snapshot, lock);
  if (since === undefined) return undefined;
  const stallMs = snapshot.stallSeconds * 1_000;
  const stalledAt = since + stallMs;
  const nudgedAt = still.map((migration) => nudgedFor(migration, lock.token, now));
  const reason = REASON.raisedButNotAdmitted;
  const names = namesOf(still);
  const isEarly = (at: number | undefined): boolean => at === undefined || at < stalledAt;
  const isDueAtOnce = still.some(isAsleep) && nudgedAt.includes(undefined);
  if (isDueAtOnce || (now >= stalledAt && nudgedAt.some(isEarly))) {
    if (!snapshot.mayNudge) return undefined;
    const value = `${lock.token} ${new Date(now).toISOString()}`;
    return { kind: 'nudge', migrations: still, value, reason, message: `nudging ${names}` };
  }
  if (now < Math.max(stalledAt, ...nudgedAt.map((at) => (at ?? now) + 2 * stallMs))) return undefined;
  return lower(snapshot, lock, [reason, `raised, and ${names} still got no pod`]);
}

/** No event of a quota has virt-controller look at a migration without its condition: that one is nudged at once, too. */
const isAsleep = (migration: Migration): boolean => !wasRejectedByQuota(migration);

/** Somebody whom the lock waits for must be nudged as soon as the raise is enforced. */
export function hasSleepers(snapshot: LowerSnapshot): boolean {
  const state = lockOf(snapshot.namespace);
  return state.kind === 'held' && stillWaiting(snapshot, state.lock).some(isAsleep);
}

/** When the last quota of this lock was raised, milliseconds; undefined: not all that were are enforced yet. */
function enforcedSince({ quotas }: LowerSnapshot, { token }: Lock): number | undefined {
  const raised = quotas.flatMap((quota) => {
    const state = grantOf(quota);
    return state.kind === 'held' && state.grant.token === token ? [{ quota, grant: state.grant }] : [];
  });
  if (raised.length === 0 || !raised.every(({ quota }) => isRaiseEnforced(quota))) return undefined;
  return Math.max(...raised.map(({ grant }) => Date.parse(grant.raisedAt)));
}

/**
 * When this migration was nudged for this lock, milliseconds; undefined: not yet. A time that has yet to come, by more than
 * clocks differ, is not ours: whoever may edit migrations could hold the lock with it.
 */
function nudgedFor({ metadata }: Migration, token: string, now: number): number | undefined {
  const [of, at = ''] = (metadata.annotations?.[ANNOTATION.nudged] ?? '').split(' ');
  const time = Date.parse(at);
  return of === token && time <= now + SKEW_MS ? time : undefined;
}
