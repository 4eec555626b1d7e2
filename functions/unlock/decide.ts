import {
  afterFailure,
  afterSuccess,
  afterUncounted,
  isFree,
  lastAttemptOf,
  REPAIR_MS,
  sizesOf,
  type Attempt,
} from '../domain/verdict/attempt.ts';
import { grantOf } from '../domain/quota/grant.ts';
import { isFencedBy, fenceOf } from '../domain/quota/lower.ts';
import { isUnfenced, lockOf, LOCK_VERSION, unreadableToken, withoutLock, type Lock } from '../domain/lock.ts';
import { ANNOTATION, LOCK_OUTCOME, REASON, type LockOutcome, type Reason } from '../domain/names.ts';
import { allAdmitted } from '../domain/migration.ts';
import type { Namespace, Pod, ResourceQuota } from '../domain/objects.ts';

export interface UnlockSnapshot {
  /** The API server's clock at the last of the reads, milliseconds. */
  readonly now: number;
  /** The namespace, read before the quotas: its resourceVersion is the write's precondition. */
  readonly namespace: Namespace;
  /** The lock's quotas that still are what the lock says; every quota of the namespace where the lock is unreadable. */
  readonly quotas: readonly ResourceQuota[];
  /** The token of the event. */
  readonly token: string | undefined;
  /** The pods of the lock's migrations, read where its quotas were lowered as `charged`. Left out: not known. */
  readonly targets?: readonly Pod[] | undefined;
}

export type UnlockDecision =
  | { readonly kind: 'leave'; readonly reason: Reason; readonly message: string }
  /** A quota is not lowered yet: `lower` must run first. */
  | {
      readonly kind: 'lowerFirst';
      readonly token?: string;
      readonly reason: Reason;
      readonly message: string;
    }
  | {
      readonly kind: 'unlock';
      readonly namespace: Namespace;
      readonly lock: Lock | undefined;
      readonly outcome: LockOutcome | undefined;
      readonly reason: Reason;
      readonly message: string;
    };

export type Unlock = Extract<UnlockDecision, { kind: 'unlock' }>;

/** The API server's Date counts whole seconds. Up to one more has passed, and the lock budget must include it. */
const CLOCK_GRAIN_MS = 1_000;

/** Unlocks the namespace when every quota of the lock is gone, or fenced by this token and without a grant. */
export function decide(snapshot: UnlockSnapshot): UnlockDecision {
  const { namespace, quotas } = snapshot;
  const state = lockOf(namespace);
  if (state.kind === 'none') return leave('the namespace is not locked');
  if (state.kind === 'malformed') return unlockUnreadable(snapshot);
  const { lock } = state;
  if (snapshot.token !== undefined && lock.token !== snapshot.token) {
    return leave('the namespace is locked by another token');
  }
  const open = quotas.find((quota) => !isBack(quota, lock));
  return open === undefined ? unlock(snapshot, lock) : lowerFirst(open, lock.token);
}

const leave = (message: string): UnlockDecision => ({ kind: 'leave', reason: REASON.notOurLock, message });

const lowerFirst = ({ metadata }: ResourceQuota, token?: string): UnlockDecision => ({
  kind: 'lowerFirst',
  ...(token === undefined ? {} : { token }),
  reason: REASON.notRestored,
  message: `ResourceQuota ${metadata.name} is not lowered yet`,
});

/** Whether the quota is restored, and no late raise can land: it is fenced, or a policy that refuses the fence refuses the raise too. */
const isBack = (quota: ResourceQuota, lock: Lock): boolean =>
  grantOf(quota).kind === 'none' && (isFencedBy(quota, lock.token) || isUnfenced(lock));

/** Requires the fence that `lower` wrote for this very version of the namespace: a late raise cannot land any more. */
function unlockUnreadable({ namespace, quotas }: UnlockSnapshot): UnlockDecision {
  const mark = unreadableToken(namespace);
  const open = quotas.find((quota) => grantOf(quota).kind !== 'none' || !isFencedBy(quota, mark));
  if (open !== undefined) return lowerFirst(open);
  return {
    kind: 'unlock',
    namespace: withoutLock(namespace, namespace.metadata.annotations?.[ANNOTATION.lastAttempt]),
    lock: undefined,
    outcome: undefined,
    reason: REASON.unlocked,
    message: 'unlocked: the lock could not be read',
  };
}

function unlock(snapshot: UnlockSnapshot, lock: Lock): UnlockDecision {
  const { namespace, now } = snapshot;
  const last = lastAttemptOf(namespace, now);
  const outcome = outcomeOf(snapshot, lock);
  const attempt = recordOf(outcome, lock, { last, now });
  return {
    kind: 'unlock',
    namespace: withoutLock(namespace, attempt === undefined ? undefined : JSON.stringify(attempt)),
    lock,
    outcome,
    reason: REASON.unlocked,
    message: `unlocked: ${lock.ended?.message ?? SAID[outcome ?? 'none']}`,
  };
}

const SAID: Readonly<Record<LockOutcome | 'none', string>> = {
  [LOCK_OUTCOME.admitted]: 'every migration of the lock got its pod',
  [LOCK_OUTCOME.charged]: 'the quotas counted every pod of the lock',
  [LOCK_OUTCOME.gaveWay]: 'its migrations ended, or others went first',
  [LOCK_OUTCOME.slotGone]: 'others had taken the migration slots of its migrations',
  [LOCK_OUTCOME.notTried]: 'KubeVirt or the guard was away while its quotas were raised',
  [LOCK_OUTCOME.ourFault]: 'it ended early, for a reason outside its migrations',
  [LOCK_OUTCOME.failed]: 'some of its migrations got no pod',
  none: 'none of its quotas exists any more',
};

/** `used` rises a moment before the pod is stored: by now it may be there, and the lock had its effect. */
function outcomeOf({ quotas, targets }: UnlockSnapshot, lock: Lock): LockOutcome | undefined {
  const best = bestOutcome(quotas, lock);
  const isThere = targets !== undefined && allAdmitted(lock.migrations, targets);
  return best === LOCK_OUTCOME.charged && isThere ? LOCK_OUTCOME.admitted : best;
}

/** The best outcome that its quotas record; undefined: none is left. */
export function bestOutcome(quotas: readonly ResourceQuota[], { token }: Lock): LockOutcome | undefined {
  const said = quotas
    .filter((quota) => isFencedBy(quota, token))
    .flatMap((quota) => fenceOf(quota)?.outcome ?? []);
  if (said.length === 0) return quotas.length === 0 ? undefined : LOCK_OUTCOME.failed;
  return Object.values(LOCK_OUTCOME).find((outcome) => said.includes(outcome));
}

interface Before {
  readonly last: Attempt | undefined;
  /** Milliseconds. */
  readonly now: number;
}

function recordOf(outcome: LockOutcome | undefined, lock: Lock, { last, now }: Before): Attempt | undefined {
  // A lock of another version does not show what it was for, so it leaves no record.
  if (outcome === undefined || lock.v !== LOCK_VERSION) return last;
  if (outcome === LOCK_OUTCOME.admitted) return afterSuccess(last, now);
  const reason = reasonOf(outcome, lock);
  const isFailure = outcome === LOCK_OUTCOME.failed;
  const free = !isFailure && isFree(last, { now, reason });
  const ended = {
    now,
    lockedMs: free ? 0 : lockedMsOf(lock, now),
    reason,
    fingerprint: lock.of,
    ...sizedFor(reason, lock),
  };
  return isFailure || yieldedTwice(last, reason)
    ? afterFailure(last, ended)
    : afterUncounted(last, { ...ended, outcome });
}

/** Yielding to others is no failure. Twice in a row, with nothing in between, is one like any other. */
const yieldedTwice = (last: Attempt | undefined, reason: Reason): boolean =>
  reason === REASON.raisedButNotAdmitted && last?.reason === reason && last.outcome !== LOCK_OUTCOME.admitted;

/** The reason for the record: why the lock was ended, or that the raise had no effect. */
function reasonOf(outcome: LockOutcome, { ended, others }: Lock): Reason {
  if (ended !== undefined) return ended.reason as Reason;
  // No other migration waited: its migrations ended.
  if (outcome === LOCK_OUTCOME.gaveWay && others !== true) return REASON.ended;
  return REASON_OF[outcome] ?? REASON.raisedButNotAdmitted;
}

const REASON_OF: Readonly<Partial<Record<LockOutcome, Reason>>> = {
  [LOCK_OUTCOME.charged]: REASON.charged,
  [LOCK_OUTCOME.slotGone]: REASON.parallelLimit,
  [LOCK_OUTCOME.notTried]: REASON.notTried,
  [LOCK_OUTCOME.ourFault]: REASON.lockExpired,
};

/**
 * `lock` and `unlock` may read the time from two API servers. If this one is behind the other, the difference shows nothing, so the
 * lock counts with what it and its repair may last (docs/adr/0005). It never counts with more (I7).
 */
function lockedMsOf({ acquiredAt, expiresAt }: Lock, now: number): number {
  const since = Date.parse(acquiredAt);
  const maxMs = Math.max(0, Date.parse(expiresAt) - since) + REPAIR_MS;
  const seenMs = now - since;
  return (seenMs < -CLOCK_GRAIN_MS ? maxMs : Math.min(Math.max(0, seenMs), maxMs)) + CLOCK_GRAIN_MS;
}

/** Fingerprint of the sizes, for a raise that was made: another size changes nothing where another component prevented the raise. */
function sizedFor(reason: Reason, { quotas }: Lock): { sized?: string } {
  const hasNeed = quotas.every(({ need }) => need !== undefined);
  return hasNeed && reason === REASON.raisedButNotAdmitted ? { sized: sizesOf(quotas) } : {};
}
