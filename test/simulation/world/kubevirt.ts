import type { Clock } from '../../../functions/runtime/clock.ts';
import type { KubernetesObject, ResourceList } from '../../../functions/domain/objects.ts';
import type { Cluster, ResourceType } from '../../../functions/kubernetes/cluster.ts';
import { RESOURCE_QUOTAS } from '../../../functions/kubernetes/resources.ts';
import type { Cache } from '../../cluster/kubevirt/client-go/cache.ts';
import { MigrationController } from '../../cluster/kubevirt/migration-controller/controller.ts';
import { LAUNCHER } from '../../cluster/kubevirt/objects/names.ts';
import { DEFAULT_TIMINGS } from '../../cluster/kubevirt/nodes/steps.ts';
import { Nodes } from '../../cluster/kubevirt/nodes/nodes.ts';
import {
  FULL_KUBEVIRTS,
  FULL_MIGRATIONS,
  FULL_VMIS,
  LAUNCHER_PODS,
} from '../../cluster/kubevirt/objects/objects.ts';
import { newWorld } from '../../cluster/kubevirt/world.ts';
import { Cache as Informer } from '../model/cache.ts';
import type { Change, Store } from '../model/store.ts';
import { appOf, launcherPod, unnamed } from './objects.ts';
import type { Random } from '../engine/random.ts';
import type { Schedule } from '../engine/schedule.ts';
import type { Durations } from './scenario.ts';

export interface KubeVirtParts {
  readonly store: Store;
  readonly cluster: Cluster;
  readonly schedule: Schedule;
  readonly random: Random;
  /** The requests of a target pod. */
  readonly targetRequests: ResourceList;
  /** Whether virt-controller writes Events. */
  readonly writesEvents: boolean;
  /** Left out: by chance. */
  readonly durations?: Pick<Durations, 'migrationMs' | 'watchMs'> | undefined;
  /** Whether the migration of this UID fails at its end. */
  readonly isFailing: (uid: string) => boolean;
}

const MAX_LAG_MS = 6;
const MIGRATION_MS = { min: 20, max: 4_000 };

/** A process that may stop: what it would do meanwhile, it does when it is back. */
export class Stoppable {
  #isDown = false;
  readonly #waiting: (() => void)[] = [];

  get isDown(): boolean {
    return this.#isDown;
  }

  set isDown(isDown: boolean) {
    this.#isDown = isDown;
    if (!isDown) for (const work of this.#waiting.splice(0)) work();
  }

  whenUp(work: () => void): void {
    if (this.#isDown) this.#waiting.push(work);
    else work();
  }
}

/**
 * Starts the stand-in of test/cluster/kubevirt in virtual time. Its caches lag a little. The VMI controller and the scheduler are
 * left out: every VM runs from the beginning, and a target pod is created on its node.
 */
export function startKubeVirt(parts: KubeVirtParts): Stoppable {
  const { store, cluster, schedule, random, targetRequests: requests, writesEvents, isFailing } = parts;
  const maxLagMs = parts.durations?.watchMs ?? MAX_LAG_MS;
  const process = new Stoppable();
  const world = newWorld({
    cluster,
    clock: clockOf(schedule, process),
    log: () => undefined,
    renderLauncher: ({ vmi, migration }) => unnamed(launcherPod(vmi, { migration, requests })),
    ...(writesEvents ? {} : { recorder: { record: () => undefined, flush: () => Promise.resolve() } }),
  });
  const timings = {
    ...DEFAULT_TIMINGS,
    migrationMs: parts.durations?.migrationMs ?? random.between(MIGRATION_MS.min, MIGRATION_MS.max),
  };
  new MigrationController(world);
  new Nodes({ ...world, names: [], timings, isFailing });

  const follow = <T extends KubernetesObject>({ kind }: ResourceType<T>, cache: Cache<T>): void => {
    const see = ({ type, object }: Pick<Change, 'type' | 'object'>): void => {
      // Like the selector of KubeVirt's informer, this leaves out the tenants' pods.
      if (kind !== LAUNCHER_PODS.kind || appOf(object) === LAUNCHER) cache.see({ type, object: object as T });
    };
    for (const object of store.list(kind)) see({ type: 'ADDED', object });
    const informer = new Informer(store, kind, see);
    store.onChange((change) => {
      if (change.kind === kind)
        schedule.later('kubevirt', random.below(maxLagMs), () => process.whenUp(() => informer.catchUp()));
    });
  };
  follow(FULL_VMIS, world.vmis);
  follow(LAUNCHER_PODS, world.pods);
  follow(RESOURCE_QUOTAS, world.quotas);
  follow(FULL_MIGRATIONS, world.migrations);
  follow(FULL_KUBEVIRTS, world.kubevirts);
  return process;
}

/** A due timer also waits for its turn, and for its process. */
export const clockOf = (schedule: Schedule, process: Pick<Stoppable, 'whenUp'>): Clock => ({
  elapsed: () => schedule.time.now,
  now: () => new Date(schedule.time.now),
  after: (ms, work) => {
    let isCancelled = false;
    schedule.later('kubevirt', ms, () =>
      process.whenUp(() => {
        if (!isCancelled) work();
      }),
    );
    return () => void (isCancelled = true);
  },
});
