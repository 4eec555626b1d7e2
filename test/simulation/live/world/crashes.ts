import { FULL_MIGRATIONS, VMS } from '../../../cluster/kubevirt/objects/objects.ts';
import type { Side } from '../../../cluster/kubevirt/decentralized/sides.ts';
import type { Vmim } from '../../../cluster/kubevirt/objects/types.ts';
import { Random } from '../../engine/random.ts';
import type { Clusters } from './clusters.ts';
import { DISTURBANCES } from './disturbances.ts';
import type { Hub } from './hub.ts';

/** What was recorded on 2026-11-29 (test/recorded), each as a name in the table of hits. */
const AFTER_ARRIVAL = 'the guest fails just after its arrival';
const TARGET_AWAY = 'the source fails and the target is away once the guest is active there';
const SOURCE_FAILS = 'the source fails in the copy';
const LEASE = 'the target synchronization loses its lease in the copy';
const EDITED = 'the source VM is edited in the copy';
export const CRASH_HITS: readonly string[] = [AFTER_ARRIVAL, TARGET_AWAY, SOURCE_FAILS, LEASE, EDITED];

/** Milliseconds. */
const WITHIN = { arrival: 3_000, copy: 900, active: 200 };
const AWAY_FOR = [2_000, 30_000, 20 * 60_000];

interface CrashesOptions {
  readonly seed: number;
  readonly clusters: Clusters;
  readonly hub: Hub;
  readonly onHit: (what: string) => void;
}

/** One crash of some runs at a recorded moment, by numbers of its own: the other runs of a seed stay as they were. */
export class Crashes {
  readonly #options: CrashesOptions;
  readonly #random: Random;
  readonly #what: string | undefined;
  #isToCome = true;
  /** Ends what lasts. */
  readonly #ends: (() => void)[] = [];

  constructor(options: CrashesOptions) {
    this.#options = options;
    this.#random = new Random(options.seed + 2 ** 47);
    this.#what = this.#random.chance(0.35) ? this.#random.pick(CRASH_HITS) : undefined;
  }

  watch(): void {
    const { transfers, stores } = this.#options.clusters.pair;
    if (this.#what === AFTER_ARRIVAL)
      stores.target.onChange(({ kind, object }) => {
        const isOver = kind === FULL_MIGRATIONS.kind && (object as Vmim).status?.phase === 'Succeeded';
        if (isOver) this.#once(WITHIN.arrival, () => this.#fail('target'));
      });
    else if (this.#what === TARGET_AWAY) transfers.onChange(() => this.#watchActive());
    else if (this.#what !== undefined) transfers.onChange(() => this.#watchCopy());
  }

  /** What lasts is over. */
  calm(): void {
    for (const end of this.#ends.splice(0)) end();
  }

  #watchActive(): void {
    const { transfers } = this.#options.clusters.pair;
    if (this.#isToCome && this.#received().some((id) => transfers.stateOf(id) === 'done'))
      this.#leaveTarget();
  }

  #watchCopy(): void {
    if (this.#options.clusters.pair.transfers.running().length === 0) return;
    this.#once(WITHIN.copy, () => {
      if (this.#what === EDITED) return this.#edit();
      if (this.#what === SOURCE_FAILS) return this.#fail('source');
      return this.#loseLease();
    });
  }

  #received(): string[] {
    return this.#options.clusters.vmims('target').map(({ metadata }) => metadata.uid);
  }

  #once(withinMs: number, work: () => boolean): void {
    if (!this.#isToCome) return;
    this.#isToCome = false;
    const { clusters, onHit } = this.#options;
    clusters.pair.schedule.later('node', this.#random.below(withinMs), () => {
      if (work()) onHit(this.#what ?? '');
    });
  }

  #fail(side: Side): boolean {
    const { clusters, hub } = this.#options;
    return DISTURBANCES[`${side} launcher fails`]?.({ clusters, hub, random: this.#random }) === true;
  }

  /** Nothing of the target is seen or written, and the source's launcher does not go as it shall. */
  #leaveTarget(): void {
    const { clusters } = this.#options;
    const { transfers, schedule } = clusters.pair;
    const steps = [transfers.hold('complete'), transfers.hold('leave')];
    clusters.away.target = true;
    const end = (): void => {
      clusters.away.target = false;
      for (const go of steps.splice(0)) go();
    };
    this.#ends.push(end);
    schedule.later('node', this.#random.pick(AWAY_FOR), end);
    this.#once(WITHIN.active, () => this.#fail('source'));
  }

  #loseLease(): boolean {
    const { clusters } = this.#options;
    const { target, schedule } = clusters.pair;
    clusters.try(target.stopSynchronization());
    const end = (): void => clusters.try(target.restartSynchronization());
    this.#ends.push(end);
    schedule.later('node', this.#random.pick(AWAY_FOR), end);
    return true;
  }

  /** Nothing by which it starts or stops (recorded: cross-source-edited). */
  #edit(): boolean {
    const { clusters } = this.#options;
    const { admin, namespace } = clusters.pair.source;
    const vm = clusters.vm('source');
    if (vm === undefined) return false;
    for (const edited of ['once', 'twice', 'again']) {
      const merge = { spec: { template: { metadata: { labels: { edited } } } } };
      clusters.try(admin.patch(VMS, { namespace, name: vm.metadata.name }, { merge }));
    }
    return true;
  }
}
