import { isNotFound } from '../../../../functions/kubernetes/errors.ts';
import { keyOf } from '../client-go/cache.ts';
import { endedStatus, type Timings } from '../nodes/steps.ts';
import { LABELS } from '../objects/names.ts';
import { FULL_VMIS, LAUNCHER_PODS } from '../objects/objects.ts';
import { isOver, launchersOf } from '../objects/pods.ts';
import { Queue } from '../client-go/queue.ts';
import { toTime } from '../client-go/times.ts';
import type { LauncherPod, Vmi } from '../objects/types.ts';
import { addressOf, type World } from '../world.ts';
import {
  crossPatch,
  crossStep,
  endOf,
  isVmiStep,
  TIMING_OF_CROSSING,
  transferIdOf,
  type CrossStep,
  type CrossVmiStep,
} from './node-steps.ts';
import type { Transfers } from './transfers.ts';

export interface TravelOptions {
  readonly timings: Timings;
  /** The same object in all clusters. */
  readonly transfers: Transfers;
}

/** virt-handlers and launchers of one cluster, as far as guests leave for other clusters and come from them. */
export class GuestTravel {
  readonly #world: World;
  readonly #options: TravelOptions;
  readonly #queue: Queue;

  constructor(world: World, options: TravelOptions) {
    this.#world = world;
    this.#options = options;
    const { vmis, pods } = world;
    this.#queue = new Queue({ workers: 10, work: (key) => this.#work(key), ...world });
    options.transfers.onChange(() => {
      for (const vmi of vmis.all()) this.#plan(vmi);
    });
    vmis.onChange(({ type, object }) => {
      if (type !== 'deleted') this.#plan(object);
    });
    pods.onChange(({ type, object }) => {
      const { uid, namespace, labels } = object.metadata;
      if (type === 'deleted' || isOver(object)) options.transfers.lose(uid, labels?.[LABELS.migrationJobUid]);
      for (const vmi of vmis.inNamespace(namespace)) this.#plan(vmi);
    });
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  /** One timer for each step of each attempt. */
  #plan(vmi: Vmi): void {
    const step = this.#stepOf(vmi);
    if (step === undefined) return;
    const key = [step, keyOf(vmi), vmi.metadata.uid, transferIdOf(vmi)].join(' ');
    const timing = this.#clearsSides(step, vmi) ? 'leaveMs' : TIMING_OF_CROSSING[step];
    this.#queue.add(key, this.#options.timings[timing]);
  }

  /** The last step: the VMIM is over by then, and without its finalizer (recorded: cross-sides-cleared-next-crash). */
  #clearsSides(step: CrossStep, { status }: Vmi): boolean {
    const hasFailed = status?.migrationState?.failed === true;
    return step === 'clear-receiver' && !this.#options.transfers.keepsSides && !hasFailed;
  }

  #stepOf(vmi: Vmi): CrossStep | undefined {
    const { transfers } = this.#options;
    const transfer = transfers.stateOf(transferIdOf(vmi));
    const step = crossStep({ vmi, launchers: this.#launchersOf(vmi), transfer });
    return step === undefined || transfers.isHeld(step) ? undefined : step;
  }

  #launchersOf(vmi: Vmi): LauncherPod[] {
    return launchersOf(vmi, this.#world.pods.inNamespace(vmi.metadata.namespace));
  }

  async #work(key: string): Promise<undefined> {
    const [planned, name = ''] = key.split(' ');
    const vmi = this.#world.vmis.get(name);
    const step = vmi === undefined ? undefined : this.#stepOf(vmi);
    if (vmi === undefined || step === undefined || step !== planned) return;
    try {
      if (step === 'transfer') this.#options.transfers.finish(transferIdOf(vmi));
      else if (isVmiStep(step)) await this.#patchVmi(step, vmi);
      else await this.#endLauncher(step, vmi);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #patchVmi(step: CrossVmiStep, vmi: Vmi): Promise<void> {
    const { transfers } = this.#options;
    const id = transferIdOf(vmi);
    // libvirt first: a guest that has arrived cannot be called back.
    if (step === 'abort-sending' && !transfers.abort(id)) return;
    if (step === 'go-post-copy' && !transfers.goPostCopy(id)) return;
    const { cluster, vmis } = this.#world;
    const merge = crossPatch(step, vmi, { now: this.#now(), keepsSides: transfers.keepsSides });
    // It may die meanwhile, and the transfer with it.
    const launcher = endOf(vmi, this.#launchersOf(vmi));
    vmis.put((await cluster.patch(FULL_VMIS, addressOf(vmi), { merge })).object);
    const isJoining = step === 'send' || step === 'detect-guest';
    if (isJoining && launcher !== undefined) transfers.join(id, launcher.metadata.uid);
  }

  async #endLauncher(step: CrossStep, vmi: Vmi): Promise<void> {
    const launcher = endOf(vmi, this.#launchersOf(vmi));
    if (launcher === undefined) return;
    const { cluster, pods } = this.#world;
    const hasFailed = step === 'break-receiver' || step === 'empty-receiver';
    const status = endedStatus(this.#now(), hasFailed ? 'Failed' : 'Succeeded');
    const change = {
      merge: { metadata: { uid: launcher.metadata.uid }, status },
      subresource: 'status',
    } as const;
    pods.put((await cluster.patch(LAUNCHER_PODS, addressOf(launcher), change)).object);
  }

  #now(): string {
    return toTime(this.#world.clock.now());
  }
}
