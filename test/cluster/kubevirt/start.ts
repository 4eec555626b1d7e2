import { systemClock } from '../../../functions/runtime/clock.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import type { Following, Log } from './cache.ts';
import { EvacuationController } from './evacuation-controller.ts';
import { Heartbeats } from './heartbeats.ts';
import { MigrationController } from './migration-controller.ts';
import { Nodes } from './nodes.ts';
import { DEFAULT_TIMINGS, type Timings } from './node-steps.ts';
import type { Release } from './release.ts';
import { VmiController } from './vmi-controller.ts';
import { WorkloadUpdater } from './workload-updater.ts';
import { newWorld } from './world.ts';

export interface KubeVirtOptions {
  /** Connected as system:serviceaccount:<namespace>:kubevirt-controller, because admission checks the pods' creator. */
  readonly cluster: Cluster;
  /** Where the KubeVirt CR is; 'kubevirt' when left out. */
  readonly namespace?: string;
  /** Names of the nodes; four when left out. Where the cluster has Node objects, launchers go to these only (node-objects.ts). */
  readonly nodes?: readonly string[];
  /** Of virt-controller and of the launchers it creates; that of the recorded histories when left out. */
  readonly release?: Release;
  /** How long an evacuation or an update waits after one that failed, milliseconds; KubeVirt's own when left out. */
  readonly backoffMs?: number;
  /** How long after a change the workload updater looks, milliseconds; KubeVirt's own when left out. */
  readonly updateThrottleMs?: number;
  /** How often virt-handler patches every Node, milliseconds; never when left out. */
  readonly heartbeatMs?: number;
  /** Called with errors that are retried. */
  readonly log?: Log;
  /** How long a refused migration sleeps at first, milliseconds; 5, as KubeVirt's, when left out. */
  readonly retryMs?: number;
  /** What is left out is as in the recorded histories. */
  readonly timings?: Partial<Timings>;
}

export interface KubeVirtStandIn {
  /** Resolves when its last request is answered. Objects stay as they are. */
  stop(): Promise<void>;
}

export const NODE_NAMES: readonly string[] = ['node1', 'node2', 'node3', 'node4'];

/**
 * virt-controller, virt-handler, scheduler and kubelet, in this process: driven by watches, faithful to
 * facts/kubevirt.md §1–§2 in what a quota manager can see. Resolves when it has read what exists.
 */
export async function startKubeVirt(options: KubeVirtOptions): Promise<KubeVirtStandIn> {
  const { cluster, namespace, nodes = NODE_NAMES, log = () => undefined } = options;
  const { release, backoffMs } = options;
  const world = newWorld({
    cluster,
    clock: systemClock,
    log,
    namespace,
    ...(release === undefined ? {} : { release }),
    ...(backoffMs === undefined ? {} : { backoffMs }),
  });
  const { pods, vmis, migrations, quotas, kubevirts } = world;
  const timings = { ...DEFAULT_TIMINGS, ...options.timings };
  const actors = [
    new VmiController(world),
    new MigrationController(world, options.retryMs),
    new EvacuationController(world),
    new WorkloadUpdater(world, options.updateThrottleMs),
    ...(options.heartbeatMs === undefined ? [] : [new Heartbeats(world, options.heartbeatMs)]),
    new Nodes({ ...world, names: nodes, timings }),
  ];
  const watches = new AbortController();
  const stopActors = async (): Promise<void> => {
    await Promise.all(actors.map((actor) => actor.stop()));
    await world.recorder.flush();
  };
  try {
    const following: Following[] = [];
    // In this order: a VMI is decided on with its pods known, a migration with its VMI known.
    for (const cache of [kubevirts, quotas, world.nodes, pods, vmis, migrations]) {
      following.push(await cache.start(watches.signal));
    }
    return {
      async stop() {
        watches.abort();
        await Promise.all(following.map(({ ended }) => ended));
        await stopActors();
      },
    };
  } catch (error) {
    watches.abort();
    await stopActors();
    throw error;
  }
}
