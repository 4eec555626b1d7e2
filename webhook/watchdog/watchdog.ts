import type { Clock } from '../../functions/runtime/clock.ts';
import type { OurEvent } from '../../functions/domain/events.ts';
import { fingerprint } from '../../functions/domain/fingerprint.ts';
import { grantOf } from '../../functions/domain/quota/grant.ts';
import { lockOf, type LockState } from '../../functions/domain/lock.ts';
import { MAX_LOCK_SECONDS } from '../../functions/runtime/limits.ts';
import { EVENT, LABEL } from '../../functions/domain/names.ts';
import type { Namespace, ResourceQuota } from '../../functions/domain/objects.ts';
import { isRaiseEnforced } from '../../functions/domain/quota/restore.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { follow } from '../../functions/kubernetes/follow.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../functions/kubernetes/resources.ts';
import type { Log } from '../../functions/runtime/log.ts';
import type { Watched } from '../observability/metrics.ts';
import { doubling, Timers } from '../../functions/runtime/timers.ts';

export interface WatchdogSettings {
  readonly STALL_SECONDS: number;
  readonly OVERDUE_SECONDS: number;
}

export interface WatchdogTools {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly log: Log;
  readonly post: (event: OurEvent) => Promise<void>;
  /** Lowers and unlocks in this process; `token`: of the lock that has been watched for its whole life. */
  readonly repair: (namespace: string, token: string | undefined) => Promise<unknown>;
}

const MOST_WAIT_MS = 10_000;
const STALL_AGAIN_MS = 2_000;
/** The lock and the raised quota come by two watches: the one that is late is not missing yet. */
const ORPHAN_MS = 2_000;

/**
 * Watches locked namespaces and raised quotas, both none at rest, with a timer for each token. Says again what an event
 * may have lost, and repairs what nobody repaired. Its clock only measures how long it has seen a token itself.
 */
export class Watchdog {
  readonly #settings: WatchdogSettings;
  readonly #tools: WatchdogTools;
  readonly #timers: Timers;
  /** What was last seen of each locked namespace. */
  readonly #locks = new Map<string, WatchedLock>();

  constructor(settings: WatchdogSettings, tools: WatchdogTools) {
    this.#settings = settings;
    this.#tools = tools;
    this.#timers = new Timers(tools.clock);
  }

  /** Runs until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { cluster, clock, log } = this.#tools;
    const onError = (error: unknown): void => log('warn', `watching again: ${describeError(error)}`);
    const locked = { type: NAMESPACES, where: { labelSelector: `${LABEL.locked}=true` }, signal, clock };
    const raised = { type: RESOURCE_QUOTAS, where: { labelSelector: `${LABEL.raised}=true` }, signal, clock };
    await Promise.all([
      follow(cluster, locked, {
        onList: (namespaces) => this.#relist(namespaces),
        onChange: (namespace) => this.#onLock(namespace),
        onGone: ({ metadata }) => this.#forget(metadata.name),
        onError,
      }),
      follow(cluster, raised, {
        onList: (quotas) => this.#relistQuotas(quotas),
        onChange: (quota) => this.#onRaised(quota),
        onGone: ({ metadata }) => this.#timers.clear(quotaKey(metadata)),
        onError,
      }),
    ]);
    this.#timers.clear('');
  }

  /** What is there now, for the metrics. */
  watched(): Watched {
    const now = this.#tools.clock.elapsed();
    const ages = [...this.#locks.values()].map(({ since }) => (now - since) / 1_000);
    return {
      lockedNamespaces: ages.length,
      raisedQuotas: this.#timers.keys().filter((key) => QUOTA_CHAIN.test(key)).length,
      longestLockSeconds: Math.max(0, ...ages),
    };
  }

  #relist(namespaces: readonly Namespace[]): void {
    const present = new Set(namespaces.map(({ metadata }) => metadata.name));
    for (const name of this.#locks.keys()) if (!present.has(name)) this.#forget(name);
    for (const namespace of namespaces) {
      const isFound = !this.#locks.has(namespace.metadata.name);
      this.#onLock(namespace);
      // How old it is only the API server's clock knows: what is past its time must not wait for a whole life once more.
      if (isFound) void this.#repair(namespace.metadata.name, undefined);
    }
  }

  #relistQuotas(quotas: readonly ResourceQuota[]): void {
    const present = quotas.map(({ metadata }) => quotaKey(metadata));
    for (const key of this.#timers.keys()) {
      if (key.startsWith('quota/') && !present.some((prefix) => key.startsWith(prefix)))
        this.#timers.clear(key);
    }
    for (const quota of quotas) this.#onRaised(quota);
  }

  #forget(namespace: string): void {
    this.#locks.delete(namespace);
    this.#timers.clear(lockKey(namespace));
  }

  #onLock(namespace: Namespace): void {
    const { name } = namespace.metadata;
    const state = lockOf(namespace);
    if (state.kind === 'none') {
      this.#forget(name);
      return;
    }
    const identity = identityOf(state);
    const known = this.#locks.get(name);
    if (known?.identity === identity) return;
    const token = state.kind === 'held' ? state.lock.token : undefined;
    const since = known !== undefined && known.token === token ? known.since : this.#tools.clock.elapsed();
    this.#forget(name);
    this.#locks.set(name, { identity, token, since });
    const lifetimeMs = lifetimeOf(state);
    const nextMs = doubling(MOST_WAIT_MS);
    this.#timers.start(`${lockKey(name)}expired`, () => this.#post(expiredEvent(name, token, identity)), {
      firstMs: lifetimeMs,
      nextMs,
    });
    this.#timers.start(`${lockKey(name)}overdue`, () => this.#repair(name, token), {
      firstMs: lifetimeMs + this.#settings.OVERDUE_SECONDS * 1_000,
      nextMs,
    });
  }

  #onRaised(quota: ResourceQuota): void {
    const { namespace = '' } = quota.metadata;
    const key = quotaKey(quota.metadata);
    const state = grantOf(quota);
    if (state.kind === 'held' && isRaiseEnforced(quota)) {
      const { token } = state.grant;
      const stalled: OurEvent = { type: EVENT.lockStalled, from: 'guard', namespace, token };
      this.#timers.start(`${key}stalled`, () => this.#post(stalled), {
        firstMs: this.#settings.STALL_SECONDS * 1_000,
        nextMs: () => STALL_AGAIN_MS,
      });
    }
    this.#timers.start(`${key}orphan`, () => this.#onOrphan(namespace), {
      firstMs: ORPHAN_MS,
      nextMs: doubling(MOST_WAIT_MS),
    });
  }

  /** A raised quota whose namespace nobody holds: the lock was broken by hand, or its unlock was forged. */
  async #onOrphan(namespace: string): Promise<void> {
    if (this.#locks.has(namespace)) return;
    await this.#post(expiredEvent(namespace, undefined, 'orphan'));
    await this.#repair(namespace, undefined);
    // No unlock comes after this that would have the VMMRQs' status brought up to date.
    await this.#post({
      type: EVENT.sweepRequested,
      from: 'guard',
      namespace,
      cause: `orphan-${String(this.#tools.clock.now().getTime())}`,
    });
  }

  async #post(event: OurEvent): Promise<void> {
    const { type, namespace, token } = event;
    try {
      await this.#tools.post(event);
      this.#tools.log('info', 'posted', { event: type, namespace, token });
    } catch (error) {
      this.#tools.log('warn', `not posted: ${describeError(error)}`, { event: type, namespace, token });
    }
  }

  async #repair(namespace: string, token: string | undefined): Promise<void> {
    try {
      await this.#tools.repair(namespace, token);
    } catch (error) {
      this.#tools.log('error', `not repaired yet: ${describeError(error)}`, { namespace, token });
    }
  }
}

interface WatchedLock {
  /** With its end; or which text cannot be read. */
  readonly identity: string;
  /** undefined: it cannot be read. */
  readonly token: string | undefined;
  /** When this token was first seen here, by the clock's `elapsed`. */
  readonly since: number;
}

/** The same token with an end of its own is another lock to wait for: a raise may end its lock early. */
function identityOf(state: Exclude<LockState, { kind: 'none' }>): string {
  // Part of an event's id, which is a header: what cannot be read may hold anything.
  return state.kind === 'malformed'
    ? `malformed ${fingerprint(state.why)}`
    : `${state.lock.token} ${state.lock.expiresAt}`;
}

/** Milliseconds; by the lock's own two times, so no clock has to agree with another. */
function lifetimeOf(state: Exclude<LockState, { kind: 'none' }>): number {
  if (state.kind === 'malformed') return 0;
  const { acquiredAt, expiresAt } = state.lock;
  const said = Date.parse(expiresAt) - Date.parse(acquiredAt);
  return Math.min(Math.max(said, 0), MAX_LOCK_SECONDS * 1_000);
}

const expiredEvent = (namespace: string, token: string | undefined, cause: string): OurEvent => ({
  type: EVENT.lockExpired,
  from: 'guard',
  namespace,
  ...(token === undefined ? { cause } : { token }),
});

/** Every raised quota has this one. */
const QUOTA_CHAIN = /^quota\/.*\/orphan$/;

const lockKey = (namespace: string): string => `lock/${namespace}/`;

const quotaKey = ({ namespace = '', uid }: { namespace?: string; uid: string }): string =>
  `quota/${namespace}/${uid}/`;
