import type { Clock } from '../../functions/runtime/clock.ts';
import type { OurEvent } from '../../functions/domain/events.ts';
import { isRejectedByQuota } from '../../functions/domain/migration.ts';
import { EVENT } from '../../functions/domain/names.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import type { Log } from '../../functions/runtime/log.ts';
import {
  migrationsToNotify,
  type ClusterState,
  type MigrationInNamespace,
} from '../../functions/domain/view/slots.ts';

export interface SlotNotifierOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly post: (event: OurEvent) => Promise<void>;
  /** Returns the state; undefined until the watches have listed every kind. */
  readonly state: () => ClusterState | undefined;
}

/** Number of turns of one namespace while a slot stays free, before the next one gets a turn. */
const TRIES = 2;
const AGAIN_MS = 1_000;
/** Number of rounds. The second round is late enough to retry a lock that failed by our own error (attempt.ts). */
const ROUNDS = 2;
const NEXT_ROUND_MS = 4_500;
/** Minimum time between two turns, however many migrations end: a tenant may create and delete them in a loop. */
const MIN_GAP_MS = 100;
/**
 * Rest after a look, as a multiple of its duration. A look goes through every migration; however many end at once, looks take at most
 * a tenth of the guard's time.
 */
const REST_PER_LOOK = 9;

interface Next {
  readonly migrations: readonly MigrationInNamespace[];
  readonly round: number;
}

/**
 * Notifies waiting namespaces when a migration slot becomes free, because they get no event about migrations of other namespaces.
 * Every waiting namespace gets its turn before the second round, because the first one may be unable to migrate.
 */
export class SlotNotifier {
  readonly #options: SlotNotifierOptions;
  readonly #tries = new Map<string, number>();
  /** Turns since the last lock. A namespace that cannot migrate must not delay the others whenever a slot becomes free. */
  readonly #fruitless = new Map<string, number>();
  #cancel: (() => void) | undefined;
  #isStopped = false;
  #count = 0;
  /** Whether a slot may have become free since the last look. */
  #isFreed = false;
  /** The time of the next allowed look, in milliseconds of the clock. */
  #restsUntil = -Infinity;

  constructor(options: SlotNotifierOptions) {
    this.#options = options;
  }

  /** Callers report here that a migration has ended or a lock is gone. */
  freed(): void {
    this.#isFreed = true;
    const restMs = this.#restsUntil - this.#options.clock.elapsed();
    if (restMs > 0) {
      this.#rest();
      this.#notifyAfter(restMs);
    } else this.#notifyNext();
  }

  /** Callers report here that a namespace is locked: its events have an effect, and it needs no more turns. */
  locked(namespace: string): void {
    this.#fruitless.delete(namespace);
    this.#tries.set(namespace, ROUNDS * TRIES);
  }

  /**
   * Whether each namespace that could use a slot now has had its turn. Without a free slot no namespace can, and the turns go on
   * later.
   */
  #isRoundOver(state: ClusterState): boolean {
    const mayGo = migrationsToNotify(state, { isTried: () => false, fruitless: () => 0 });
    return mayGo.length > 0 && this.#next(state)?.round !== 1;
  }

  stop(): void {
    this.#isStopped = true;
    this.#rest();
  }

  #rest(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #notifyNext(): void {
    this.#rest();
    const { clock } = this.#options;
    const began = clock.elapsed();
    const hasNotified = this.#look();
    const ended = clock.elapsed();
    const restMs = (ended - began) * REST_PER_LOOK;
    this.#restsUntil = ended + Math.max(restMs, hasNotified ? MIN_GAP_MS : 0);
  }

  /** Notifies the next namespaces; returns whether it notified any. */
  #look(): boolean {
    const state = this.#options.state();
    if (state === undefined) return false;
    if (this.#isFreed && this.#isRoundOver(state)) this.#tries.clear();
    this.#isFreed = false;
    this.#forget(state);
    const now = this.#next(state);
    if (now === undefined) return false;
    for (const migration of now.migrations) void this.#notify(migration);
    const next = this.#next(state);
    if (next !== undefined) this.#notifyAfter(next.round === now.round ? AGAIN_MS : NEXT_ROUND_MS);
    return true;
  }

  #notifyAfter(ms: number): void {
    if (this.#isStopped) return;
    this.#cancel = this.#options.clock.after(ms, () => this.#notifyNext());
  }

  #next(state: ClusterState): Next | undefined {
    for (let round = 1; round <= ROUNDS; round += 1) {
      const migrations = migrationsToNotify(state, {
        isTried: (namespace) => (this.#tries.get(namespace) ?? 0) >= round * TRIES,
        fruitless: (namespace) => this.#fruitless.get(namespace) ?? 0,
      });
      if (migrations.length > 0) return { migrations, round };
    }
    return undefined;
  }

  /** Resets the counts of each namespace that no longer waits. */
  #forget({ migrations }: ClusterState): void {
    const waiting = new Set(migrations.filter(isRejectedByQuota).map(({ metadata }) => metadata.namespace));
    for (const counts of [this.#tries, this.#fruitless])
      for (const namespace of counts.keys()) if (!waiting.has(namespace)) counts.delete(namespace);
  }

  async #notify({ namespace, name, uid, vmi }: MigrationInNamespace): Promise<void> {
    const { post, log } = this.#options;
    this.#countTurn(namespace, 1);
    this.#count += 1;
    const cause = `slot-${String(this.#options.clock.now().getTime())}-${String(this.#count)}`;
    try {
      const about = { migrations: [{ name, uid }], ...(vmi === undefined ? {} : { vmis: [vmi] }) };
      await post({ type: EVENT.resyncRequested, from: 'guard', namespace, ...about, cause });
    } catch (error) {
      log('warn', `not posted: ${describeError(error)}`, { event: EVENT.resyncRequested, namespace });
      // The namespace had no turn. Perhaps no other slot becomes free, so without a retry it would get no further turn.
      this.#countTurn(namespace, -1);
      if (this.#cancel === undefined) this.#notifyAfter(NEXT_ROUND_MS);
    }
  }

  #countTurn(namespace: string, by: 1 | -1): void {
    const before = this.#tries.get(namespace) ?? 0;
    const tries = before + by;
    // A slot that became free meanwhile began a new count.
    if (tries < 0) return;
    this.#tries.set(namespace, tries);
    if (Math.max(before, tries) % TRIES === 0)
      this.#fruitless.set(namespace, (this.#fruitless.get(namespace) ?? 0) + by);
  }
}
