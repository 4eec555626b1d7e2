import { keyOf } from '../client-go/cache.ts';
import { decideDecentralized } from '../decentralized/migration-phases.ts';
import { sideOf } from '../decentralized/sides.ts';
import {
  conditionOf,
  decideMigration,
  isFinal,
  isRunning,
  stateOf,
  type Decision,
  type MigrationView,
} from './phases.ts';
import { MigrationWrites } from './writes.ts';
import { ANNOTATIONS, REJECTED_BY_QUOTA } from '../objects/names.ts';
import { cpuSelectorsOf } from '../objects/node-objects.ts';
import { attachmentsOf, currentOf, launchersOf, targetOf } from '../objects/pods.ts';
import { Queue, type Again } from '../client-go/queue.ts';
import { TargetPods } from './target-pods.ts';
import { toTime } from '../client-go/times.ts';
import type { LauncherPod, Vmi, Vmim } from '../objects/types.ts';
import type { World } from '../world.ts';

const WORKERS = 3;

/** Priorities of the queue: what is under way comes first (facts/kubevirt.md §1.5). */
const ACTIVE = 1000;
const PRIORITIES: Readonly<Record<string, number>> = {
  'system-critical': 100,
  'user-triggered': 50,
  'system-maintenance': 20,
};

/** virt-controller's part for migrations (facts/kubevirt.md §1). */
export class MigrationController {
  readonly #world: World;
  readonly #queue: Queue;
  readonly #writes: MigrationWrites;
  readonly #targetPods: TargetPods;

  /** `retryMs`: the first delay of a migration that failed to be worked. */
  constructor(world: World, retryMs?: number) {
    this.#world = world;
    this.#writes = new MigrationWrites(world);
    this.#targetPods = new TargetPods(world, this.#writes);
    this.#queue = new Queue({
      workers: WORKERS,
      work: (key) => this.#reconcile(key),
      priority: (key) => priorityOf(world.migrations.get(key)),
      retryMs,
      clock: world.clock,
      log: world.log,
    });
    world.migrations.onChange(({ object }) => {
      this.#queue.add(keyOf(object));
      // Another migration of its VM may wait for its end.
      if (isFinal(object)) this.#enqueueOf({ ...object.metadata, name: object.spec.vmiName ?? '' });
    });
    world.vmis.onChange(({ object }) => this.#enqueueOf(object.metadata));
    world.pods.onChange(({ object }) => this.#enqueueOfPod(object));
    // New addresses go to every migration that is not over.
    world.kubevirts.onChange(() => {
      for (const migration of world.migrations.all())
        if (sideOf(migration) !== undefined) this.#queue.add(keyOf(migration));
    });
    // Unfiltered updates and deletes of any quota, on which a quota manager relies (facts/kubevirt.md §1.4).
    world.quotas.onChange(({ type, object }) => {
      if (type !== 'added') this.#enqueueRejected(object.metadata.namespace);
    });
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  #enqueueOf(vmi: { name: string; namespace?: string }): void {
    for (const migration of this.#world.migrations.inNamespace(vmi.namespace)) {
      if (migration.spec.vmiName === vmi.name) this.#queue.add(keyOf(migration));
    }
  }

  #enqueueOfPod({ metadata }: LauncherPod): void {
    const name = metadata.annotations?.[ANNOTATIONS.migrationJobName];
    if (name !== undefined) this.#queue.add(`${metadata.namespace ?? ''}/${name}`);
  }

  #enqueueRejected(namespace: string | undefined): void {
    for (const migration of this.#world.migrations.inNamespace(namespace)) {
      if (conditionOf(migration, REJECTED_BY_QUOTA) !== undefined) this.#queue.add(keyOf(migration));
    }
  }

  async #reconcile(key: string): Promise<Again> {
    const migration = this.#world.migrations.get(key);
    if (migration === undefined) return undefined;
    const view = this.#view(migration);
    const decide = sideOf(migration) === undefined ? decideMigration : decideDecentralized;
    return this.#apply(decide(view), view);
  }

  #view(migration: Vmim): MigrationView {
    const { namespace = '' } = migration.metadata;
    const pods = this.#world.pods.inNamespace(namespace);
    const vmi = this.#world.vmis.get(`${namespace}/${migration.spec.vmiName ?? ''}`);
    const launchers = vmi === undefined ? [] : launchersOf(vmi, pods);
    const target = targetOf(migration, launchers);
    const others = this.#world.migrations
      .inNamespace(namespace)
      .filter(({ metadata }) => metadata.uid !== migration.metadata.uid);
    return {
      migration,
      vmi,
      source: vmi === undefined ? undefined : currentOf(vmi, launchers),
      target,
      attachment: target === undefined ? undefined : attachmentsOf(target, pods)[0],
      otherFirst: others.some((other) => wasFirst(other, migration)),
      otherMoves: others.some((other) => !isFinal(other) && stateOf({ migration: other, vmi }) !== undefined),
      ...this.#acrossClusters(vmi, namespace),
      now: toTime(this.#world.clock.now()),
    };
  }

  /** What only migrations between clusters are decided on with. */
  #acrossClusters(
    vmi: Vmi | undefined,
    namespace: string,
  ): Pick<MigrationView, 'addresses' | 'nodeSelectors' | 'claims'> {
    const { kubevirts, nodes, claims } = this.#world;
    return {
      addresses: kubevirts.all()[0]?.status?.synchronizationAddresses,
      nodeSelectors: cpuSelectorsOf(nodes.get(`/${vmi?.status?.nodeName ?? ''}`)),
      claims: claims.inNamespace(namespace),
    };
  }

  async #apply(decision: Decision, view: MigrationView): Promise<Again> {
    if (decision.do === 'wait') return undefined;
    if (decision.do === 'create-target') return this.#targetPods.create(view);
    if (decision.do === 'create-attachment') await this.#targetPods.attach(view);
    else await this.#writes.write(decision, view);
    return undefined;
  }
}

function priorityOf(migration: Vmim | undefined): number {
  if (migration === undefined) return 0;
  return isRunning(migration) ? ACTIVE : (PRIORITIES[migration.spec.priority ?? ''] ?? 0);
}

/** Another migration of the same VMI that is not over and was accepted or created before this one. */
function wasFirst(other: Vmim, migration: Vmim): boolean {
  if (other.spec.vmiName !== migration.spec.vmiName || isFinal(other)) return false;
  const accepted = (other.status?.phase ?? '') !== '';
  return accepted || other.metadata.creationTimestamp < migration.metadata.creationTimestamp;
}
