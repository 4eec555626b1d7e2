import { grantOf, raisedQuota, type RaiseOrder } from '../domain/quota/grant.ts';
import { isExpired, lockOf, LOCK_VERSION, withLock, type Lock } from '../domain/lock.ts';
import { ANNOTATION, isReserved, REASON, type Reason } from '../domain/names.ts';
import type { Namespace, ResourceQuota, Vmmrq } from '../domain/objects.ts';
import { givesWay } from '../domain/verdict/parallel-turn.ts';

/** Read in this order, by the writers' rule: the quotas, then the proof, then the namespace. */
export interface RaiseSnapshot {
  readonly token: string;
  /** The lock's quotas, those that still are what the lock says (name and uid). */
  readonly quotas: readonly ResourceQuota[];
  readonly vmmrqs: readonly Vmmrq[];
  /** The other namespaces that are locked; none are read where the lock says that nobody else was after its places. */
  readonly others: readonly Namespace[];
  /** Whether the guard refused as it must, with this token; else what happened instead. */
  readonly proof: Proof;
  readonly namespace: Namespace;
  readonly kubevirtNamespace: string;
  /** The API server's clock, milliseconds. */
  readonly now: number;
}

export type Proof = { readonly proven: true } | { readonly proven: false; readonly why: string };

export type RaiseDecision =
  | {
      readonly kind: 'raise';
      readonly lock: Lock;
      /** The quotas to PUT, each with the resourceVersion that was read; those raised already are left out. */
      readonly writes: readonly ResourceQuota[];
      readonly reason: Reason;
      readonly message: string;
    }
  /** It cannot work: the lock is ended now, so that nobody waits for it. */
  | {
      readonly kind: 'end';
      readonly lock: Lock;
      readonly namespace: Namespace;
      readonly reason: Reason;
      readonly message: string;
    }
  /** Not ours, or too late: nothing is written. */
  | { readonly kind: 'leave'; readonly reason: Reason; readonly message: string };

export type Raise = Extract<RaiseDecision, { kind: 'raise' }>;
export type End = Extract<RaiseDecision, { kind: 'end' }>;

/** A duplicate: every quota of the lock holds its grant already, so there is nothing to prove and nothing to write. */
export const isRaisedAlready = (quotas: readonly ResourceQuota[], token: string): boolean =>
  quotas.length > 0 &&
  quotas.every((quota) => {
    const state = grantOf(quota);
    return state.kind === 'held' && state.grant.token === token;
  });

/** Raises only while the lock is held and proven; everything else ends the lock, or is left alone. */
export function decide(snapshot: RaiseSnapshot): RaiseDecision {
  const { token, namespace, now } = snapshot;
  const state = lockOf(namespace);
  if (state.kind !== 'held' || state.lock.token !== token) {
    return leave(REASON.notOurLock, 'the namespace is not locked by this token');
  }
  const { lock } = state;
  if (isExpired(lock, now)) return leave(REASON.lockExpired, 'the lock is past its time');
  if (lock.v !== LOCK_VERSION)
    return leave(REASON.notOurLock, `a lock of version ${String(lock.v)} is not ours to raise for`);
  const fenced = snapshot.quotas.find((quota) => isFenced(quota, token));
  if (fenced !== undefined) {
    return leave(REASON.fenced, `ResourceQuota ${fenced.metadata.name} was let go of already`);
  }
  return obstacle(snapshot, state.labelled, lock) ?? raise(snapshot, lock);
}

/** What no other lock of this namespace would fare better with. */
function obstacle(snapshot: RaiseSnapshot, labelled: boolean, lock: Lock): RaiseDecision | undefined {
  const { proof, kubevirtNamespace } = snapshot;
  const { name } = snapshot.namespace.metadata;
  // Whoever locked it was not us: the guard would not even be asked there.
  if (isReserved(name, kubevirtNamespace)) {
    return end(snapshot, lock, [REASON.reservedNamespace, `namespace ${name} belongs to the cluster`]);
  }
  const crowd = givesWay(lock, snapshot.others, snapshot.now);
  if (crowd !== undefined) return end(snapshot, lock, [REASON.parallelLimit, crowd]);
  if (!labelled) return end(snapshot, lock, [REASON.noProof, 'the label of the lock is gone']);
  if (!proof.proven) return end(snapshot, lock, [REASON.noProof, proof.why]);
  return undefined;
}

const leave = (reason: Reason, message: string): RaiseDecision => ({ kind: 'leave', reason, message });

/** Let go of by this very lock, or held by another: a late writer must not raise it. */
function isFenced(quota: ResourceQuota, token: string): boolean {
  const state = grantOf(quota);
  const isForeign = state.kind === 'malformed' || (state.kind === 'held' && state.grant.token !== token);
  return isForeign || quota.metadata.annotations?.[ANNOTATION.lastRelease] === token;
}

function end(
  { namespace, now }: RaiseSnapshot,
  lock: Lock,
  [reason, message]: readonly [Reason, string],
): RaiseDecision {
  const ended: Lock = { ...lock, expiresAt: new Date(now).toISOString(), ended: { reason, message } };
  return { kind: 'end', lock, namespace: withLock(namespace, ended), reason, message };
}

function raise(snapshot: RaiseSnapshot, lock: Lock): RaiseDecision {
  const { quotas, vmmrqs, now, token } = snapshot;
  const order = { token, migrations: lock.migrations, quotas: lock.quotas, vmmrqs, now };
  // A retried raise finds its own grant, and is done with that quota: `original` is never taken from a raised one.
  const open = quotas.filter((quota) => grantOf(quota).kind === 'none');
  const writes = open.flatMap((quota) => raisedQuota(quota, order) ?? []);
  const untouched = open.filter(
    ({ metadata }) => !writes.some((quota) => quota.metadata.uid === metadata.uid),
  );
  if (quotas.length === 0 || untouched.some((quota) => givesNothing(quota, order))) {
    return end(snapshot, lock, [
      REASON.notEnough,
      'the VMMRQs give nothing for a quota of the lock any more',
    ]);
  }
  if (untouched.length === quotas.length) {
    return end(snapshot, lock, [REASON.fits, 'the quotas of the lock have the room by now']);
  }
  const raised = quotas.filter((quota) => !untouched.includes(quota));
  return { kind: 'raise', lock, writes, reason: REASON.raised, message: messageOf(raised) };
}

/** Not even by all that is given: with policy Exact a quota may also have the room by now. */
const givesNothing = (quota: ResourceQuota, { quotas: _need, ...order }: RaiseOrder): boolean =>
  raisedQuota(quota, order) === undefined;

const messageOf = (quotas: readonly ResourceQuota[]): string =>
  `raised ${quotas.map(({ metadata }) => metadata.name).join(', ')}`;
