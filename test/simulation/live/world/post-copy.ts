import { FULL_KUBEVIRTS } from '../../../cluster/kubevirt/objects/objects.ts';
import { Random } from '../../engine/random.ts';
import type { Clusters } from './clusters.ts';
import { DISTURBANCES } from './disturbances.ts';
import type { Hub } from './hub.ts';
import type { Truth } from './truth.ts';

const SPLIT = 'the guest goes into post-copy';
const LOST = 'a guest in post-copy is lost';
export const POST_COPY_HITS: readonly string[] = [SPLIT, LOST];

const LOSSES = [
  'source launcher is lost',
  'source launcher fails',
  'target launcher is lost',
  'target launcher fails',
];
/** When after the beginning of the post-copy, which takes a second. */
const WITHIN_MS = 1_200;

interface PostCopyOptions {
  readonly seed: number;
  readonly clusters: Clusters;
  readonly hub: Hub;
  readonly truth: Truth;
  readonly onHit: (what: string) => void;
}

/** Migrations of some runs only, whose KubeVirts allow post-copy, by numbers of their own: the other runs of a seed stay as they were. */
export class PostCopy {
  readonly #options: PostCopyOptions;
  readonly #random: Random;
  readonly #isAllowed: boolean;
  #isSplit = false;
  #isLost = false;

  constructor(options: PostCopyOptions) {
    this.#options = options;
    this.#random = new Random(options.seed + 2 ** 44);
    this.#isAllowed = this.#random.chance(0.15);
  }

  watch(): void {
    if (!this.#isAllowed) return;
    const { pair } = this.#options.clusters;
    const merge = { spec: { configuration: { migrations: { allowPostCopy: true } } } };
    for (const { admin } of [pair.source, pair.target])
      this.#options.clusters.try(
        admin.patch(FULL_KUBEVIRTS, { namespace: 'kubevirt', name: 'kubevirt' }, { merge }),
      );
    pair.transfers.onChange(() => this.#look());
  }

  #look(): void {
    const { truth, onHit } = this.#options;
    if (truth.isSplit && !this.#isSplit) this.#split();
    if (truth.isLost && !this.#isLost) onHit(LOST);
    this.#isLost = truth.isLost;
  }

  #split(): void {
    const { clusters, hub, onHit } = this.#options;
    this.#isSplit = true;
    onHit(SPLIT);
    if (!this.#random.chance(0.4)) return;
    const lose = DISTURBANCES[this.#random.pick(LOSSES)];
    const scene = { clusters, hub, random: this.#random };
    clusters.pair.schedule.later('node', this.#random.below(WITHIN_MS), () => void lose?.(scene));
  }
}
