import type { LiveWrite } from '../../../../functions/live/run/decision.ts';

import { ApiError } from '../../../../functions/kubernetes/errors.ts';
import { FULL_MIGRATIONS, VMS } from '../../../cluster/kubevirt/objects/objects.ts';
import { Random } from '../../engine/random.ts';
import { DATA_VOLUMES, type Clusters, type Server } from './clusters.ts';

/** How a write fails at a server that answers. */
export interface Failure {
  readonly error: ApiError;
  /** It took effect all the same: only the answer says otherwise. */
  readonly hasEffect: boolean;
}

type Code = 403 | 500;

/** A server whose writes fail, or that does not answer, from one turn of the run to another one. */
interface Outage {
  readonly on: Server;
  readonly from: number;
  readonly until: number;
  /** Left out: no answer at all. */
  readonly code?: Code;
  /** Time that passes in the middle of it, milliseconds. */
  readonly takesMs: number;
}

const SERVERS: readonly Server[] = ['source', 'target', 'hub'];
const CODES: readonly Code[] = [403, 500];
const LAST_BEGINNING = 300;
/** Turns. */
const TAKES = [5, 50, 300];
/** The last two are longer than a run waits for a write, and for a cluster that was given up. */
const TAKES_MS = [0, 0, 3_000, 120_000, 20 * 60_000];

const singly = (code: Code): string => `a write fails with ${String(code)}`;
const forLong = ({ on, code }: Pick<Outage, 'on' | 'code'>): string =>
  code === undefined ? `${on} API goes for a while` : `${on} fails writes with ${String(code)} for a while`;
const NEVER = 'target never lets a kind be created';
const EFFECT = 'a write fails with 500 and took effect';

export const SERVER_HITS: readonly string[] = [
  ...CODES.map(singly),
  ...SERVERS.flatMap((on) => CODES.map((code) => forLong({ on, code }))),
  forLong({ on: 'hub' }),
  NEVER,
  EFFECT,
];

/** What the API servers do in some runs only, by numbers of their own: the other runs of a seed stay as they were. */
export class Servers {
  readonly #clusters: Clusters;
  readonly #onHit: (what: string) => void;
  readonly #random: Random;
  /** Of single writes. */
  #failRate: number;
  readonly #outages: readonly Outage[];
  readonly #neverCreated: string | undefined;
  #failing: Outage | undefined;

  constructor({ seed, clusters, onHit }: ServersOptions) {
    const random = new Random(seed + 2 ** 42);
    this.#clusters = clusters;
    this.#onHit = onHit;
    this.#random = random;
    this.#failRate = random.chance(0.12) ? random.pick([0.03, 0.1, 0.3]) : 0;
    const refusal = random.chance(0.12) ? [newOutage(random, random.pick(SERVERS), random.pick(CODES))] : [];
    const silence = random.chance(0.08) ? [newOutage(random, 'hub')] : [];
    this.#outages = [...refusal, ...silence];
    const kinds = [VMS.kind, FULL_MIGRATIONS.kind, DATA_VOLUMES.kind];
    this.#neverCreated = random.chance(0.03) ? random.pick(kinds) : undefined;
  }

  step(turn: number): void {
    for (const outage of this.#outages) {
      if (turn === outage.from) this.#begin(outage);
      if (turn === Math.floor((outage.from + outage.until) / 2))
        this.#clusters.pair.schedule.time.now += outage.takesMs;
      if (turn === outage.until) this.#end(outage);
    }
  }

  /** How the write fails; undefined: the server decides. */
  failureOf({ on, verb, object: { kind } }: LiveWrite): Failure | undefined {
    if (on === 'target' && verb === 'create' && kind === this.#neverCreated) {
      this.#onHit(NEVER);
      return this.#fail(403);
    }
    const { code } = this.#failing?.on === on ? this.#failing : {};
    if (code !== undefined) return this.#fail(code);
    if (!this.#random.chance(this.#failRate)) return undefined;
    const picked = this.#random.pick(CODES);
    this.#onHit(singly(picked));
    return this.#fail(picked);
  }

  /** The faults end. A kind that is never created stays so. */
  calm(): void {
    this.#failRate = 0;
    for (const outage of this.#outages) this.#end(outage);
  }

  #begin(outage: Outage): void {
    this.#onHit(forLong(outage));
    if (outage.code === undefined) this.#clusters.away[outage.on] = true;
    else this.#failing = outage;
  }

  #end(outage: Outage): void {
    if (outage.code === undefined) this.#clusters.away[outage.on] = false;
    else this.#failing = undefined;
  }

  #fail(code: Code): Failure {
    const hasEffect = code === 500 && this.#random.chance(0.3);
    if (hasEffect) this.#onHit(EFFECT);
    const [reason, message] =
      code === 403 ? ['Forbidden', 'a policy says no'] : ['InternalError', 'a webhook does not answer'];
    const date = new Date(this.#clusters.now);
    return { error: new ApiError('the write', { code, reason, message }, date), hasEffect };
  }
}

interface ServersOptions {
  readonly seed: number;
  readonly clusters: Clusters;
  readonly onHit: (what: string) => void;
}

function newOutage(random: Random, on: Server, code?: Code): Outage {
  const from = random.below(LAST_BEGINNING);
  const until = from + random.pick(TAKES);
  return { on, from, until, takesMs: random.pick(TAKES_MS), ...(code !== undefined && { code }) };
}
