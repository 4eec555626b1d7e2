import type { OurEvent } from '../../functions/domain/events.ts';
import { grantBy } from '../../functions/domain/quota/grant.ts';
import { isUnfenced, lockOf, type LockState } from '../../functions/domain/lock.ts';
import { EVENT, LABEL } from '../../functions/domain/names.ts';
import type { Namespace, ResourceQuota } from '../../functions/domain/objects.ts';
import type { View } from '../../functions/domain/view.ts';
import { isSame } from '../../functions/domain/same.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { follow } from '../../functions/kubernetes/follow.ts';
import type { Watched } from '../observability/metrics.ts';
import { doubling, Timers } from '../../functions/runtime/timers.ts';
import { LISTED_LOCKS, LISTED_RAISED } from './listed-locks.ts';
import { keepFencing } from './removed-lock.ts';
import {
  dueInMs,
  expiredEvent,
  identityOf,
  isStanding,
  isLate,
  lockKey,
  migrationEndedEvent,
  quotaKey,
  raisedFor,
  stalledEvent,
  stallKey,
  QUOTA_CHAIN,
  tokenOf,
  watchedLock,
  withRaised,
  type WatchedLock,
} from './watched-lock.ts';
import { isAllRaised, isHalfRaised, isLeftToEnd, missingEvent, type ObservedLock } from './missing-event.ts';
import type { WatchdogOptions, WatchdogSettings } from './watchdog-options.ts';

/** Times after which the watchdog sends an event again: the first one is lost, or its step is still starting (a cold start). */
const RESEND_MS = { first: 2_000, next: 2_500 } as const;
/** The longest time that a watch may miss changes without an error. */
const LIST_EVERY_MS = 20_000;
/** Waits between attempts that fail. */
const nextMs = doubling(10_000);
const STALL_AGAIN_MS = 2_000;
/** The lock and the raised quota arrive on two watches, and either may be late. */
const ORPHAN_MS = 2_000;

/**
 * Watches locked namespaces and raised quotas, with a timer for each token; an idle cluster has none of both. It sends lost events
 * again, and repairs overdue locks, and those whose functions do not react. Its clock only measures how long it has seen a token itself.
 */
export class Watchdog {
  readonly #settings: WatchdogSettings;
  readonly #options: WatchdogOptions;
  readonly #timers: Timers;
  /** The last known state of each locked namespace. */
  readonly #locks = new Map<string, WatchedLock>();
  /** Quotas with the raised label, by uid. */
  readonly #raised = new Map<string, ResourceQuota>();

  constructor(settings: WatchdogSettings, options: WatchdogOptions) {
    this.#settings = settings;
    this.#options = options;
    this.#timers = new Timers(options.clock);
  }

  /** Runs until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { cluster, clock, log } = this.#options;
    const onError = (error: unknown): void => log('warn', `watching again: ${describeError(error)}`);
    const how = { signal, clock, listEveryMs: LIST_EVERY_MS };
    const locked = { type: LISTED_LOCKS, where: { labelSelector: `${LABEL.locked}=true` }, ...how };
    const raised = { type: LISTED_RAISED, where: { labelSelector: `${LABEL.raised}=true` }, ...how };
    await Promise.all([
      follow(cluster, locked, {
        onList: (namespaces) => this.#relist(namespaces),
        onChange: (namespace) => this.#onLock(namespace),
        onGone: ({ metadata }) => this.#onUnlocked(metadata.name),
        onError,
      }),
      follow(cluster, raised, {
        onList: (quotas) => this.#relistQuotas(quotas),
        onChange: (quota) => this.#onRaised(quota),
        onGone: (quota) => this.#onLowered(quota),
        onError,
      }),
    ]);
    this.#timers.clear('');
  }

  /** The current counts, for the metrics. */
  watched(): Watched {
    const now = this.#options.clock.elapsed();
    const ages = [...this.#locks.values()].map(({ since }) => (now - since) / 1_000);
    return {
      lockedNamespaces: ages.length,
      raisedQuotas: this.#timers.keys().filter((key) => QUOTA_CHAIN.test(key)).length,
      longestLockSeconds: Math.max(0, ...ages),
    };
  }

  /** The namespace's lock, and for how long this watchdog has seen it, milliseconds; undefined: none that can be read. */
  lockOf(namespace: string): View['lock'] {
    const known = this.#locks.get(namespace);
    if (known?.token === undefined) return undefined;
    return { token: known.token, watchedMs: this.#options.clock.elapsed() - known.since };
  }

  /** Reports that a migration has ended or is gone to the lock that waits for its pod, unless others of that lock still wait. */
  migrationEnded(uid: string): void {
    for (const [namespace, { lock }] of this.#locks) {
      if (lock?.migrations.some((migration) => migration.uid === uid) !== true) continue;
      const others = lock.migrations.filter((migration) => migration.uid !== uid);
      if (!others.some((other) => this.#options.isWaiting?.(other.uid) === true))
        void this.#post(migrationEndedEvent(namespace, lock.token, uid));
    }
  }

  #relist(namespaces: readonly Namespace[]): void {
    const present = new Set(namespaces.map(({ metadata }) => metadata.name));
    for (const name of [...this.#locks.keys()]) if (!present.has(name)) this.#onUnlocked(name);
    for (const namespace of namespaces) {
      const isFound = !this.#locks.has(namespace.metadata.name);
      this.#onLock(namespace);
      // Only the API server's clock knows its age: an expired lock must not wait for another whole lifetime.
      if (isFound) void this.#repair(namespace.metadata.name, undefined);
    }
    this.#options.onListed?.();
  }

  #relistQuotas(quotas: readonly ResourceQuota[]): void {
    const present = new Set(quotas.map(({ metadata }) => metadata.uid));
    for (const quota of [...this.#raised.values()]) {
      if (!present.has(quota.metadata.uid)) this.#onLowered(quota);
    }
    for (const quota of quotas) this.#onRaised(quota);
  }

  #onUnlocked(name: string): void {
    const known = this.#locks.get(name);
    this.#forget(name);
    this.#options.onUnlocked?.(name);
    this.#onLockGone(name, known);
  }

  /** The lock's raised quotas get lowered in any case; for its other quotas, a raise may still be running. */
  #onLockGone(name: string, known: WatchedLock | undefined): void {
    if (known?.lock === undefined || isAllRaised(known.lock, known.wasRaised)) return;
    const { lock } = known;
    // No raise can land, and the fence would be refused for ever.
    if (isUnfenced(lock)) return;
    keepFencing(name, lock, { ...this.#options, timers: this.#timers, nextMs });
  }

  /** Forgets a quota that was lowered or deleted. */
  #onLowered({ metadata }: ResourceQuota): void {
    const before = this.#raised.get(metadata.uid);
    this.#raised.delete(metadata.uid);
    this.#timers.clear(quotaKey(metadata));
    this.#watchStall(metadata.namespace ?? '', before && raisedFor(before));
  }

  #forget(namespace: string): void {
    this.#locks.delete(namespace);
    this.#timers.clear(lockKey(namespace));
  }

  #onLock(namespace: Namespace): void {
    const { name } = namespace.metadata;
    const state = lockOf(namespace);
    if (state.kind === 'none') {
      this.#onUnlocked(name);
      return;
    }
    const identity = identityOf(state);
    const known = this.#locks.get(name);
    if (known?.identity === identity) return;
    this.#options.onLock?.(namespace);
    this.#forget(name);
    // The watch missed that the namespace was unlocked in between.
    if (known?.token !== tokenOf(state)) this.#onLockGone(name, known);
    this.#watchLock(name, state, known);
  }

  #watchLock(
    name: string,
    state: Exclude<LockState, { kind: 'none' }>,
    known: WatchedLock | undefined,
  ): void {
    const token = tokenOf(state);
    const raised = this.#raisedBy(name, token).map(({ metadata }) => metadata.uid);
    const now = this.#options.clock.elapsed();
    const watched = watchedLock(state, known, { now, raised });
    this.#locks.set(name, watched);
    // The watchdog reported the end of these migrations to no lock before it saw this one.
    for (const { uid } of watched.lock?.migrations ?? [])
      if (this.#options.hasEnded?.(uid) === true) this.migrationEnded(uid);
    this.#timers.start(`${lockKey(name)}station`, () => this.#resendEvent(name), {
      firstMs: RESEND_MS.first,
      nextMs: () => RESEND_MS.next,
    });
    const dueMs = dueInMs(state, now - watched.since);
    this.#timers.start(
      `${lockKey(name)}expired`,
      () => this.#post(expiredEvent(name, token, watched.identity)),
      {
        firstMs: Math.max(0, dueMs),
        nextMs,
      },
    );
    this.#timers.start(`${lockKey(name)}overdue`, () => this.#onOverdue(name, token), {
      firstMs: Math.max(0, dueMs + this.#settings.OVERDUE_SECONDS * 1_000),
      nextMs,
    });
  }

  #onOverdue(name: string, token: string | undefined): Promise<void> {
    this.#options.onOverdue?.(name);
    return this.#repair(name, token);
  }

  /** The raised quotas with a grant of this token. */
  #raisedBy(namespace: string, token: string | undefined): ResourceQuota[] {
    const own = [...this.#raised.values()].filter(({ metadata }) => metadata.namespace === namespace);
    return own.filter((quota) => token !== undefined && grantBy(quota, token) !== undefined);
  }

  async #resendEvent(namespace: string): Promise<void> {
    const known = this.#locks.get(namespace);
    if (known?.lock === undefined || known.lock.ended !== undefined) return;
    const { lock } = known;
    const seen = { namespace, ...known, lock, raised: this.#raisedBy(namespace, lock.token) };
    const event = missingEvent(seen);
    if (event?.type === EVENT.namespaceLocked && isHalfRaised(seen)) {
      this.#locks.set(namespace, { ...known, partialRaiseRetries: known.partialRaiseRetries + 1 });
    }
    const watchedMs = this.#options.clock.elapsed() - known.since;
    const isEnded = isLate(lock, watchedMs) && (await this.#takeOver(seen, event));
    if (event !== undefined && !isEnded) await this.#post(event);
  }

  /**
   * Ends a lock whose functions do not react: in any case where only its end is missing, or where a function does not answer, and
   * otherwise if its pods are there. That is safe at any time (I1, I3). Returns whether it ended it in any case.
   */
  async #takeOver({ namespace, lock, raised }: ObservedLock, event: OurEvent | undefined): Promise<boolean> {
    const isEnded = isLeftToEnd(event) || (await this.#options.isAnySilent?.()) === true;
    if (isEnded || raised.length > 0) await this.#repair(namespace, isEnded ? lock.token : undefined);
    return isEnded;
  }

  #onRaised(quota: ResourceQuota): void {
    const { namespace = '', uid } = quota.metadata;
    const before = this.#raised.get(uid);
    this.#raised.set(uid, quota);
    const key = quotaKey(quota.metadata);
    const known = this.#locks.get(namespace);
    if (known !== undefined) this.#locks.set(namespace, withRaised(known, quota));
    // The quota has another token than before: the watch missed that it was lowered.
    if (!isSame(before, quota))
      for (const token of new Set([before, quota].map((each) => each && raisedFor(each))))
        this.#watchStall(namespace, token);
    this.#timers.start(`${key}orphan`, () => this.#onOrphan(uid, namespace), {
      firstMs: ORPHAN_MS,
      nextMs,
    });
  }

  /** Keeps a single timer for each token, as long as a raise of the token is in effect: a lock may have many quotas. */
  #watchStall(namespace: string, token: string | undefined): void {
    if (token === undefined) return;
    const key = stallKey(namespace, token);
    if (!this.#raisedBy(namespace, token).some((raised) => isStanding(raised, token))) {
      this.#timers.clear(key);
      return;
    }
    const waits = { firstMs: this.#settings.STALL_SECONDS * 1_000, nextMs: () => STALL_AGAIN_MS };
    this.#timers.start(key, () => this.#post(stalledEvent(namespace, token)), waits);
  }

  /** Handles a raised quota without its lock: an admin removed the lock by hand, or a forged event unlocked it. */
  async #onOrphan(uid: string, namespace: string): Promise<void> {
    const quota = this.#raised.get(uid);
    const token = quota && raisedFor(quota);
    const known = this.#locks.get(namespace);
    if (quota === undefined || (known !== undefined && (token === undefined || known.token === token)))
      return;
    await this.#post(expiredEvent(namespace, undefined, 'orphan'));
    await this.#repair(namespace, undefined);
    // No unlock follows that would update the VMMRQs' status.
    const cause = `orphan-${String(this.#options.clock.now().getTime())}`;
    await this.#post({ type: EVENT.resyncRequested, from: 'guard', namespace, cause });
  }

  async #post(event: OurEvent): Promise<void> {
    const { type, namespace, token } = event;
    try {
      await this.#options.post(event);
      this.#options.log('info', 'posted', { event: type, namespace, token });
    } catch (error) {
      this.#options.log('warn', `not posted: ${describeError(error)}`, { event: type, namespace, token });
    }
  }

  async #repair(namespace: string, token: string | undefined): Promise<void> {
    try {
      await this.#options.repair(namespace, token);
    } catch (error) {
      this.#options.log('error', `not repaired yet: ${describeError(error)}`, { namespace, token });
    }
  }
}
