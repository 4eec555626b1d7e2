import type { Assessment } from '../domain/verdict/assessment.ts';
import { fingerprint as fingerprintOfEvent } from '../domain/fingerprint.ts';
import { liveLock, lockOf, LOCK_VERSION, withLock, type Lock } from '../domain/lock.ts';
import { grantOf } from '../domain/quota/grant.ts';
import { EVENT_REASON, REASON, type Reason } from '../domain/names.ts';
import type { Namespace } from '../domain/objects.ts';
import { triedRaises } from '../domain/verdict/raise-refusal.ts';
import { involvedMigration, type EventReport } from '../domain/verdict/report.ts';
import { verdictText } from '../domain/verdict/verdict-text.ts';
import { vmmrqName } from '../domain/vmmrq-name.ts';
import type { NamespaceSnapshot, Rules } from '../domain/snapshot.ts';

export type LockDecision =
  /** A live lock exists, which this very event made: announce it again. */
  | { readonly kind: 'goOn'; readonly lock: Lock; readonly reason: Reason; readonly message: string }
  /** A live lock exists, and goes on without this event. */
  | { readonly kind: 'locked'; readonly reason: Reason; readonly message: string }
  /** A leftover lock or grant must be repaired first. */
  | { readonly kind: 'repair'; readonly token?: string; readonly reason: Reason; readonly message: string }
  | { readonly kind: 'leave'; readonly reason: Reason; readonly message: string }
  | {
      readonly kind: 'acquire';
      readonly lock: Lock;
      /** Quotas whose raise is new to the API server's webhooks and policies: a dry run comes first. */
      readonly untried: readonly string[];
      /** The namespace with the lock: the one write, with the resourceVersion that was read. */
      readonly namespace: Namespace;
      readonly reason: Reason;
      readonly message: string;
    };

/** The decision to lock the namespace. */
export type AcquireDecision = Extract<LockDecision, { kind: 'acquire' }>;

/** Decides on the state that was just read: the event may be forged, or hours old. */
export function decide(
  snapshot: NamespaceSnapshot,
  assessment: Assessment,
  { lockSeconds, token, id }: Pick<Rules, 'lockSeconds'> & { readonly token: string; readonly id: string },
): LockDecision {
  const held = heldAlready(snapshot, id);
  if (held !== undefined) return held;
  const { migrations, quotas, vmmrqs, verdicts, fingerprint } = assessment;
  if (migrations.length === 0) {
    const [first] = verdicts;
    if (first === undefined) return leave(REASON.nothingBlocked, 'no quota refuses a migration any more');
    return leave(first.reason, `${first.migration.name}: ${first.message}`);
  }
  const lock: Lock = {
    v: LOCK_VERSION,
    token,
    acquiredAt: new Date(snapshot.now).toISOString(),
    expiresAt: new Date(snapshot.now + lockSeconds * 1_000).toISOString(),
    migrations: [...migrations],
    quotas: [...quotas],
    vmmrqs: vmmrqs.map(vmmrqName),
    of: fingerprint,
    ...(snapshot.view?.others === true ? { others: true } : {}),
    by: fingerprintOfEvent(id),
  };
  return {
    kind: 'acquire',
    lock,
    untried: untriedOf(lock, snapshot),
    namespace: withLock(snapshot.namespace, lock),
    reason: REASON.locked,
    message: `locked for ${migrations.map(({ name }) => name).join(', ')}`,
  };
}

const untriedOf = ({ quotas }: Lock, snapshot: NamespaceSnapshot): string[] => {
  const tried = new Set(snapshot.quotas.filter(triedRaises(snapshot)).map(({ metadata }) => metadata.uid));
  return quotas.filter(({ uid }) => !tried.has(uid)).map(({ name }) => name);
};

type LeaveDecision = Extract<LockDecision, { kind: 'leave' }>;

const leave = (reason: Reason, message: string): LeaveDecision => ({ kind: 'leave', reason, message });

/** The decision not to lock, because the look took long, and the migration slots are gone. */
export const leaveWithoutSlot = ({ migrations }: Lock): LeaveDecision =>
  leave(
    REASON.parallelLimit,
    `KubeVirt has no migration slot left for ${migrations.map(({ name }) => name).join(', ')}`,
  );

/** A Warning for each migration of a lock that a policy refuses. */
export const reportsOfRefusal = ({ migrations }: Lock, namespace: string, message: string): EventReport[] =>
  migrations.map((migration) => ({
    on: involvedMigration(namespace, migration),
    type: 'Warning',
    reason: EVENT_REASON.migrationBlocked,
    because: REASON.refusedByPolicy,
    key: `${migration.uid} ${REASON.refusedByPolicy}`,
    message,
    verdict: verdictText({ reason: REASON.refusedByPolicy, message, blocking: [] }),
    isUpdated: true,
  }));

const LIVE = {
  reason: REASON.alreadyLocked,
  message: 'the namespace has a live lock already',
} as const;

/**
 * The reply that announced the lock may be lost, and then the Broker delivers its event again: repeat that reply. Every other event, of
 * which a burst has many, finds a lock that goes on without it, and whose end makes feasibility look again.
 */
export const continueWith = (lock: Lock, id: string): Extract<LockDecision, { kind: 'goOn' | 'locked' }> =>
  lock.by === fingerprintOfEvent(id) ? { kind: 'goOn', lock, ...LIVE } : { kind: 'locked', ...LIVE };

/** What is locked or raised already must end, also beside the incumbent (I3): `raise` ends the lock, and the guard repairs. */
function heldAlready({ namespace, quotas, now }: NamespaceSnapshot, id: string): LockDecision | undefined {
  const live = liveLock(namespace, now);
  if (live !== undefined) return continueWith(live, id);
  const state = lockOf(namespace);
  if (state.kind !== 'none') {
    const token = state.kind === 'held' ? { token: state.lock.token } : {};
    return { kind: 'repair', ...token, reason: REASON.lockExpired, message: 'the lock has expired' };
  }
  const left = quotas.find((quota) => grantOf(quota).kind !== 'none');
  if (left === undefined) return undefined;
  const message = `ResourceQuota ${left.metadata.name} holds a grant without a lock`;
  return { kind: 'repair', reason: REASON.grantWithoutLock, message };
}
