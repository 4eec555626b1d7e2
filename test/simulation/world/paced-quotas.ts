import type { QuotaController, QuotaToSync } from '../model/quota-controller.ts';
import type { Store } from '../model/store.ts';
import type { Random } from '../engine/random.ts';
import type { Schedule } from '../engine/schedule.ts';

export interface PacedQuotasParts {
  readonly controller: QuotaController;
  readonly store: Store;
  readonly schedule: Schedule;
  readonly random: Random;
  /** The controller takes less than this for each quota, milliseconds. */
  readonly maxMs: number;
}

/** The pace of kube-controller-manager: the model's quota controller acts only when a caller starts a sync. */
export class PacedQuotas {
  /** The controller is suspended. */
  isDown = false;
  /** It never syncs again. */
  isGone = false;
  readonly #parts: PacedQuotasParts;
  readonly #syncing = new Set<string>();

  constructor(parts: PacedQuotasParts) {
    this.#parts = parts;
  }

  /** From now on the controller syncs each queued quota after a delay. */
  start(): void {
    this.#parts.store.onChange(() => this.#look());
    this.#look();
  }

  /** Its resync, every five minutes. */
  recount(): void {
    this.#parts.controller.resync();
    this.#look();
  }

  #look(): void {
    const { controller, schedule, random, maxMs } = this.#parts;
    for (const pending of controller.pending()) {
      const key = `${pending.namespace}/${pending.name}`;
      if (this.#syncing.has(key)) continue;
      this.#syncing.add(key);
      const ms = schedule.isCalm ? 10 : random.below(maxMs);
      schedule.later(
        'quota controller',
        ms,
        () =>
          void this.#sync(pending)
            .finally(() => this.#syncing.delete(key))
            .then(() => this.#look()),
      );
    }
  }

  async #sync(pending: QuotaToSync): Promise<void> {
    const { controller, schedule } = this.#parts;
    while (this.isDown)
      await new Promise<void>((resolve) => schedule.later('quota controller', 100, resolve));
    // What it would have done is never done.
    if (this.isGone) await new Promise(() => undefined);
    await controller.sync(pending);
  }
}
