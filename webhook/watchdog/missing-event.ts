import type { OurEvent } from '../../functions/domain/events.ts';
import { grantBy } from '../../functions/domain/quota/grant.ts';
import { isCharged, isUndone } from '../../functions/domain/quota/raise.ts';
import type { Lock } from '../../functions/domain/lock.ts';
import { EVENT } from '../../functions/domain/names.ts';
import type { ResourceQuota } from '../../functions/domain/objects.ts';

/** A lock and its quotas as the guard's watches have them. */
export interface ObservedLock {
  readonly namespace: string;
  readonly lock: Lock;
  /** Those that have the raised label. */
  readonly raised: readonly ResourceQuota[];
  /** UIDs of its quotas that have the label, or had it before. */
  readonly wasRaised: ReadonlySet<string>;
  /** How often the raise of the quotas that a raise left out has been asked for. */
  readonly partialRaiseRetries: number;
}

/** A quota that has the room by now is never raised, and each ask costs a proof at every API server. */
export const MAX_PARTIAL_RAISE_RETRIES = 3;

/** Quotas of the lock are raised, but not all of them: the raise may have died between two writes. */
export const isHalfRaised = ({
  lock,
  raised,
  wasRaised,
}: Omit<ObservedLock, 'namespace' | 'partialRaiseRetries'>): boolean =>
  raised.length > 0 && !isAllRaised(lock, wasRaised);

/** Every quota of the lock has or had the raised label. */
export const isAllRaised = ({ quotas }: Lock, wasRaised: ReadonlySet<string>): boolean =>
  quotas.every(({ uid }) => wasRaised.has(uid));

/**
 * The event that must have been said where a lock stands still, to be said again; undefined: it waits for its pods, and nothing is
 * missing. Pure.
 */
export function missingEvent(seen: ObservedLock): OurEvent | undefined {
  const { namespace, lock, raised, wasRaised } = seen;
  const { token } = lock;
  const about = { from: 'guard', namespace, token } as const;
  const names = { quotas: lock.quotas.map(({ name }) => name), vmmrqs: lock.vmmrqs };
  const locked = { ...about, type: EVENT.namespaceLocked, ...names };
  const own = raised.filter((quota) => grantBy(quota, token) !== undefined);
  if (own.length === 0) return wasRaised.size > 0 ? { type: EVENT.quotaLowered, ...about } : locked;
  const isAll = (holds: typeof isCharged | typeof isUndone): boolean =>
    own.every((quota) => holds(quota, grantBy(quota, token) ?? { raised: {}, target: {} }));
  // A pod is charged to all of its quotas or to none: those that are not raised had the room.
  if (isAll(isCharged)) return { ...about, type: EVENT.quotaRaised, quotas: names.quotas };
  const undone = own.find((quota) => isUndone(quota, grantBy(quota, token) ?? { raised: {} }));
  if (undone !== undefined) {
    return { ...about, type: EVENT.quotaUndone, cause: undone.metadata.resourceVersion, ...names };
  }
  return isHalfRaised({ ...seen, raised: own }) && seen.partialRaiseRetries < MAX_PARTIAL_RAISE_RETRIES
    ? locked
    : undefined;
}
