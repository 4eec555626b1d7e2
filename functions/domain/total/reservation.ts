import { MAX_LOCK_SECONDS } from '../../runtime/limits.ts';
import { grantOf, type GrantState } from '../quota/grant.ts';
import { lockOf, type Lock } from '../lock.ts';
import type { ClusterVmmrq, Namespace, Reservation, ResourceQuota, Vmmrq } from '../objects.ts';
import { formatQuantity, parseQuantity, type Amount } from '../quantity.ts';
import { amountsOf, describeShortfalls, sumOf, type Amounts } from '../quota/charged.ts';
import { vmmrqName } from '../vmmrq-name.ts';
import { beyondTotal, takenByLock, takenOf, totalOf } from './total.ts';

/*
 * status.reserved of a VMMRQ with a total (docs/adr/0030). A lock is entered before it is set, by compare-and-swap, so that the sum of
 * the entries never exceeds the total. `raise` relies on its own entry.
 */

/** Maximum number of entries, as in the CRD. */
export const MAX_RESERVATIONS = 256;

const reservationsIn = ({ status }: Vmmrq | ClusterVmmrq): readonly Reservation[] =>
  status !== undefined && 'reserved' in status ? status.reserved : [];

const amountsIn = (entries: readonly Reservation[]): Amounts =>
  sumOf(entries.map(({ amounts }) => amountsOf(amounts)));

/** The entries of one lock in one VMMRQ. */
export interface ReservationOrder {
  /** Name of the cluster-wide VMMRQ. */
  readonly name: string;
  readonly entries: readonly Reservation[];
}

export interface ReservingLock {
  readonly namespace: string;
  readonly lock: Pick<Lock, 'token' | 'expiresAt' | 'quotas'>;
  readonly quotas: readonly ResourceQuota[];
  /** The VMMRQs that give to each of its migrations. */
  readonly givers: readonly Vmmrq[];
}

/** What a lock must be entered with before it is set; empty: it takes nothing of any total. */
export const ordersOf = (reserving: ReservingLock): ReservationOrder[] =>
  reserving.givers
    .filter((vmmrq) => totalOf(vmmrq) !== undefined)
    .map((vmmrq) => ({ name: vmmrq.metadata.name, entries: entriesIn(vmmrq, reserving) }))
    .filter(({ entries }) => entries.length > 0);

const entriesIn = (
  vmmrq: Vmmrq,
  { namespace, lock: { token, expiresAt, quotas: wanted }, quotas, givers }: ReservingLock,
): Reservation[] =>
  wanted.flatMap(({ name, uid, need }) => {
    const quota = quotas.find(({ metadata }) => metadata.uid === uid);
    if (quota === undefined) return [];
    const taken = takenByLock(vmmrq, givers, [{ quota, need }]);
    if (taken.size === 0) return [];
    const amounts = Object.fromEntries([...taken].map(([key, amount]) => [key, formatQuantity(amount)]));
    return [{ namespace, quota: name, token, amounts, until: expiresAt }];
  });

/** The VMMRQ with more entries; undefined: its total leaves no room for them. */
export function withEntries(vmmrq: ClusterVmmrq, entries: readonly Reservation[]): ClusterVmmrq | undefined {
  const all = [...reservationsIn(vmmrq), ...entries];
  const isBeyond = beyondTotal(totalOf(vmmrq) ?? new Map(), amountsIn(all)).length > 0;
  return isBeyond || all.length > MAX_RESERVATIONS ? undefined : withReserved(vmmrq, all);
}

const withReserved = <T extends Vmmrq>(vmmrq: T, reserved: Reservation[]): T => ({
  ...vmmrq,
  status: { ...vmmrq.status, reserved },
});

/** A lock that has entries. */
export type ReservedLock = Pick<Reservation, 'namespace' | 'token'>;

const isOf = (entry: Reservation, locks: readonly ReservedLock[]): boolean =>
  locks.some(({ namespace, token }) => entry.namespace === namespace && entry.token === token);

/** The VMMRQ without the entries of these locks; undefined: it has none. */
export function withoutLocks(vmmrq: ClusterVmmrq, locks: readonly ReservedLock[]): ClusterVmmrq | undefined {
  const all = reservationsIn(vmmrq);
  const left = all.filter((entry) => !isOf(entry, locks));
  return left.length === all.length ? undefined : withReserved(vmmrq, left);
}

/**
 * Locks of which an entry may be left over: past its time, or further ahead than a lock may live. Only a hint, because clocks may
 * disagree. `now`: the API server's clock, milliseconds.
 */
export const dueLocks = (vmmrq: ClusterVmmrq, now: number): ReservedLock[] => {
  const due = reservationsIn(vmmrq).filter((entry) => !isCurrent(entry, now));
  const locks = due.map(({ namespace, token }) => [`${namespace}/${token}`, { namespace, token }] as const);
  return [...new Map(locks).values()];
};

function isCurrent({ until, closed }: Reservation, now: number): boolean {
  const ms = Date.parse(until) - now;
  return closed !== true && ms > 0 && ms <= MAX_LOCK_SECONDS * 1_000;
}

/** The VMMRQ with the entries of these locks closed; undefined: they are closed already. */
export function withClosed(vmmrq: ClusterVmmrq, locks: readonly ReservedLock[]): ClusterVmmrq | undefined {
  const all = reservationsIn(vmmrq);
  const isOpen = (entry: Reservation): boolean => entry.closed !== true && isOf(entry, locks);
  if (!all.some(isOpen)) return undefined;
  return withReserved(
    vmmrq,
    all.map((entry) => (isOpen(entry) ? { ...entry, closed: true } : entry)),
  );
}

/**
 * Whether no quota is raised for the lock of a closed entry, and none can be any more. The namespace must be read after the entry was
 * closed, and its raised quotas after the namespace: a lock that is gone has fenced its quotas, and a lock that is still to come
 * finds its entry closed. `namespace`: undefined where it is gone.
 */
export function isReservationOver(
  { token }: ReservedLock,
  namespace: Namespace | undefined,
  raised: readonly ResourceQuota[],
): boolean {
  if (namespace === undefined) return true;
  const state = lockOf(namespace);
  if (state.kind === 'malformed' || (state.kind === 'held' && state.lock.token === token)) return false;
  const isOther = (grant: GrantState): boolean =>
    grant.kind === 'none' || (grant.kind === 'held' && grant.grant.token !== token);
  return raised.map(grantOf).every(isOther);
}

/** The VMMRQ as when no lock has anything of its total. */
export const withoutReservations = (vmmrq: Vmmrq): Vmmrq =>
  reservationsIn(vmmrq).length === 0 ? vmmrq : withReserved(vmmrq, []);

/** What current locks have of the total, for a first look: an entry that may be left over counts as nothing. */
export const reservedNow = (vmmrq: Vmmrq, now: number): Amounts =>
  amountsIn(reservationsIn(vmmrq).filter((entry) => isCurrent(entry, now)));

/**
 * Why a lock may not raise the quota like this: a VMMRQ with a total has no open entry for it that is as large, or has more
 * entries than its total allows by now. undefined: the lock may raise.
 */
export function unreserved(
  raised: ResourceQuota,
  token: string,
  givers: readonly Vmmrq[],
): string | undefined {
  const { name, namespace = '' } = raised.metadata;
  const isOwn = (entry: Reservation): boolean =>
    isOf(entry, [{ namespace, token }]) && entry.quota === name && entry.closed !== true;
  for (const vmmrq of givers) {
    const taken = takenOf(vmmrq, givers, { quota: raised, raises: raisesOf(raised) });
    if (taken.size === 0) continue;
    const all = reservationsIn(vmmrq);
    if (beyondTotal(totalOf(vmmrq) ?? new Map(), amountsIn(all)).length > 0)
      return `${vmmrqName(vmmrq)} has a smaller total by now`;
    const own = amountsIn(all.filter(isOwn));
    const reserved = new Map([...taken.keys()].map((key) => [key, own.get(key) ?? 0n]));
    const lacking = describeShortfalls(beyondTotal(reserved, taken));
    if (lacking !== '')
      return `${vmmrqName(vmmrq)} has not reserved ${lacking} of what ResourceQuota ${name} lacks`;
  }
  return undefined;
}

/** The amounts by which the keys of a raised quota exceed its spec. */
const raisesOf = ({ spec, status }: ResourceQuota): [string, Amount][] =>
  Object.entries(status?.hard ?? {}).flatMap(([key, text]) => {
    const more = parseQuantity(text) - parseQuantity(spec.hard?.[key] ?? text);
    return more > 0n ? [[key, more] as [string, Amount]] : [];
  });
