import { inGroups } from '../../functions/cluster/in-groups.ts';
import { isOfOtherType, isUnderWay } from '../../functions/live/run/state.ts';
import type { ReadyEvent } from '../../functions/eventing/post.ts';
import { type LiveSubject, sweepEventOf } from '../../functions/eventing/live-events.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { lookEvery } from '../view/look-every.ts';
import { LiveWatches, type LiveWatchesOptions } from '../../functions/live/watcher/live-watches.ts';
import { byReference, EVERY_MS, sweepsDue } from './sweeps.ts';
import { restWatcher } from './watcher-scale.ts';

export interface LiveSweepsOptions extends LiveWatchesOptions {
  readonly post: (event: ReadyEvent) => Promise<void>;
}

const LOOK_MS = 2_000;
/** So that runs one after the other find the watcher up. */
const QUIET_MS = 60_000;

/** Wakes `live` about Plans and Migrations whose events may have been lost, and scales the watcher of other clusters down. */
export class LiveSweeps {
  readonly #options: LiveSweepsOptions;
  readonly #watches: LiveWatches;
  #sweptAt: ReadonlyMap<string, number> = new Map();
  /** Since when no Migration runs; undefined: one does, or the watcher was scaled down since the last one. */
  #quietSince: number | undefined;
  #isAtRest = false;

  constructor(options: LiveSweepsOptions) {
    this.#options = options;
    this.#watches = new LiveWatches(options);
  }

  /** Migrations that have started, and have not ended. */
  underWay(): number {
    const { plans, migrations } = this.#watches;
    const planOf = byReference(plans);
    return migrations.filter((one) => isUnderWay(one) && !isOfOtherType(one, planOf(one))).length;
  }

  /** Runs until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const watching = this.#watches.run(signal);
    await lookEvery(LOOK_MS, () => this.#look(), { clock, log, signal, what: 'live migrations' });
    await watching;
  }

  async #look(): Promise<void> {
    if (this.#watches.isReady) await Promise.all([this.#sweep(), this.#rest()]);
  }

  async #sweep(): Promise<void> {
    const { plans, migrations } = this.#watches;
    const now = this.#options.clock.elapsed();
    const { due, sweptAt } = sweepsDue({ plans, migrations, sweptAt: this.#sweptAt, now });
    this.#sweptAt = sweptAt;
    await inGroups(due, (subject) => this.#post(subject));
  }

  async #post(subject: LiveSubject): Promise<void> {
    const { clock, post, log } = this.#options;
    const turn = Math.floor(clock.now().getTime() / EVERY_MS.synchronizing);
    const event = sweepEventOf(subject, turn);
    await post(event).catch((error: unknown) =>
      log('warn', `not posted: ${describeError(error)}`, { event: event.type, ...subject }),
    );
  }

  async #rest(): Promise<void> {
    const { cluster, clock, log } = this.#options;
    if (this.underWay() > 0) {
      this.#quietSince = undefined;
      this.#isAtRest = false;
      return;
    }
    this.#quietSince ??= clock.elapsed();
    if (this.#isAtRest || clock.elapsed() - this.#quietSince < QUIET_MS) return;
    try {
      const became = await restWatcher(cluster);
      if (became === 'scaled down') log('info', 'the watcher of other clusters is scaled down');
      this.#isAtRest = became !== 'held';
      if (!this.#isAtRest) this.#quietSince = undefined;
    } catch (error) {
      this.#quietSince = undefined;
      log('warn', `the watcher of other clusters stays up: ${describeError(error)}`);
    }
  }
}
