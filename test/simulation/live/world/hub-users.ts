import { LIVE_ANNOTATION } from '../../../../functions/domain/live/names.ts';
import { PLAN_MIGRATIONS, PROVIDERS } from '../../../../functions/kubernetes/live-resources.ts';
import { Random } from '../../engine/random.ts';
import type { Side } from '../../../cluster/kubevirt/decentralized/sides.ts';
import type { Clusters } from './clusters.ts';
import { MIGRATION_AT, type Hub } from './hub.ts';

const PROVIDER = 'a Provider is deleted';
const RIGHTS = 'the user of the run loses the rights';
const GIVEN_UP = 'the run is given up';
const GIVEN_UP_AWAY = 'the run is given up while a cluster is away';
const WRONG = 'the run is given up by a wrong value';
export const HUB_USER_HITS: readonly string[] = [PROVIDER, RIGHTS, GIVEN_UP, GIVEN_UP_AWAY, WRONG];

const LAST_TURN = 400;
/** Turns, and then milliseconds, that a cluster is away before the run is given up, and again after that. */
const AWAY_FOR = [5, 50];
const AWAY_FOR_MS = [0, 30_000, 70_000];

interface GivenUp {
  readonly at: number;
  readonly isRight: boolean;
  /** Which cluster is away then. */
  readonly away: Side | 'none';
  readonly turns: number;
  readonly takesMs: number;
}

interface HubUsersOptions {
  readonly seed: number;
  readonly clusters: Clusters;
  readonly hub: Hub;
  readonly onHit: (what: string) => void;
}

/** What users do on the hub in some runs only, by numbers of their own: the other runs of a seed stay as they were. */
export class HubUsers {
  readonly #options: HubUsersOptions;
  readonly #givenUp: GivenUp | undefined;
  readonly #provider: { readonly at: number; readonly name: string } | undefined;
  readonly #rightsGoAt: number | undefined;

  constructor(options: HubUsersOptions) {
    const random = new Random(options.seed + 2 ** 43);
    this.#options = options;
    const at = (): number => random.below(LAST_TURN);
    this.#givenUp = random.chance(0.1)
      ? {
          at: at(),
          isRight: random.chance(0.7),
          away: random.pick(['none', 'source', 'target']),
          turns: random.pick(AWAY_FOR),
          takesMs: random.pick(AWAY_FOR_MS),
        }
      : undefined;
    this.#provider = random.chance(0.05)
      ? { at: at(), name: random.pick(['source', 'destination']) }
      : undefined;
    this.#rightsGoAt = random.chance(0.05) ? at() : undefined;
  }

  step(turn: number): void {
    const { hub, clusters, onHit } = this.#options;
    if (this.#givenUp !== undefined) this.#giveUp(turn, this.#givenUp);
    if (turn === this.#provider?.at) {
      onHit(PROVIDER);
      const { namespace } = MIGRATION_AT;
      clusters.try(hub.admin.delete(PROVIDERS, { namespace, name: this.#provider.name }));
    }
    if (turn === this.#rightsGoAt) {
      onHit(RIGHTS);
      hub.forbiddenAt = clusters.now;
    }
  }

  #giveUp(turn: number, { at, away, isRight, turns, takesMs }: GivenUp): void {
    const { clusters, hub, onHit } = this.#options;
    if (away !== 'none' && Math.abs(turn - at) === turns) clusters.away[away] = turn < at;
    if (Math.abs(turn - at) === Math.floor(turns / 2)) clusters.pair.schedule.time.now += takesMs;
    if (turn !== at) return;
    onHit(hitOf({ isRight, away }));
    const value = isRight ? hub.run.migration : hub.run.plan;
    const merge = { metadata: { annotations: { [LIVE_ANNOTATION.breakGlass]: value } } };
    clusters.try(hub.admin.patch(PLAN_MIGRATIONS, MIGRATION_AT, { merge }));
  }
}

function hitOf({ isRight, away }: Pick<GivenUp, 'isRight' | 'away'>): string {
  if (!isRight) return WRONG;
  return away === 'none' ? GIVEN_UP : GIVEN_UP_AWAY;
}
