import type { OurEvent } from '../../functions/domain/events.ts';
import { grantBy } from '../../functions/domain/quota/grant.ts';
import { isCharged, isUndone } from '../../functions/domain/quota/raise.ts';
import type { Lock } from '../../functions/domain/lock.ts';
import { EVENT } from '../../functions/domain/names.ts';
import type { ResourceQuota } from '../../functions/domain/objects.ts';

/** A lock and its quotas as the guard's watches have them. */
export interface Seen {
  readonly namespace: string;
  readonly lock: Lock;
  /** Those that have the raised label. */
  readonly raised: readonly ResourceQuota[];
  /** One of its quotas had the label before. */
  readonly wasRaised: boolean;
}

/**
 * The event that must have been said where a lock stands still, to be said again; undefined: it waits for its pods, and nothing is
 * missing. Pure.
 */
export function missingEvent({ namespace, lock, raised, wasRaised }: Seen): OurEvent | undefined {
  const { token } = lock;
  const about = { from: 'guard', namespace, token } as const;
  const names = { quotas: lock.quotas.map(({ name }) => name), vmmrqs: lock.vmmrqs };
  const own = raised.filter((quota) => grantBy(quota, token) !== undefined);
  if (own.length === 0) {
    return wasRaised
      ? { type: EVENT.quotaLowered, ...about }
      : { ...about, type: EVENT.namespaceLocked, ...names };
  }
  const isAll = (holds: typeof isCharged | typeof isUndone): boolean =>
    own.every((quota) => holds(quota, grantBy(quota, token) ?? { raised: {}, target: {} }));
  if (isAll(isCharged)) return { ...about, type: EVENT.quotaRaised, quotas: names.quotas };
  const undone = own.find((quota) => isUndone(quota, grantBy(quota, token) ?? { raised: {} }));
  if (undone === undefined) return undefined;
  return { ...about, type: EVENT.quotaUndone, cause: undone.metadata.resourceVersion, ...names };
}
