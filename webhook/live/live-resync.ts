import { inGroups } from '../../functions/cluster/in-groups.ts';
import { isOfOtherType, hasOpenRun } from '../../functions/live/run/state.ts';
import type { ReadyEvent } from '../../functions/eventing/post.ts';
import { type LiveSubject, resyncEventOf } from '../../functions/eventing/live-events.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { lookEvery } from '../view/look-every.ts';
import { LiveWatches, type LiveWatchesOptions } from '../../functions/live/watcher/live-watches.ts';
import { byReference, EVERY_MS, resyncsDue } from './due-resyncs.ts';
import { scaleDownWatcher } from './scale-down-watcher.ts';

export interface LiveResyncOptions extends LiveWatchesOptions {
  readonly post: (event: ReadyEvent) => Promise<void>;
}

const LOOK_MS = 2_000;
/** Milliseconds without a run before the watcher goes down, so that runs one after the other find it up. */
const QUIET_MS = 60_000;

/** Posts resyncs of Plans and Migrations whose events may have been lost, and scales the watcher of other clusters down. */
export class LiveResync {
  readonly #options: LiveResyncOptions;
  readonly #watches: LiveWatches;
  #resyncedAt: ReadonlyMap<string, number> = new Map();
  /** The time since which no Migration runs; undefined if one does, or since the last attempt to scale the watcher down. */
  #quietSince: number | undefined;
  /** Whether no run was under way since the watcher was scaled down. */
  #isScaledDown = false;

  constructor(options: LiveResyncOptions) {
    this.#options = options;
    this.#watches = new LiveWatches({ ...options, onChange: () => this.#noteRuns() });
  }

  /** Returns the number of Migrations that have started, and have not ended. */
  underWay(): number {
    const { plans, migrations } = this.#watches;
    const planOf = byReference(plans);
    return migrations.filter((one) => hasOpenRun(one) && !isOfOtherType(one, planOf(one))).length;
  }

  /** Runs until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    const watching = this.#watches.run(signal);
    await lookEvery(LOOK_MS, () => this.#look(), { clock, log, signal, what: 'live migrations' });
    await watching;
  }

  async #look(): Promise<void> {
    if (this.#watches.isReady) await Promise.all([this.#resync(), this.#scaleDown()]);
  }

  async #resync(): Promise<void> {
    const { plans, migrations } = this.#watches;
    const now = this.#options.clock.elapsed();
    const { due, resyncedAt } = resyncsDue({ plans, migrations, resyncedAt: this.#resyncedAt, now });
    this.#resyncedAt = resyncedAt;
    await inGroups(due, (subject) => this.#post(subject));
  }

  async #post(subject: LiveSubject): Promise<void> {
    const { clock, post, log } = this.#options;
    const turn = Math.floor(clock.now().getTime() / EVERY_MS.synchronizing);
    const event = resyncEventOf(subject, turn);
    await post(event).catch((error: unknown) =>
      log('warn', `not posted: ${describeError(error)}`, { event: event.type, ...subject }),
    );
  }

  /** Notes at each change that a run is under way: it may be shorter than the time between two looks. */
  #noteRuns(): void {
    if (this.underWay() === 0) return;
    this.#quietSince = undefined;
    this.#isScaledDown = false;
  }

  async #scaleDown(): Promise<void> {
    const { cluster, clock, log } = this.#options;
    if (this.#isScaledDown || this.underWay() > 0) return;
    this.#quietSince ??= clock.elapsed();
    if (clock.elapsed() - this.#quietSince < QUIET_MS) return;
    this.#quietSince = undefined;
    // Before the requests: a run that begins meanwhile unsets it.
    this.#isScaledDown = true;
    try {
      const became = await scaleDownWatcher(cluster);
      if (became === 'scaled down') log('info', 'the watcher of other clusters is scaled down');
      if (became === 'held') this.#isScaledDown = false;
    } catch (error) {
      this.#isScaledDown = false;
      log('warn', `the watcher of other clusters stays up: ${describeError(error)}`);
    }
  }
}
