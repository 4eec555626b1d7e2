import type { IncumbentState } from '../../functions/domain/proof.ts';
import type { View } from '../../functions/domain/view.ts';
import type { Watched } from '../observability/metrics.ts';
import { leavesWaiters, type ClusterState } from '../../functions/domain/view/slots.ts';
import { ClusterView } from '../view/cluster-view.ts';
import { SlotNotifier } from '../view/slot-notifier.ts';
import type { ViewSource } from '../view/view-route.ts';
import { Watches } from '../view/watches.ts';
import { LostRefusals } from './lost-refusals.ts';
import { resync, type SeenObjects, type ResyncOptions } from './resync.ts';
import type { WatchdogSettings } from './watchdog-options.ts';
import { Watchdog } from './watchdog.ts';

export interface ClusterWatchOptions extends Omit<ResyncOptions, 'seen' | 'hurry'> {
  readonly settings: WatchdogSettings & {
    readonly SWEEP_SECONDS: number;
    readonly KUBEVIRT_NAMESPACE: string;
  };
  /**
   * Asks every function of a cycle whether it answers, which starts one without a pod. Resolves with the URLs of those that do not, after
   * `withinMs` at most; never rejects.
   */
  readonly silentFunctions: (withinMs: number) => Promise<readonly string[]>;
}

/** Time from the end of a lock to the look at what it leaves. */
const UNLOCKED_MS = 200;
/** How long a request that starts a function may take, and how long after one no other is needed; milliseconds. */
const PREWARM_MS = { within: 15_000, again: 5_000 } as const;
/** A function that has a pod answers within this time, milliseconds. */
const SILENT_MS = 500;

/** The guard's work beside admission, on one set of watches: cluster view, slot notifier, lost refusals, watchdog and resync. */
export class ClusterWatch implements ViewSource {
  readonly #options: ClusterWatchOptions;
  readonly #view: ClusterView;
  readonly #watches: Watches;
  readonly #watchdog: Watchdog;
  readonly #slotNotifier: SlotNotifier;
  readonly #lostRefusals: LostRefusals;
  /** A number for each namespace with an unfinished migration, which is new after each of its locks. */
  readonly #unlocks = new Map<string, number>();
  #unlockCount = 0;
  #areLocksListed = false;
  /** The time at which it last started the functions, milliseconds of the clock. */
  #prewarmedAt = -Infinity;
  #hurry = new AbortController();

  constructor(options: ClusterWatchOptions) {
    this.#options = options;
    const { settings, cluster, clock, log, post, random } = options;
    const view = new ClusterView(cluster);
    const state = (): ClusterState | undefined => (this.#isReady ? view.state() : undefined);
    const slotNotifier = new SlotNotifier({ clock, log, post, state });
    const lostRefusals = new LostRefusals({ clock, log, post, state, random });
    const watchdog = new Watchdog(settings, {
      ...options,
      onLock: (namespace) => {
        view.setLock(namespace);
        slotNotifier.locked(namespace.metadata.name);
        lostRefusals.answered(namespace.metadata.name);
      },
      isAnySilent: async () => (await options.silentFunctions(SILENT_MS)).length > 0,
      hasEnded: (uid) => this.#isReady && !view.isToCome(uid),
      isWaiting: (uid) => view.isWaiting(uid),
      onOverdue: (name) => {
        view.setOverdue(name);
        slotNotifier.freed();
      },
      onUnlocked: (name) => {
        const held = view.held.get(name);
        view.held.delete(name);
        this.#unlocks.set(name, (this.#unlockCount += 1));
        // Virt-controller says a moment after its pod that a migration goes on.
        clock.after(UNLOCKED_MS, () => {
          if (held === undefined || leavesWaiters(held, [...view.migrations.values()])) slotNotifier.freed();
        });
      },
      onListed: () => {
        if (this.#areLocksListed) return;
        this.#areLocksListed = true;
        slotNotifier.freed();
      },
    });
    this.#view = view;
    this.#slotNotifier = slotNotifier;
    this.#lostRefusals = lostRefusals;
    this.#watchdog = watchdog;
    this.#watches = new Watches(view, {
      ...{ cluster, clock, log, kubevirtNamespace: settings.KUBEVIRT_NAMESPACE },
      onEnded: (uid) => {
        watchdog.migrationEnded(uid);
        slotNotifier.freed();
      },
      onRefused: (namespace) => {
        if (!view.serves(namespace)) return;
        this.#prewarm();
        lostRefusals.refused(namespace);
      },
      // Whatever a verdict says, it is in their status.
      onVmmrq: (namespace) => lostRefusals.answered(namespace),
      onClusterVmmrq: () => {
        this.#hurry.abort();
        this.#hurry = new AbortController();
      },
      onLimits: () => slotNotifier.freed(),
      // Slots may have become free while no guard ran.
      onReady: () => slotNotifier.freed(),
    });
  }

  /** Runs until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { settings, ...options } = this.#options;
    await Promise.all([
      this.#watchdog.run(signal),
      this.#watches.run(signal),
      resync(
        settings.SWEEP_SECONDS,
        { ...options, seen: () => this.#seen(), hurry: () => this.#hurry.signal },
        signal,
      ),
    ]);
    this.#slotNotifier.stop();
    this.#lostRefusals.stop();
  }

  /** Starts every function of a cycle at once, while the source's event is still on its way: one cold start, not one after the other. */
  #prewarm(): void {
    const now = this.#options.clock.elapsed();
    if (now - this.#prewarmedAt < PREWARM_MS.again) return;
    this.#prewarmedAt = now;
    void this.#options.silentFunctions(PREWARM_MS.within);
  }

  viewOf(namespace: string): View | undefined {
    if (!this.#isReady) return undefined;
    const lock = this.#watchdog.lockOf(namespace);
    return { ...this.#view.viewOf(namespace), ...(lock === undefined ? {} : { lock }) };
  }

  /** The whole view; undefined: the watches have not listed every kind yet. */
  cluster(): ClusterView | undefined {
    return this.#isReady ? this.#view : undefined;
  }

  incumbentFor(namespace: string): IncumbentState {
    return this.#watches.incumbentFor(namespace);
  }

  watched(): Watched {
    return this.#watchdog.watched();
  }

  /** Whether the view is complete. Without the locks, slots that they will use would seem free. */
  get #isReady(): boolean {
    return this.#areLocksListed && this.#watches.isReady;
  }

  #seen(): SeenObjects | undefined {
    if (!this.#isReady) return undefined;
    const { vmmrqs, clusterVmmrqs, migrations } = this.#view;
    const open = [...migrations.values()];
    const concerned = new Set(open.map(({ metadata }) => metadata.namespace));
    for (const name of this.#unlocks.keys()) if (!concerned.has(name)) this.#unlocks.delete(name);
    return {
      vmmrqs: [...vmmrqs.values()],
      clusterVmmrqs: [...clusterVmmrqs.values()],
      migrations: open,
      unlocks: this.#unlocks,
      unlockCount: this.#unlockCount,
      incumbent: this.#view.incumbent(),
    };
  }
}
