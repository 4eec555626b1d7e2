import type { OurEvent } from '../../functions/domain/events.ts';
import { fingerprint } from '../../functions/domain/fingerprint.ts';
import { LOCK_VERSION, type Lock, type LockState } from '../../functions/domain/lock.ts';
import { EVENT } from '../../functions/domain/names.ts';
import type { ResourceQuota } from '../../functions/domain/objects.ts';
import { grantBy, grantOf } from '../../functions/domain/quota/grant.ts';
import { isUndone } from '../../functions/domain/quota/raise.ts';
import { MAX_LOCK_SECONDS } from '../../functions/runtime/limits.ts';

/** The watchdog's record of a locked namespace. */
export interface WatchedLock {
  /** The token and the lock's end; or a fingerprint of the unreadable text. */
  readonly identity: string;
  /** The token; undefined if the lock is unreadable. */
  readonly token: string | undefined;
  /** The time at which the watchdog first saw this token, by the clock's `elapsed`. */
  readonly since: number;
  /** The lock; undefined if it is unreadable. */
  readonly lock: Lock | undefined;
  /** UIDs of the quotas that the watchdog has seen with the lock's grant and the raised label. */
  readonly wasRaised: ReadonlySet<string>;
  /** Number of the watchdog's requests to raise the remaining quotas. */
  readonly partialRaiseRetries: number;
}

/** Identifies a lock by its token and its end. The same token with another end needs new timers: a raise may end its lock early. */
export function identityOf(state: Exclude<LockState, { kind: 'none' }>): string {
  // The identity is part of an event's id, which is a header; an unreadable text may contain any character.
  return state.kind === 'malformed'
    ? `malformed ${fingerprint(state.problem)}`
    : `${state.lock.token} ${state.lock.expiresAt}`;
}

export const tokenOf = (state: LockState): string | undefined =>
  state.kind === 'held' ? state.lock.token : undefined;

/**
 * The new record of a lock; it keeps the history of the same token.
 *
 * @param seen now: the clock's `elapsed`; raised: UIDs of the quotas that have this token's grant now
 */
export function watchedLock(
  state: Exclude<LockState, { kind: 'none' }>,
  known: WatchedLock | undefined,
  { now, raised }: { now: number; raised: readonly string[] },
): WatchedLock {
  const token = tokenOf(state);
  const before = known?.token === token ? known : undefined;
  return {
    identity: identityOf(state),
    token,
    lock: state.kind === 'held' ? state.lock : undefined,
    since: before?.since ?? now,
    wasRaised: new Set([...(before?.wasRaised ?? []), ...raised]),
    partialRaiseRetries: before?.partialRaiseRetries ?? 0,
  };
}

/** The record after the watchdog has seen this quota with the raised label. */
export const withRaised = (known: WatchedLock, quota: ResourceQuota): WatchedLock =>
  known.token === undefined || grantBy(quota, known.token) === undefined
    ? known
    : { ...known, wasRaised: new Set([...known.wasRaised, quota.metadata.uid]) };

/** The lifetime in milliseconds, from the lock's own two timestamps, so that clocks need not agree. */
function lifetimeOf({ acquiredAt, expiresAt }: Lock): number {
  const said = Date.parse(expiresAt) - Date.parse(acquiredAt);
  return Math.min(Math.max(said, 0), MAX_LOCK_SECONDS * 1_000);
}

/**
 * Milliseconds until the lock must end; negative when it is overdue. The count starts when the watchdog first saw the token, also
 * after a change of the lock's end. A lock that was ended early is due now.
 */
export function dueInMs(state: Exclude<LockState, { kind: 'none' }>, watchedMs: number): number {
  const leftMs = (state.kind === 'held' ? lifetimeOf(state.lock) : 0) - watchedMs;
  const isEnded = state.kind === 'held' && state.lock.ended !== undefined;
  return isEnded ? Math.min(leftMs, 0) : leftMs;
}

/** When a lock is late: its missing event was sent twice, and nearly half of its life is over, 7 s by default. */
const LATE = { ms: 6_900, share: 0.46 } as const;

/**
 * Whether the watchdog does not wait for the functions any more: where locks live longer, they may be slower. What a lock of another
 * version needs is not known here.
 */
export const isLate = (lock: Lock, watchedMs: number): boolean =>
  lock.v === LOCK_VERSION && watchedMs >= Math.max(LATE.ms, LATE.share * lifetimeOf(lock));

export const expiredEvent = (namespace: string, token: string | undefined, cause: string): OurEvent => ({
  type: EVENT.lockExpired,
  from: 'guard',
  namespace,
  ...(token === undefined ? { cause } : { token }),
});

export const migrationEndedEvent = (namespace: string, token: string, uid: string): OurEvent => ({
  type: EVENT.migrationEnded,
  from: 'guard',
  namespace,
  token,
  cause: uid,
});

export const stalledEvent = (namespace: string, token: string): OurEvent => ({
  type: EVENT.lockStalled,
  from: 'guard',
  namespace,
  token,
});

/** The token of the lock that the quota is raised for, as far as it can be read. */
export function raisedFor(quota: ResourceQuota): string | undefined {
  const state = grantOf(quota);
  return state.kind === 'held' ? state.grant.token : undefined;
}

/** Whether a raise of this token is in effect: no recount undid it. */
export function isStanding(quota: ResourceQuota, token: string): boolean {
  const grant = grantBy(quota, token);
  return grant !== undefined && !isUndone(quota, grant);
}

/** The pattern of the timer keys of raised quotas, each of which has one such timer. */
export const QUOTA_CHAIN = /^quota\/.*\/orphan$/;

export const lockKey = (namespace: string): string => `lock/${namespace}/`;

export const stallKey = (namespace: string, token: string): string => `stall/${namespace}/${token}/`;

export const quotaKey = ({ namespace = '', uid }: { namespace?: string; uid: string }): string =>
  `quota/${namespace}/${uid}/`;
