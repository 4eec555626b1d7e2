import {
  afterFailure,
  afterGivingWay,
  afterSuccess,
  fingerprintOf,
  lastAttemptOf,
  sizesOf,
  type Attempt,
} from '../domain/verdict/attempt.ts';
import { grantOf } from '../domain/quota/grant.ts';
import { isLockedFor, lockOf, withoutLock, type Lock } from '../domain/lock.ts';
import { blockedAmong, gotThrough } from '../domain/migration.ts';
import { ANNOTATION, REASON, type Reason } from '../domain/names.ts';
import type { KubernetesEvent, Migration, Namespace, Pod, ResourceQuota, Vmmrq } from '../domain/objects.ts';
import { wasRefusedAfter } from '../domain/quota/refusal.ts';
import { enforcesNoMore } from '../domain/quota/enforced.ts';

export interface UnlockSnapshot {
  /** The API server's clock at the last of the reads, milliseconds. */
  readonly now: number;
  /** Read before everything else: its resourceVersion is the write's precondition. */
  readonly namespace: Namespace;
  readonly quotas: readonly ResourceQuota[];
  /** Every migration of the namespace; none where each of the lock's got through. */
  readonly migrations: readonly Migration[];
  /** Every pod of the namespace. */
  readonly pods: readonly Pod[];
  /** The namespace's; none where each of the lock's migrations got through. */
  readonly vmmrqs: readonly Vmmrq[];
  /** Why pods were refused, by virt-controller's Events; undefined where nobody can say. */
  readonly refusals: readonly KubernetesEvent[] | undefined;
  /** Of the event that woke us. */
  readonly token: string | undefined;
}

export type UnlockDecision =
  | { readonly kind: 'leave'; readonly reason: Reason; readonly message: string }
  /** A quota is not back yet: try again. */
  | { readonly kind: 'notYet'; readonly reason: Reason; readonly message: string }
  | {
      readonly kind: 'unlock';
      readonly namespace: Namespace;
      readonly lock: Lock | undefined;
      /** Pods that nobody of ours let in while the namespace was locked. */
      readonly strangers: readonly Pod[];
      readonly reason: Reason;
      readonly message: string;
    };

export type Unlock = Extract<UnlockDecision, { kind: 'unlock' }>;

/** The API server's Date counts whole seconds: up to one more has passed, and the lock budget must not miss it. */
const CLOCK_GRAIN_MS = 1_000;

/** Frees the namespace when every quota of the lock is gone, or released by this token and enforced at no more than it says. */
export function decide(snapshot: UnlockSnapshot): UnlockDecision {
  const state = lockOf(snapshot.namespace);
  if (state.kind === 'none') {
    return { kind: 'leave', reason: REASON.notOurLock, message: 'the namespace is not locked' };
  }
  const lock = state.kind === 'held' ? state.lock : undefined;
  if (lock !== undefined && snapshot.token !== undefined && lock.token !== snapshot.token) {
    return { kind: 'leave', reason: REASON.notOurLock, message: 'the namespace is locked by another token' };
  }
  const open = snapshot.quotas.find((quota) => !isBack(quota, lock));
  if (open !== undefined) {
    const message = `ResourceQuota ${open.metadata.name} is not enforced at its original yet`;
    return { kind: 'notYet', reason: REASON.notRestored, message };
  }
  return lock === undefined ? unlockUnreadable(snapshot) : unlock(snapshot, lock);
}

function isBack(quota: ResourceQuota, lock: Lock | undefined): boolean {
  if (grantOf(quota).kind !== 'none') return false;
  const isOfLock = lock?.quotas.some(({ uid }) => uid === quota.metadata.uid) ?? true;
  if (!isOfLock) return true;
  const isReleased =
    lock === undefined || quota.metadata.annotations?.[ANNOTATION.lastRelease] === lock.token;
  return isReleased && enforcesNoMore(quota);
}

function unlockUnreadable({ namespace }: UnlockSnapshot): UnlockDecision {
  return {
    kind: 'unlock',
    namespace: withoutLock(namespace, namespace.metadata.annotations?.[ANNOTATION.lastAttempt]),
    lock: undefined,
    strangers: [],
    reason: REASON.unlocked,
    message: 'unlocked: the lock could not be read',
  };
}

function unlock(snapshot: UnlockSnapshot, lock: Lock): UnlockDecision {
  const { namespace, now, pods, migrations, quotas, vmmrqs } = snapshot;
  const last = lastAttemptOf(namespace);
  const succeeded = gotThrough(lock.migrations, pods);
  const reason = (lock.ended?.reason ?? failureOf(snapshot, lock)) as Reason;
  const lockedMs = Math.max(0, now - Date.parse(lock.acquiredAt)) + CLOCK_GRAIN_MS;
  const blocked = blockedAmong(migrations, pods).map(({ waiting }) => waiting);
  const fingerprint = fingerprintOf({ migrations: blocked, quotas, vmmrqs });
  const ended = { now, lockedMs, reason, fingerprint, ...sizedFor(reason, lock) };
  const afterwards = gaveWay(snapshot, lock, { reason, last }) ? afterGivingWay : afterFailure;
  const attempt = succeeded ? afterSuccess(last, now) : afterwards(last, ended);
  const how = succeeded
    ? 'every migration of the lock got through'
    : (lock.ended?.message ?? `not all got through: ${reason}`);
  return {
    kind: 'unlock',
    namespace: withoutLock(namespace, attempt === undefined ? undefined : JSON.stringify(attempt)),
    lock,
    strangers: pods.filter((pod) => isStranger(pod, lock)),
    reason: REASON.unlocked,
    message: `unlocked: ${how}`,
  };
}

const lockedFor = (migrations: readonly Migration[], lock: Lock): Migration[] =>
  migrations.filter(({ metadata }) => lock.migrations.some(({ uid }) => uid === metadata.uid));

/** How this attempt ended, and the one before it. */
interface Result {
  readonly reason: Reason;
  readonly last: Attempt | undefined;
}

/**
 * To others that KubeVirt runs: by itself; or KubeVirt had not come to it when its time was over, which is nobody's fault where
 * others were after the same places (docs/adr/0017), and no more than once in a row.
 */
function gaveWay({ migrations, refusals }: UnlockSnapshot, lock: Lock, { reason, last }: Result): boolean {
  if (reason === REASON.parallelLimit) return true;
  const isAbout = reason === REASON.raisedButNotAdmitted && lock.places !== undefined;
  if (!isAbout || refusals === undefined) return false;
  const isFirst = last === undefined || (last.failures === 0 && last.reason !== reason);
  const vms = lockedFor(migrations, lock).map(({ spec }) => spec.vmiName ?? '');
  return isFirst && !wasRefusedAfter(Date.parse(lock.acquiredAt), vms, refusals);
}

/** Only of a raise that was made: another size changes nothing where somebody's set-up stood in the way. */
function sizedFor(reason: Reason, { quotas }: Lock): { sized?: string } {
  const isSaid = quotas.every(({ need }) => need !== undefined);
  return isSaid && reason === REASON.raisedButNotAdmitted ? { sized: sizesOf(quotas) } : {};
}

function failureOf({ migrations }: UnlockSnapshot, lock: Lock): Reason {
  const left = lockedFor(migrations, lock).some(
    ({ metadata, status }) =>
      // One that is being deleted has ended, though virt-controller may not have said so yet.
      metadata.deletionTimestamp === undefined && status?.phase === 'Pending',
  );
  return left ? REASON.raisedButNotAdmitted : REASON.ended;
}

/** Made after the second in which the lock was taken, and not one of the lock's migrations'. */
function isStranger(pod: Pod, lock: Lock): boolean {
  const taken = Math.floor(Date.parse(lock.acquiredAt) / 1_000) * 1_000;
  return !isLockedFor(lock, pod) && Date.parse(pod.metadata.creationTimestamp) > taken;
}
