import type { CrossStep } from '../../../cluster/kubevirt/decentralized/node-steps.ts';
import { Random } from '../../engine/random.ts';
import type { Clusters } from './clusters.ts';
import { DISTURBANCES } from './disturbances.ts';
import type { Hub } from './hub.ts';
import type { Truth } from './truth.ts';

const SLOW = 'the nodes stand still once the guest has arrived';
const LOST = 'the guest is lost just after its arrival';
export const SLOW_NODE_HITS: readonly string[] = [SLOW, LOST];

/** That of the target says that the guest is ready, and not that its migration is complete; that of the source keeps the launcher. */
const HELD: readonly CrossStep[] = ['complete', 'leave'];
/** For so long, milliseconds. */
const TAKES = [300, 5_000, 60_000];
const LOSSES = ['target launcher is lost', 'target launcher fails'];

interface SlowNodesOptions {
  readonly seed: number;
  readonly clusters: Clusters;
  readonly hub: Hub;
  readonly truth: Truth;
  readonly onHit: (what: string) => void;
}

/** Nodes of some runs only, by numbers of their own: the other runs of a seed stay as they were. */
export class SlowNodes {
  readonly #options: SlowNodesOptions;
  readonly #random: Random;
  #isToCome: boolean;

  constructor(options: SlowNodesOptions) {
    this.#options = options;
    this.#random = new Random(options.seed + 2 ** 45);
    this.#isToCome = this.#random.chance(0.06);
  }

  watch(): void {
    const { clusters, truth } = this.#options;
    clusters.pair.transfers.onChange(() => {
      if (this.#isToCome && truth.hasArrived) this.#standStill();
    });
  }

  #standStill(): void {
    this.#isToCome = false;
    const { clusters, hub, onHit } = this.#options;
    const { transfers, schedule } = clusters.pair;
    onHit(SLOW);
    const goOn = HELD.map((step) => transfers.hold(step));
    const takesMs = this.#random.pick(TAKES);
    schedule.later('node', takesMs, () => {
      for (const go of goOn) go();
    });
    if (!this.#random.chance(0.5)) return;
    const lose = DISTURBANCES[this.#random.pick(LOSSES)];
    schedule.later('node', this.#random.below(takesMs), () => {
      if (lose?.({ clusters, hub, random: this.#random }) === true) onHit(LOST);
    });
  }
}
