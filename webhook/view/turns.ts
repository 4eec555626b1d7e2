import type { Clock } from '../../functions/runtime/clock.ts';
import type { OurEvent } from '../../functions/domain/events.ts';
import { EVENT } from '../../functions/domain/names.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import type { Log } from '../../functions/runtime/log.ts';
import { whoseTurn, type ClusterState } from './slots.ts';

export interface TurnTools {
  readonly clock: Clock;
  readonly log: Log;
  readonly post: (event: OurEvent) => Promise<void>;
  /** undefined: not everything has been listed yet. */
  readonly state: () => ClusterState | undefined;
}

/** While a slot is free and a namespace waits. The last wake comes when a lock that was our fault may be tried again (attempt.ts). */
const AGAIN_MS = [1_000, 1_000, 3_500] as const;
/** How often a namespace is woken for one slot before it is another one's turn. */
const TRIES = AGAIN_MS.length + 1;

/**
 * Wakes whose turn it is when a slot of KubeVirt's becomes free: no event of a namespace tells it that a migration of another one is
 * over. While the slot stays free and somebody waits, again a little later, and whoever is next after that.
 */
export class Turns {
  readonly #tools: TurnTools;
  readonly #tries = new Map<string, number>();
  #cancel: (() => void) | undefined;
  #count = 0;

  constructor(tools: TurnTools) {
    this.#tools = tools;
  }

  /** A migration has ended, or a lock is gone. */
  freed(): void {
    this.#tries.clear();
    this.#wake();
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #wake(): void {
    this.stop();
    const state = this.#tools.state();
    if (state === undefined) return;
    const turns = whoseTurn(state, (namespace) => (this.#tries.get(namespace) ?? 0) >= TRIES);
    if (turns.length === 0) return;
    for (const namespace of turns) void this.#ask(namespace);
    const tries = Math.max(...turns.map((namespace) => this.#tries.get(namespace) ?? 0));
    const againMs = AGAIN_MS[tries - 1] ?? AGAIN_MS[0];
    this.#cancel = this.#tools.clock.after(againMs, () => this.#wake());
  }

  async #ask(namespace: string): Promise<void> {
    const { post, log } = this.#tools;
    this.#tries.set(namespace, (this.#tries.get(namespace) ?? 0) + 1);
    this.#count += 1;
    const cause = `slot-${String(this.#tools.clock.now().getTime())}-${String(this.#count)}`;
    try {
      await post({ type: EVENT.sweepRequested, from: 'guard', namespace, cause });
    } catch (error) {
      log('warn', `not posted: ${describeError(error)}`, { event: EVENT.sweepRequested, namespace });
    }
  }
}
