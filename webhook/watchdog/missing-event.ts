import type { OurEvent } from '../../functions/domain/events.ts';
import { grantBy } from '../../functions/domain/quota/grant.ts';
import { isCharged, isUndone } from '../../functions/domain/quota/raise.ts';
import type { Lock } from '../../functions/domain/lock.ts';
import { EVENT, type EventType } from '../../functions/domain/names.ts';
import type { ResourceQuota } from '../../functions/domain/objects.ts';

/** A lock and its quotas as the guard's watches see them. */
export interface ObservedLock {
  readonly namespace: string;
  readonly lock: Lock;
  /** Quotas with the raised label. */
  readonly raised: readonly ResourceQuota[];
  /** UIDs of the lock's quotas that have or had the raised label. */
  readonly wasRaised: ReadonlySet<string>;
  /** Number of the guard's requests to raise the remaining quotas. */
  readonly partialRaiseRetries: number;
}

/**
 * Maximum number of such requests: `raise` skips a quota that has the headroom by now, and each request costs a proof at every API
 * server.
 */
export const MAX_PARTIAL_RAISE_RETRIES = 3;

/** The events after which only `lower` and `unlock` are due, which the guard can run as well. */
const LEFT_TO_END: readonly EventType[] = [EVENT.quotaRaised, EVENT.quotaLowered];

/** Whether nothing is missing for the lock but its end. */
export const isLeftToEnd = (event: OurEvent | undefined): boolean =>
  event !== undefined && LEFT_TO_END.includes(event.type);

/** Whether only some of the lock's quotas are raised: the raise may have failed between two writes. */
export const isHalfRaised = ({
  lock,
  raised,
  wasRaised,
}: Omit<ObservedLock, 'namespace' | 'partialRaiseRetries'>): boolean =>
  raised.length > 0 && !isAllRaised(lock, wasRaised);

/** Whether every quota of the lock has or had the raised label. */
export const isAllRaised = ({ quotas }: Lock, wasRaised: ReadonlySet<string>): boolean =>
  quotas.every(({ uid }) => wasRaised.has(uid));

/**
 * The event to send again for a lock without progress; undefined: the lock only waits for its pods, and no event is missing.
 * Pure.
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
  // A pod is charged to all of its quotas or to none, so the quotas that are not raised had the headroom.
  if (isAll(isCharged)) return { ...about, type: EVENT.quotaRaised, quotas: names.quotas };
  const undone = own.find((quota) => isUndone(quota, grantBy(quota, token) ?? { raised: {} }));
  if (undone !== undefined) {
    return { ...about, type: EVENT.quotaUndone, cause: undone.metadata.resourceVersion, ...names };
  }
  return isHalfRaised({ ...seen, raised: own }) && seen.partialRaiseRetries < MAX_PARTIAL_RAISE_RETRIES
    ? locked
    : undefined;
}
