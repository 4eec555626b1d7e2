import type { OurEvent } from '../../functions/domain/events.ts';
import { isRejectedByQuota } from '../../functions/domain/migration.ts';
import { EVENT } from '../../functions/domain/names.ts';
import { migrationsToNotify, type ClusterState } from '../../functions/domain/view/slots.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import type { Clock } from '../../functions/runtime/clock.ts';
import type { Log } from '../../functions/runtime/log.ts';

export interface LostRefusalsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly post: (event: OurEvent) => Promise<void>;
  /** Returns the state; undefined until the watches have listed every kind. */
  readonly state: () => ClusterState | undefined;
  /** Returns a number from 0 to 1, which lets one of several replicas be first. */
  readonly random: () => number;
}

/** Times after a refusal at which the guard requests a resync: its event is lost, or a function is still starting. */
const RESEND_AFTER_MS = [3_000, 9_000] as const;
const SPREAD_MS = 1_000;
/** Time after which a refusal without a free migration slot is left to the slot notifier and the resync. */
const LEFT_AFTER_MS = 15_000;
/** Minimum time between two looks: each goes through every migration. */
const LOOK_EVERY_MS = 1_000;

/** A timer may fire so much too early. */
const GRAIN_MS = 5;

/** A namespace with a refusal that has no answer yet. */
interface Unanswered {
  /** The time at which the guard saw it, and its part of SPREAD_MS later; milliseconds of the clock. */
  readonly since: number;
  resent: number;
}

/**
 * Requests the resync of a namespace where the guard saw a refusal, and then neither a lock nor a verdict. At most as many at once as
 * KubeVirt has free slots. A verdict of cluster-wide VMMRQs only is an Event, which the guard does not see: that costs two looks.
 */
export class LostRefusals {
  readonly #options: LostRefusalsOptions;
  readonly #unanswered = new Map<string, Unanswered>();
  #cancel: (() => void) | undefined;
  /** The time of the last look, milliseconds of the clock. */
  #lookedAt = -Infinity;

  constructor(options: LostRefusalsOptions) {
    this.#options = options;
  }

  /** A quota begins to refuse a migration of a namespace with a VMMRQ. */
  refused(namespace: string): void {
    const { clock, random } = this.#options;
    if (this.#unanswered.has(namespace)) return;
    this.#unanswered.set(namespace, { since: clock.elapsed() + random() * SPREAD_MS, resent: 0 });
    this.#lookWhenDue();
  }

  /** A step has locked the namespace, or written a verdict. */
  answered(namespace: string): void {
    this.#unanswered.delete(namespace);
    if (this.#unanswered.size === 0) this.stop();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  /** Looks when the next refusal is due; LOOK_EVERY_MS after the last look at the earliest. */
  #lookWhenDue(): void {
    this.stop();
    if (this.#unanswered.size === 0) return;
    const { clock } = this.#options;
    const next = Math.max(
      this.#lookedAt + LOOK_EVERY_MS,
      Math.min(...[...this.#unanswered.values()].map(dueAt)),
    );
    this.#cancel = clock.after(Math.max(0, next - clock.elapsed()), () => this.#look());
  }

  #look(): void {
    this.#lookedAt = this.#options.clock.elapsed();
    const state = this.#options.state();
    if (state !== undefined) this.#resendDue(state);
    this.#lookWhenDue();
  }

  #resendDue(state: ClusterState): void {
    const now = this.#options.clock.elapsed();
    const refused = new Set(
      state.migrations.filter(isRejectedByQuota).map(({ metadata }) => metadata.namespace ?? ''),
    );
    for (const [namespace, { since }] of this.#unanswered)
      if (!refused.has(namespace) || now - since >= LEFT_AFTER_MS) this.#unanswered.delete(namespace);
    const isDue = (namespace: string): boolean => {
      const known = this.#unanswered.get(namespace);
      return known !== undefined && dueAt(known) <= now + GRAIN_MS;
    };
    const next = migrationsToNotify(state, { isTried: (each) => !isDue(each), fruitless: () => 0 });
    for (const { namespace } of next) void this.#resend(namespace);
  }

  async #resend(namespace: string): Promise<void> {
    const { clock, log, post } = this.#options;
    const known = this.#unanswered.get(namespace);
    if (known === undefined) return;
    known.resent += 1;
    if (known.resent >= RESEND_AFTER_MS.length) this.answered(namespace);
    const cause = `refused-${String(clock.now().getTime())}`;
    try {
      await post({ type: EVENT.resyncRequested, from: 'guard', namespace, cause });
    } catch (error) {
      log('warn', `not posted: ${describeError(error)}`, { event: EVENT.resyncRequested, namespace });
    }
  }
}

/** The time at which a refusal is due again, milliseconds of the clock. */
const dueAt = ({ since, resent }: Unanswered): number => since + (RESEND_AFTER_MS[resent] ?? Infinity);
