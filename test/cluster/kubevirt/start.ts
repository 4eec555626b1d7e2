import { joinOthers, type AcrossClusters } from './decentralized/across.ts';
import { GuestTravel } from './decentralized/guest-travel.ts';
import { Transfers } from './decentralized/transfers.ts';
import { systemClock } from '../../../functions/runtime/clock.ts';
import type { Cluster } from '../../../functions/kubernetes/cluster.ts';
import type { Feed, Following, Log } from './client-go/cache.ts';
import { LeaderElection } from './client-go/leader-election.ts';
import { EvacuationController } from './evacuation-controller/controller.ts';
import { Heartbeats } from './nodes/heartbeats.ts';
import { MigrationController } from './migration-controller/controller.ts';
import { Nodes } from './nodes/nodes.ts';
import { DEFAULT_TIMINGS, type Timings } from './nodes/steps.ts';
import type { Release } from './objects/release.ts';
import { VmController } from './vm-controller/controller.ts';
import { VmiController } from './vmi-controller/controller.ts';
import { WorkloadUpdater } from './workload-updater/updater.ts';
import { newWorld, type World } from './world.ts';

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
  /** For migrations to and from other clusters; without it every such migration waits for the other side. */
  readonly acrossClusters?: AcrossClusters;
}

export interface KubeVirtStandIn {
  /** As a crash or a change of the leader: afterwards the address is in the VMIs' own state too. */
  restartSynchronization(): Promise<void>;
  /** As a lost lease without another replica: its synchronization controller does nothing until it is restarted. */
  stopSynchronization(): Promise<void>;
  /** Resolves when its last request is answered. Objects stay as they are. */
  stop(): Promise<void>;
}

export const NODE_NAMES: readonly string[] = ['node1', 'node2', 'node3', 'node4'];

/** All parts of one KubeVirt, which act as soon as their caches are fed. */
export interface Assembly {
  /** In the order in which they are to be filled: a VMI is decided on with its pods known, a migration with its VMI known. */
  readonly caches: readonly Feed[];
  /** Called once, when the caches are filled. */
  begin(): Promise<void>;
  /** As a crash or a change of the leader: afterwards the address is in the VMIs' own state too. */
  restartSynchronization(): Promise<void>;
  /** As a lost lease without another replica: its synchronization controller does nothing until it is restarted. */
  stopSynchronization(): Promise<void>;
  /** Resolves when the last request is answered. */
  stop(): Promise<void>;
}

/** The stand-in without its watches: who feeds the caches decides about the time. */
export function assembleKubeVirt(
  world: World,
  options: Omit<KubeVirtOptions, 'cluster' | 'namespace'>,
): Assembly {
  const { nodes: names = NODE_NAMES, acrossClusters, heartbeatMs } = options;
  const { pods, vms, vmis, migrations, quotas, claims, kubevirts, nodes } = world;
  const across = joinOthers(world, acrossClusters);
  const timings = { ...DEFAULT_TIMINGS, ...options.timings };
  const transfers = acrossClusters?.transfers ?? new Transfers();
  const actors = [
    new VmController(world),
    new VmiController(world),
    new MigrationController(world, options.retryMs),
    new EvacuationController(world),
    new WorkloadUpdater(world, options.updateThrottleMs),
    ...(heartbeatMs === undefined ? [] : [new Heartbeats(world, heartbeatMs)]),
    new Nodes({ ...world, names, timings }),
    new GuestTravel(world, { timings, transfers }),
    across,
  ];
  return {
    caches: [...across.caches, kubevirts, quotas, claims, nodes, pods, vms, vmis, migrations],
    begin: () => across.begin(),
    restartSynchronization: () => across.restart(),
    stopSynchronization: () => across.pause(),
    async stop() {
      await Promise.all(actors.map((actor) => actor.stop()));
      await world.recorder.flush();
    },
  };
}

/**
 * virt-controller, virt-handler, scheduler and kubelet, in this process: driven by watches, faithful to
 * facts/kubevirt.md §1–§2 in what a quota manager can see. Resolves when it has read what exists.
 */
export async function startKubeVirt(options: KubeVirtOptions): Promise<KubeVirtStandIn> {
  const { cluster, namespace, log = () => undefined, release, backoffMs } = options;
  const world = newWorld({
    cluster,
    clock: systemClock,
    log,
    namespace,
    ...(release === undefined ? {} : { release }),
    ...(backoffMs === undefined ? {} : { backoffMs }),
  });
  const assembly = assembleKubeVirt(world, options);
  const election = new LeaderElection(world);
  const watches = new AbortController();
  try {
    const following: Following[] = [];
    for (const cache of assembly.caches) following.push(await cache.start(watches.signal));
    await assembly.begin();
    await election.start();
    return {
      restartSynchronization: () => assembly.restartSynchronization(),
      stopSynchronization: () => assembly.stopSynchronization(),
      async stop() {
        watches.abort();
        await Promise.all(following.map(({ ended }) => ended));
        await Promise.all([assembly.stop(), election.stop()]);
      },
    };
  } catch (error) {
    watches.abort();
    await assembly.stop();
    throw error;
  }
}
