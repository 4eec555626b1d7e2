import { grantBy, grantOf, orderFor, type Grant } from '../domain/quota/grant.ts';
import { isFencedBy } from '../domain/quota/lower.ts';
import { isUndone, needsMore, raisedAgain, raisedQuota, type RaiseOrder } from '../domain/quota/raise.ts';
import { statusUnknown } from '../domain/quota/headroom.ts';
import { recordIn } from '../domain/incumbent.ts';
import { ANNOTATION, isReserved, MAX_RAISES, REASON, type Reason } from '../domain/names.ts';
import type { ResourceQuota, Vmmrq } from '../domain/objects.ts';
import type { ProvenLock } from '../domain/proof.ts';
import { givingToAll, inForce } from '../domain/policy/policy.ts';
import { allWaitForSlot } from '../domain/view/slots.ts';

/** The objects of a raise, read by the writers' rule: the quotas and VMMRQs first, then the proof. */
export interface RaiseSnapshot {
  readonly namespace: string;
  readonly token: string;
  /** The lock's quotas that still are what the lock says (name and uid). */
  readonly quotas: readonly ResourceQuota[];
  /** The VMMRQs that the lock names, as read. */
  readonly vmmrqs: readonly Vmmrq[];
  /** The live lock of this token, as the proof carries it. */
  readonly lock: ProvenLock;
  readonly kubevirtNamespace: string;
  /** UIDs of migrations that KubeVirt has no slot left for, by the guard's view; left out: not known. */
  readonly slotless?: readonly string[] | undefined;
  /** The API server's clock, milliseconds. */
  readonly now: number;
  /** The process's time of day, milliseconds; left out: `now`. */
  readonly clock?: number | undefined;
}

export type RaiseDecision =
  | {
      readonly kind: 'raise';
      /** The quotas to PUT, each with the resourceVersion that was read; those raised already are left out. */
      readonly writes: readonly ResourceQuota[];
      readonly reason: Reason;
      readonly message: string;
    }
  /** The raise cannot succeed: end the lock now instead of waiting for its time. */
  | End;

export interface End {
  readonly kind: 'end';
  readonly reason: Reason;
  readonly message: string;
}

const end = (reason: Reason, message: string): End => ({ kind: 'end', reason, message });

/** The event is a duplicate: each of these quotas is raised by this token, so there is nothing to prove or to write. */
export const isRaisedAlready = (quotas: readonly ResourceQuota[], token: string): boolean =>
  quotas.length > 0 &&
  quotas.every((quota) => {
    const grant = grantBy(quota, token);
    return grant !== undefined && !isUndone(quota, grant);
  });

/** Raises the quotas of the proven lock; any blocker ends the lock. */
export function decide(snapshot: RaiseSnapshot): RaiseDecision {
  const found = snapshot.quotas.map((quota) => ({ quota, ...raiseOf(quota, snapshot) }));
  const blocker = blockerOf(snapshot) ?? found.find(({ ended }) => ended !== undefined)?.ended;
  if (blocker !== undefined) return blocker;
  const raised = found.filter(({ write, isRaised }) => write !== undefined || isRaised === true);
  if (raised.length === 0) {
    return found.length === 0
      ? end(REASON.ended, 'no quota of the lock exists any more')
      : end(REASON.fits, 'the quotas of the lock have headroom by now');
  }
  const names = raised.map(({ quota }) => quota.metadata.name).join(', ');
  return {
    kind: 'raise',
    writes: raised.flatMap(({ write }) => write ?? []),
    reason: REASON.raised,
    message: `raised ${names}`,
  };
}

/** A blocker of the whole lock, whatever its quotas are. */
function blockerOf(snapshot: RaiseSnapshot): End | undefined {
  const { namespace, lock, kubevirtNamespace } = snapshot;
  // Only another writer can have locked a reserved namespace; the API server does not ask the guard there.
  if (isReserved({ namespace, kubevirtNamespace })) {
    return end(REASON.reservedNamespace, `namespace ${namespace} belongs to the cluster`);
  }
  if (lock.skip === true) {
    return end(REASON.skipped, `the namespace opted out by ${ANNOTATION.skip} while it was locked`);
  }
  // A lock from before the incumbent came must still end: this write, and those of `lower` and `unlock`, are made beside it (I3).
  const incumbent = lock.incumbent ?? recordIn(snapshot.vmmrqs);
  if (incumbent !== undefined) return end(REASON.incumbentPresent, incumbent);
  if (allWaitForSlot(lock.migrations, snapshot.slotless ?? []))
    return end(REASON.parallelLimit, 'other migrations have taken the migration slots since the lock');
  if (snapshot.vmmrqs.length === 0 || giversOf(snapshot).length > 0) return undefined;
  const isReceiving = lock.migrations.some(({ receives }) => receives === true);
  return isReceiving
    ? end(REASON.receiveNotAllowed, 'no VMMRQ that gives to the migration sets allowReceive: true any more')
    : end(REASON.purposeNotServed, 'no VMMRQ gives to migrations of this purpose any more');
}

/** The VMMRQs of the lock that still select the namespace and give to each of its migrations (I5). */
export const giversOf = ({ vmmrqs, lock }: Pick<RaiseSnapshot, 'vmmrqs' | 'lock'>): readonly Vmmrq[] =>
  givingToAll(inForce(vmmrqs, lock.labels), lock.migrations);

interface QuotaRaise {
  readonly write?: ResourceQuota;
  /** The quota is raised already. */
  readonly isRaised?: true;
  readonly ended?: End;
}

/** Decides for one quota; an empty result: it has the headroom by now. */
export function raiseOf(quota: ResourceQuota, snapshot: RaiseSnapshot): QuotaRaise {
  const { token, lock, now, clock } = snapshot;
  const { name } = quota.metadata;
  const order: RaiseOrder = { lock: orderOf(lock, token), vmmrqs: giversOf(snapshot), now, clock };
  if (isFencedBy(quota, token))
    return { ended: end(REASON.fenced, `ResourceQuota ${name} is fenced already`) };
  const grant = grantBy(quota, token);
  if (grant !== undefined && !isUndone(quota, grant)) return { isRaised: true };
  const ended = closedTo(quota, grant, order.lock);
  if (ended !== undefined) return { ended };
  if (grant !== undefined) return writeOr(raisedAgain(quota, grant, order), notEnough(name));
  if (needsMore(quota, order)) return { ended: notEnough(name) };
  const hasHeadroom = wouldRaise(quota, order);
  return writeOr(raisedQuota(quota, order), hasHeadroom ? undefined : notEnough(name));
}

/** Why the quota may not be raised, for the first time or again. `grant`: of this token. */
function closedTo(
  quota: ResourceQuota,
  grant: Grant | undefined,
  { migrations, quotas }: Pick<RaiseOrder['lock'], 'migrations' | 'quotas'>,
): End | undefined {
  const { name, annotations } = quota.metadata;
  const what = `ResourceQuota ${name}`;
  if (grant === undefined && grantOf(quota).kind !== 'none')
    return end(REASON.fenced, `${what} holds the grant of another lock`);
  if (annotations?.[ANNOTATION.skip] === 'true')
    return end(REASON.skipped, `${what} opted out by ${ANNOTATION.skip} while it was locked`);
  if (grant !== undefined) {
    const message = `a quota controller recounted ${what} ${String(grant.raises)} times while it was raised`;
    // The end of each one's source pod makes it count once.
    const isOften = grant.raises >= MAX_RAISES + migrations.length;
    return isOften ? end(REASON.undone, message) : undefined;
  }
  const need = orderFor(quota, quotas)?.need;
  const unknown = statusUnknown(quota, (key) => need === undefined || need[key] !== undefined);
  return unknown === undefined ? undefined : end(REASON.statusUnknown, unknown);
}

const orderOf = ({ expiresAt, migrations, quotas }: ProvenLock, token: string): RaiseOrder['lock'] => ({
  token,
  expiresAt,
  migrations: [...migrations],
  quotas: [...quotas],
});

const notEnough = (name: string): End =>
  end(REASON.notEnough, `the VMMRQs do not give enough for ResourceQuota ${name} any more`);

const writeOr = (write: ResourceQuota | undefined, ended: End | undefined): QuotaRaise => {
  if (write !== undefined) return { write };
  return ended === undefined ? {} : { ended };
};

/** Whether the full allowance would still raise the quota. With policy Exact it may have the headroom by now. */
const wouldRaise = (quota: ResourceQuota, order: RaiseOrder): boolean =>
  raisedQuota(quota, { ...order, lock: { ...order.lock, quotas: [] } }) !== undefined;
