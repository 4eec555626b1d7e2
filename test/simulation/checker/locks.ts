import { isSilent } from '../../../functions/domain/controller-lease.ts';
import { grantOf } from '../../../functions/domain/quota/grant.ts';
import { lockOf, type Lock, type LockState } from '../../../functions/domain/lock.ts';
import { lastAttemptOf } from '../../../functions/domain/verdict/attempt.ts';
import { MAX_LOCK_SECONDS } from '../../../functions/runtime/limits.ts';
import { LABEL } from '../../../functions/domain/names.ts';
import type { Namespace, ResourceQuota } from '../../../functions/domain/objects.ts';
import { isOurs } from '../world/guard.ts';
import { isFreeBy, LockedTime } from '../../support/invariants/locked-time.ts';

export type Report = (violation: string) => void;

/** A write. */
export interface Writing {
  readonly user: string;
  /** The process: "lock-6". */
  readonly actor: string;
  /** How long the API server held it before it took effect, milliseconds. */
  readonly heldMs: number;
  /** The functions of the later steps have answered the process. */
  readonly hasAnswers?: boolean;
}

/** How long an answer may take before its client gives up: the times that unlock measures may be this old. */
const SILENCE_MS = 4_000;

/** The first look that may charge comes so long after the raise (isStallOver of lower/decide.ts), by a Date of whole seconds. */
const STALL_OVER_MS = 9_000;
const CLOCK_GRAIN_MS = 1_000;

/** KubeVirt creates a pod within a tenth of a second of the raise, when it runs. */
const FAIR_MS = 500;

/** All locks of the namespace over time: I6, I7, and the lock's part of I1 and I3. */
export class Locks {
  /** The current readable lock; undefined: none. */
  lock: Lock | undefined;
  /** Milliseconds of the run's time; undefined: there is no lock. */
  since: number | undefined;
  /** Tokens of locks that ended. */
  readonly ended = new Set<string>();
  /** Locks whose migrations all got their target pods, and the others. */
  readonly counts = { cycles: 0, failures: 0 };
  /** From now on the API server delays no answer. */
  isCalm = false;
  #state: LockState = { kind: 'none' };
  /** Milliseconds of the last raise for the lock; undefined: none. */
  #raisedAt: number | undefined;
  /** For how long after the raise each has been there, and when KubeVirt was there last, milliseconds. */
  #present = { kubevirtMs: 0, guardMs: 0, kubevirtAt: 0 };
  /** The last lock, if it failed, was not charged for it, or charged after one that was not. */
  #wasSpared = false;
  /** By the namespace's record. */
  #failures = 0;
  readonly #byToken = new Map<string, Lock>();
  /** Tokens of locks that an admin removed by break-glass: the checker does not check what follows. */
  readonly #broken = new Set<string>();
  readonly #lockedTime = new LockedTime();
  readonly #time: { readonly now: number };
  readonly #report: Report;

  /** `time`: not the API servers' clock, which a fault may set. */
  constructor(time: { readonly now: number }, report: Report) {
    this.#time = time;
    this.#report = report;
  }

  get isFree(): boolean {
    return this.#state.kind === 'none';
  }

  of(token: string): Lock | undefined {
    return this.#byToken.get(token);
  }

  isBroken(token: string): boolean {
    return this.#broken.has(token);
  }

  /** The quota holds a grant of a lock that an admin removed by break-glass. */
  isOrphanOfBroken(quota: ResourceQuota): boolean {
    const state = grantOf(quota);
    return state.kind === 'held' && this.#broken.has(state.grant.token);
  }

  /** `through`: whether a migration has had its target pod. True: a lock was taken. */
  see(namespace: Namespace, by: Writing, through: (uid: string) => boolean): boolean {
    const [was, state] = [tokenOf(this.#state), lockOf(namespace)];
    const is = tokenOf(state);
    this.#checkKeys(namespace, state, by);
    const hasEnded = this.#state.kind === 'held' && this.#state.lock.ended !== undefined;
    this.#state = state;
    if (was === is) return false;
    const failures = lastAttemptOf(namespace, Infinity)?.failures ?? 0;
    const isCharged = failures > this.#failures;
    this.#failures = failures;
    const isFree = isFreeBy(namespace);
    if (was !== undefined) this.#end(was, { by, replacedBy: is, through, isCharged, isFree, hasEnded });
    this.lock = undefined;
    if (state.kind === 'held') this.#observe(state.lock);
    return state.kind === 'held';
  }

  #checkKeys({ metadata }: Namespace, state: LockState, { user, hasAnswers }: Writing): void {
    const isLabelled = metadata.labels?.[LABEL.locked] === 'true';
    if (isOurs(user) && isLabelled !== (state.kind !== 'none')) {
      this.#report('I1: the label and the annotation of the lock are not there together');
    }
    const token = tokenOf(state);
    if (token !== undefined && this.ended.has(token)) this.#report(`I6: token ${token} came back`);
    const isTaken = token !== undefined && token !== tokenOf(this.#state);
    if (isTaken && hasAnswers === false) this.#report('I7: locked before the later steps have answered');
  }

  /** A quota was raised for the lock. */
  raise(): void {
    this.#raisedAt = this.#time.now;
  }

  /** KubeVirt, or a guard, has been there for the last `ms` milliseconds. */
  notePresence({ kubevirt, guard }: { kubevirt: boolean; guard: boolean }, ms: number): void {
    if (kubevirt) this.#present.kubevirtAt = this.#time.now;
    if (this.#raisedAt === undefined) return;
    if (kubevirt) this.#present.kubevirtMs += ms;
    if (guard) this.#present.guardMs += ms;
  }

  /** A pod of virt-controller's is judged now, maybe one that it requested before it stopped: under a raise that is an attempt. */
  noteAttempt(): void {
    if (this.#raisedAt !== undefined) this.#present.kubevirtMs += FAIR_MS;
  }

  /** A virt-controller looks alive until its Lease is seen not to be renewed, also one that is just back, or was for a moment. */
  get #couldTry(): boolean {
    const { kubevirtMs, guardMs, kubevirtAt } = this.#present;
    const looksAlive = !isSilent(
      kubevirtAt,
      (this.#raisedAt ?? this.#time.now) + STALL_OVER_MS - CLOCK_GRAIN_MS,
    );
    return guardMs >= FAIR_MS && (looksAlive || kubevirtMs >= FAIR_MS);
  }

  #observe(lock: Lock): void {
    this.lock = lock;
    this.#raisedAt = undefined;
    this.#present = { ...this.#present, kubevirtMs: 0, guardMs: 0 };
    this.since = this.#time.now;
    this.#byToken.set(lock.token, lock);
    if (lifetimeOf(lock) > MAX_LOCK_SECONDS * 1_000) {
      this.#report(`I3: the lock of ${lock.token} lives for too long`);
    }
  }

  /** Once in a while only: a part that stays away must not cause a freeze loop. A raise that ended its own lock says why. */
  #checkCharge(token: string, { isCharged, hasEnded }: Pick<End, 'isCharged' | 'hasEnded'>): void {
    const isUnfair = isCharged && !this.#couldTry && !hasEnded;
    if (isUnfair && !this.#wasSpared)
      this.#report(`I7: ${token} is charged, and KubeVirt or every guard was away while it was raised`);
    this.#wasSpared = !isCharged || isUnfair;
  }

  #end(token: string, { by, replacedBy, through, isCharged, isFree, hasEnded }: End): void {
    if (replacedBy !== undefined) this.#report(`I6: ${replacedBy} replaced the lock of ${token}`);
    else if (!isOurs(by.user)) this.#broken.add(token);
    this.ended.add(token);
    const to = this.#time.now;
    const from = this.since ?? to;
    this.since = undefined;
    const lock = this.#byToken.get(token);
    if (lock === undefined || lock.migrations.every(({ uid }) => through(uid))) {
      this.counts.cycles += 1;
      this.#wasSpared = false;
      return;
    }
    this.counts.failures += 1;
    // No step recorded how long that lock was.
    if (this.#broken.has(token)) return;
    this.#checkCharge(token, { isCharged, hasEnded });
    // The record of unlock does not contain the duration of its own write.
    const unknownMs = by.heldMs + (this.isCalm ? 0 : SILENCE_MS);
    this.#lockedTime.add({ from, to, unknownMs, isFree }, lifetimeOf(lock));
    const beyond = this.#lockedTime.beyondBudget();
    if (beyond > 0)
      this.#report(`I7: failed attempts locked the namespace for ${String(beyond)} ms too long`);
  }
}

interface End {
  readonly by: Writing;
  readonly replacedBy: string | undefined;
  readonly through: (uid: string) => boolean;
  /** The record has one more failure. */
  readonly isCharged: boolean;
  /** By the record. */
  readonly isFree: boolean;
  /** A raise ended it. */
  readonly hasEnded: boolean;
}

const tokenOf = (state: LockState): string | undefined =>
  state.kind === 'held' ? state.lock.token : undefined;

const lifetimeOf = ({ acquiredAt, expiresAt }: Lock): number =>
  Date.parse(expiresAt) - Date.parse(acquiredAt);
