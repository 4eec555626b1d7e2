import type { OurEvent } from '../../functions/domain/events.ts';
import { fingerprint } from '../../functions/domain/fingerprint.ts';
import type { Lock, LockState } from '../../functions/domain/lock.ts';
import { EVENT } from '../../functions/domain/names.ts';
import type { ResourceQuota } from '../../functions/domain/objects.ts';
import { grantBy } from '../../functions/domain/quota/grant.ts';
import { MAX_LOCK_SECONDS } from '../../functions/runtime/limits.ts';

/** What the watchdog knows of a locked namespace. */
export interface WatchedLock {
  /** With its end; or which text cannot be read. */
  readonly identity: string;
  /** undefined: it cannot be read. */
  readonly token: string | undefined;
  /** When this token was first seen here, by the clock's `elapsed`. */
  readonly since: number;
  /** undefined: it cannot be read. */
  readonly lock: Lock | undefined;
  /** UIDs of the quotas that have been seen with its grant and the raised label. */
  readonly wasRaised: ReadonlySet<string>;
  /** How often the raise of the quotas that a raise left out has been asked for. */
  readonly partialRaiseRetries: number;
}

/** The same token with an end of its own is another lock to wait for: a raise may end its lock early. */
export function identityOf(state: Exclude<LockState, { kind: 'none' }>): string {
  // Part of an event's id, which is a header: what cannot be read may hold anything.
  return state.kind === 'malformed'
    ? `malformed ${fingerprint(state.problem)}`
    : `${state.lock.token} ${state.lock.expiresAt}`;
}

export const tokenOf = (state: LockState): string | undefined =>
  state.kind === 'held' ? state.lock.token : undefined;

/**
 * What is known of a lock from now on: what was known of the same token counts on.
 *
 * @param seen now: the clock's `elapsed`; raised: UIDs of the quotas that hold this token's grant now
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

/** The same after this quota has been seen with the raised label. */
export const withRaised = (known: WatchedLock, quota: ResourceQuota): WatchedLock =>
  known.token === undefined || grantBy(quota, known.token) === undefined
    ? known
    : { ...known, wasRaised: new Set([...known.wasRaised, quota.metadata.uid]) };

/** Milliseconds; by the lock's own two times, so no clock has to agree with another. */
function lifetimeOf(state: Exclude<LockState, { kind: 'none' }>): number {
  if (state.kind === 'malformed') return 0;
  const { acquiredAt, expiresAt } = state.lock;
  const said = Date.parse(expiresAt) - Date.parse(acquiredAt);
  return Math.min(Math.max(said, 0), MAX_LOCK_SECONDS * 1_000);
}

/**
 * Milliseconds until the lock is due to end, negative where it is past that. The time that its token has been watched counts,
 * though its end may have changed; a lock that was ended early is due now.
 */
export function dueInMs(state: Exclude<LockState, { kind: 'none' }>, watchedMs: number): number {
  const leftMs = lifetimeOf(state) - watchedMs;
  const isEnded = state.kind === 'held' && state.lock.ended !== undefined;
  return isEnded ? Math.min(leftMs, 0) : leftMs;
}

export const expiredEvent = (namespace: string, token: string | undefined, cause: string): OurEvent => ({
  type: EVENT.lockExpired,
  from: 'guard',
  namespace,
  ...(token === undefined ? { cause } : { token }),
});

/** Every raised quota has this one. */
export const QUOTA_CHAIN = /^quota\/.*\/orphan$/;

export const lockKey = (namespace: string): string => `lock/${namespace}/`;

export const quotaKey = ({ namespace = '', uid }: { namespace?: string; uid: string }): string =>
  `quota/${namespace}/${uid}/`;
