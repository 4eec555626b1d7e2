import { LISTED_PLAN_MIGRATIONS, LISTED_PLANS } from '../read/listed-live.ts';
import type { Plan, PlanMigration } from '../../domain/live/forklift.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { Cluster, ListedType } from '../../kubernetes/cluster.ts';
import { describeError } from '../../kubernetes/errors.ts';
import { follow, inMap } from '../../kubernetes/follow.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Log } from '../../runtime/log.ts';

export interface LiveWatchesOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly log: Log;
  /** The callback after each list and each change. */
  readonly onChange?: () => void;
}

/** Keeps the state of all Plans and Migrations up to date by a watch each. If Forklift's kinds are not installed, there are none. */
export class LiveWatches {
  readonly #options: LiveWatchesOptions;
  readonly #plans = new Map<string, Plan>();
  readonly #migrations = new Map<string, PlanMigration>();
  readonly #listed = new Set<string>();

  constructor(options: LiveWatchesOptions) {
    this.#options = options;
  }

  get isReady(): boolean {
    return this.#listed.size === KINDS;
  }

  get plans(): Plan[] {
    return [...this.#plans.values()];
  }

  get migrations(): PlanMigration[] {
    return [...this.#migrations.values()];
  }

  /** Runs until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#follow(LISTED_PLANS, this.#plans, signal),
      this.#follow(LISTED_PLAN_MIGRATIONS, this.#migrations, signal),
    ]);
  }

  async #follow<T extends KubernetesObject>(
    type: ListedType<T>,
    map: Map<string, T>,
    signal: AbortSignal,
  ): Promise<void> {
    const { cluster, clock, log, onChange: changed = () => undefined } = this.#options;
    const { onList, onChange, onGone } = inMap(map);
    await follow<T>(
      cluster,
      { type, where: {}, clock, signal, isOptional: true },
      {
        onList: (objects) => {
          onList(objects);
          this.#listed.add(type.plural);
          changed();
        },
        onChange: (object) => {
          onChange(object);
          changed();
        },
        onGone: (object) => {
          onGone(object);
          changed();
        },
        onError: (error) => log('warn', `watching ${type.plural} again: ${describeError(error)}`),
      },
    );
  }
}

const KINDS = 2;
