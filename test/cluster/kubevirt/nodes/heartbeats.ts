import { describeError } from '../../../../functions/kubernetes/errors.ts';
import { ANNOTATIONS, LABELS } from '../objects/names.ts';
import { FULL_NODES } from '../objects/node-objects.ts';
import { toTime } from '../client-go/times.ts';
import type { World } from '../world.ts';

/** virt-handler's sign of life: it patches every Node, about once a minute. */
export class Heartbeats {
  readonly #world: World;
  readonly #everyMs: number;
  #cancel: () => void;
  #last: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(world: World, everyMs: number) {
    this.#world = world;
    this.#everyMs = everyMs;
    this.#cancel = world.clock.after(everyMs, () => this.#beat());
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel();
    await this.#last;
  }

  #beat(): void {
    const { nodes, clock } = this.#world;
    const metadata = {
      labels: { [LABELS.schedulable]: 'true' },
      annotations: { [ANNOTATIONS.heartbeat]: toTime(clock.now()) },
    };
    this.#last = Promise.all(nodes.all().map(({ metadata: { name } }) => this.#patch(name, metadata))).then(
      () => {
        if (!this.#stopped) this.#cancel = clock.after(this.#everyMs, () => this.#beat());
      },
    );
  }

  async #patch(name: string, metadata: Record<string, unknown>): Promise<void> {
    const { cluster, log } = this.#world;
    try {
      await cluster.patch(FULL_NODES, { name }, { merge: { metadata } });
    } catch (error) {
      log(`heartbeat of ${name}: ${describeError(error)}`);
    }
  }
}
