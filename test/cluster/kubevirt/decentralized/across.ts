import type { Feed } from '../client-go/cache.ts';
import { Authorities } from './authorities.ts';
import type { Peer, SynchronizationNetwork } from './network.ts';
import { SynchronizationController } from './synchronization-controller.ts';
import type { Transfers } from './transfers.ts';
import type { World } from '../world.ts';

export interface AcrossClusters {
  /** The same object in all clusters. */
  readonly network: SynchronizationNetwork;
  /** The same object in all clusters. */
  readonly transfers: Transfers;
  /** Where the others reach this cluster's synchronization controller: "10.8.0.7:9185". */
  readonly address: string;
  /** PEM of the authority of this cluster's KubeVirt. */
  readonly authority: string;
}

/** The part that only migrations between clusters need; nothing where there is no network to other clusters. */
export interface AcrossPart {
  readonly caches: readonly Feed[];
  /** Called when the caches are filled. */
  begin(): Promise<void>;
  restart(): Promise<void>;
  /** Until the restart there is no synchronization controller. */
  pause(): Promise<void>;
  stop(): Promise<void>;
}

export function joinOthers(world: World, given: AcrossClusters | undefined): AcrossPart {
  const nothing = (): Promise<void> => Promise.resolve();
  if (given === undefined)
    return { caches: [], begin: nothing, restart: nothing, pause: nothing, stop: nothing };
  const { network, address, authority } = given;
  const authorities = new Authorities({ ...world, own: authority });
  const self: Peer = { address, authority: () => authority, bundle: () => authorities.bundle };
  const start = (): SynchronizationController => new SynchronizationController(world, network, self);
  let controller: SynchronizationController | undefined;
  const pause = async (): Promise<void> => {
    await controller?.stop();
    controller = undefined;
  };
  const restart = async (): Promise<void> => {
    await pause();
    // A new process knows of every deletion before it acts.
    await Promise.all([world.vmis.refresh(), world.migrations.refresh()]);
    controller = start();
    await controller.resume();
  };
  return {
    caches: [authorities.cache],
    begin: async () => {
      await authorities.install();
      await restart();
    },
    restart,
    pause,
    stop: async () => {
      await pause();
      await authorities.stop();
    },
  };
}
