import { allowanceFrom, raiseBy } from './allowance.ts';
import { canonicalKey } from './charged.ts';
import { GRANT_VERSION, orderFor, withGrant, type Grant } from './grant.ts';
import { missingOf } from './headroom.ts';
import type { Lock } from '../lock.ts';
import type { ResourceList, ResourceQuota, Vmmrq } from '../objects.ts';
import { vmmrqName } from '../vmmrq-name.ts';
import { atMostStored, formatQuantity, isMore, parseQuantity, type Amount } from '../quantity.ts';

export interface RaiseOrder {
  readonly lock: Pick<Lock, 'token' | 'expiresAt' | 'migrations' | 'quotas'>;
  /** The VMMRQs as just read, with the current allowance. */
  readonly vmmrqs: readonly Vmmrq[];
  /** The API server's clock, milliseconds. */
  readonly now: number;
  /** The process's time of day, milliseconds; left out: `now`. */
  readonly clock?: number | undefined;
}

/**
 * The raised quota, for one PUT of its status: status.hard raised by the allowance (policy Exact: only by the shortfall, as
 * just read), with grant and label. spec.hard stays, and is the original. Only keys that pods are charged for are raised;
 * undefined: nothing would rise. The quota must hold no grant.
 */
export function raisedQuota(quota: ResourceQuota, order: RaiseOrder): ResourceQuota | undefined {
  const { lock, vmmrqs, now, clock = now } = order;
  const need = orderFor(quota, lock.quotas)?.need;
  const raises = amountsToRaise(quota, need, vmmrqs);
  if (raises.length === 0) return undefined;
  const original = (key: string): Amount => parseQuantity(quota.spec.hard?.[key] ?? '0');
  const raised: ResourceList = Object.fromEntries(
    raises.map(([key, more]) => [key, formatQuantity(atMostStored(original(key) + more))] as const),
  );
  const grant: Grant = {
    v: GRANT_VERSION,
    token: lock.token,
    raisedAt: new Date(now).toISOString(),
    clockAt: new Date(clock).toISOString(),
    standingSince: new Date(now).toISOString(),
    expiresAt: lock.expiresAt,
    raised,
    target: targetOf(quota, Object.keys(raised), need ?? {}),
    raises: 1,
    quotas: lock.quotas.map(({ name, uid }) => ({ name, uid })),
    migrations: lock.migrations.map(({ name, uid }) => ({ name, uid })),
    vmmrqs: vmmrqs.map((vmmrq) => ({ name: vmmrqName(vmmrq), uid: vmmrq.metadata.uid })),
  };
  return withGrant(quota, grant, lock.migrations);
}

/** Whether the pods of the lock lack more of a key than the VMMRQs give: a raise would not let them in. */
export function needsMore(quota: ResourceQuota, { lock, vmmrqs }: RaiseOrder): boolean {
  const need = orderFor(quota, lock.quotas)?.need;
  if (need === undefined) return false;
  const allowance = allowanceFrom(vmmrqs);
  const isNeeded = (key: string): boolean => parseQuantity(need[canonicalKey(key)] ?? '0') > 0n;
  return enforcedKeys(quota).some(
    ([key]) => isNeeded(key) && (missingOf(quota, key, need) ?? 0n) > allowance(quota, key).max,
  );
}

/** The amount by which each key is raised, for pods that the quota charges `need` for; undefined: by all that the VMMRQs give. */
function amountsToRaise(
  quota: ResourceQuota,
  need: Readonly<Record<string, string>> | undefined,
  vmmrqs: readonly Vmmrq[],
): [string, Amount][] {
  const allowance = allowanceFrom(vmmrqs);
  return enforcedKeys(quota).flatMap(([key]) => {
    const missing = need === undefined ? undefined : missingOf(quota, key, need);
    const more = raiseBy(allowance(quota, key), missing);
    return more > 0n ? [[key, more] as [string, Amount]] : [];
  });
}

/** The keys of spec.hard that the API server enforces already. */
const enforcedKeys = ({ spec, status }: ResourceQuota): [string, string][] =>
  Object.entries(spec.hard ?? {}).filter(([key]) => status?.hard?.[key] !== undefined);

/** The `used` at which everything that the lock is for is charged, of the raised keys. */
function targetOf(
  { status }: ResourceQuota,
  keys: readonly string[],
  need: Readonly<Record<string, string>>,
): ResourceList {
  return Object.fromEntries(
    keys.flatMap((key) => {
      const wanted = need[canonicalKey(key)];
      const used = status?.used?.[key];
      return wanted === undefined || used === undefined
        ? []
        : [[key, formatQuantity(parseQuantity(used) + parseQuantity(wanted))]];
    }),
  );
}

/**
 * The quota raised again by its own grant, after a recount undid the raise: to the same amounts, limited by the current
 * allowance. raisedAt stays, because this is no new raise. A recount may lower `used`, because a pod has ended; then the
 * lock's pods reach less than the first target. undefined: nothing would rise.
 */
export function raisedAgain(
  quota: ResourceQuota,
  grant: Grant,
  order: RaiseOrder,
): ResourceQuota | undefined {
  const raised = raisedTo(quota, grant, order.vmmrqs);
  if (Object.keys(raised).length === 0) return undefined;
  const need = orderFor(quota, order.lock.quotas)?.need ?? {};
  const again: Grant = {
    ...grant,
    standingSince: new Date(order.now).toISOString(),
    raised,
    target: lowest(grant.target, targetOf(quota, Object.keys(grant.target), need)),
    raises: grant.raises + 1,
  };
  return withGrant(quota, again, order.lock.migrations);
}

/** The amounts of the grant, limited by the current allowance; only keys that rise. */
function raisedTo(quota: ResourceQuota, grant: Grant, vmmrqs: readonly Vmmrq[]): ResourceList {
  const allowance = allowanceFrom(vmmrqs);
  const enforced = new Map(enforcedKeys(quota));
  const raised: ResourceList = {};
  for (const [key, before] of Object.entries(grant.raised)) {
    const text = enforced.get(key);
    if (text === undefined) continue;
    const max = formatQuantity(atMostStored(parseQuantity(text) + allowance(quota, key).max));
    const to = smaller(before, max);
    if (isMore(to, text)) raised[key] = to;
  }
  return raised;
}

const smaller = (one: string, other: string): string => (isMore(one, other) ? other : one);

/** The smaller amount of each key of `list`. */
const lowest = (list: ResourceList, other: ResourceList): ResourceList =>
  Object.fromEntries(Object.entries(list).map(([key, text]) => [key, smaller(text, other[key] ?? text)]));

/**
 * Whether a raised key is below its raised amount: a quota controller recounted, or a user edited spec.hard. A key that a user has
 * removed from spec.hard limits nothing any more.
 */
export const isUndone = (
  { spec, status }: Pick<ResourceQuota, 'spec' | 'status'>,
  { raised }: Pick<Grant, 'raised'>,
): boolean =>
  Object.entries(raised).some(([key, text]) => {
    const enforced = status?.hard?.[key];
    return spec.hard?.[key] !== undefined && (enforced === undefined || isMore(text, enforced));
  });

/** Whether raised headroom is in use: that of fewer pods than it was raised for, or of pods that are smaller than was estimated. */
export const isInUse = (
  { spec, status }: Pick<ResourceQuota, 'spec' | 'status'>,
  { raised }: Pick<Grant, 'raised'>,
): boolean =>
  Object.keys(raised).some((key) => {
    const original = spec.hard?.[key];
    return original !== undefined && isMore(status?.used?.[key] ?? '0', original);
  });

/** Whether everything that it was raised for is charged: `used` rises before the pod is stored. */
export const isCharged = (
  { status }: Pick<ResourceQuota, 'status'>,
  { target }: Pick<Grant, 'target'>,
): boolean => {
  const keys = Object.entries(target);
  return (
    keys.length > 0 &&
    keys.every(([key, text]) => {
      const used = status?.used?.[key];
      return used !== undefined && !isMore(text, used);
    })
  );
};
