import { isNotFound } from '../../../../functions/kubernetes/errors.ts';
import { isChanging, newWorkloadUpdate } from './automated-migrations.ts';
import { keyOf } from '../client-go/cache.ts';
import { evict } from '../virt-api/evict.ts';
import { COMPONENT } from '../objects/names.ts';
import { FULL_KUBEVIRTS, FULL_MIGRATIONS, type FullKubeVirt } from '../objects/objects.ts';
import { currentOf, launchersOf } from '../objects/pods.ts';
import { Queue, type Again } from '../client-go/queue.ts';
import type { RecordedEvent } from '../client-go/recorder.ts';
import type { Vmi, Vmim } from '../objects/types.ts';
import { workloadUpdateOf, type WorkloadUpdate } from './update.ts';
import { addressOf, textOf, type World } from '../world.ts';

/** KubeVirt's own: how long after a change it looks. */
const THROTTLE_MS = 5_000;
/** While work is left. KubeVirt's constant has no unit and is 30 ns. */
const AGAIN_MS = 100;
const BATCH_SIZE = 10;
const BATCH_INTERVAL_MS = 60_000;

/** virt-controller's part for upgrades and for changes of running VMIs (facts/kubevirt.md §3.1). */
export class WorkloadUpdater {
  readonly #world: World;
  readonly #queue: Queue;
  readonly #throttleMs: number;
  #nextBatchAt = -Infinity;

  constructor(world: World, throttleMs = THROTTLE_MS) {
    this.#world = world;
    this.#throttleMs = throttleMs;
    this.#queue = new Queue({
      workers: 1,
      work: (key) => this.#reconcile(key),
      retryMs: throttleMs,
      clock: world.clock,
      log: world.log,
    });
    world.kubevirts.onChange(() => this.#enqueue());
    world.migrations.onChange(() => this.#enqueue());
    // As KubeVirt's: the end of a change does not wake it, so the abort comes with the next change of any migration.
    world.vmis.onChange(({ object }) => {
      if (isChanging(object)) this.#enqueue();
    });
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  #enqueue(): void {
    const [kubevirt] = this.#world.kubevirts.all();
    if (kubevirt !== undefined) this.#queue.add(keyOf(kubevirt), this.#throttleMs);
  }

  async #reconcile(key: string): Promise<Again> {
    const { kubevirts, vmis, migrations, release } = this.#world;
    const kubevirt = kubevirts.get(key);
    if (kubevirt === undefined) return undefined;
    const view = { kubevirt, vmis: vmis.all(), migrations: migrations.all(), release };
    const update = workloadUpdateOf(view);
    if (update === undefined) return undefined;
    await this.#report(kubevirt, update.outdated);
    await Promise.all([
      ...update.toMigrate.slice(0, update.newMigrations).map((vmi) => this.#migrate(vmi)),
      ...this.#nextBatch(kubevirt, update).map((vmi) => this.#evict(vmi)),
      ...update.toAbort.flatMap((one) => one.migrations.map((migration) => this.#abort(one.vmi, migration))),
    ]);
    const { toMigrate, toEvict, toAbort } = update;
    return toMigrate.length + toEvict.length + toAbort.length > 0 ? { afterMs: AGAIN_MS } : undefined;
  }

  async #report(kubevirt: FullKubeVirt, outdated: number): Promise<void> {
    if (kubevirt.status?.outdatedVirtualMachineInstanceWorkloads === outdated) return;
    const { cluster, kubevirts } = this.#world;
    const merge = { status: { outdatedVirtualMachineInstanceWorkloads: outdated } };
    const change = { merge, subresource: 'status' } as const;
    kubevirts.put((await cluster.patch(FULL_KUBEVIRTS, addressOf(kubevirt), change)).object);
  }

  async #migrate(vmi: Vmi): Promise<void> {
    const { cluster, migrations, release } = this.#world;
    try {
      const { object } = await cluster.create(FULL_MIGRATIONS, newWorkloadUpdate(vmi, release));
      migrations.put(object);
      const message = `Created Migration ${object.metadata.name} for automated workload update`;
      this.#record(vmi, { type: 'Normal', reason: 'SuccessfulCreate', message });
    } catch (error) {
      const message = `Error creating a Migration for automated workload update: ${textOf(error)}`;
      this.#record(vmi, { type: 'Warning', reason: 'FailedCreate', message });
      throw error;
    }
  }

  /** The VMIs whose launchers are evicted now. */
  #nextBatch({ spec }: FullKubeVirt, { toEvict }: WorkloadUpdate): readonly Vmi[] {
    const { batchEvictionSize = BATCH_SIZE, batchEvictionInterval } = spec?.workloadUpdateStrategy ?? {};
    const now = this.#world.clock.elapsed();
    if (toEvict.length === 0 || now < this.#nextBatchAt) return [];
    this.#nextBatchAt =
      now + (batchEvictionInterval === undefined ? BATCH_INTERVAL_MS : millisecondsOf(batchEvictionInterval));
    return toEvict.slice(0, batchEvictionSize);
  }

  async #evict(vmi: Vmi): Promise<void> {
    const { cluster, pods } = this.#world;
    const launcher = currentOf(vmi, launchersOf(vmi, pods.inNamespace(vmi.metadata.namespace)));
    if (launcher === undefined) return;
    try {
      await evict(cluster, launcher);
      const message = 'Initiated eviction of VMI as part of automated workload update: <nil>';
      this.#record(vmi, { type: 'Normal', reason: 'SuccessfulEvict', message });
    } catch (error) {
      if (isNotFound(error)) return;
      const message = `Error deleting VMI during automated workload update: ${textOf(error)}`;
      this.#record(vmi, { type: 'Warning', reason: 'FailedEvict', message });
      throw error;
    }
  }

  async #abort(vmi: Vmi, migration: Vmim): Promise<void> {
    const { name } = vmi.metadata;
    try {
      await this.#world.cluster.delete(FULL_MIGRATIONS, addressOf(migration));
      this.#record(vmi, {
        type: 'Normal',
        reason: 'SuccessfulChangeAbortion',
        message: `Aborted change for vmi: ${name}`,
      });
    } catch (error) {
      if (isNotFound(error)) return;
      const message = `Failed to abort change for vmi: ${name}: ${textOf(error)}`;
      this.#record(vmi, { type: 'Normal', reason: 'FailedChangeAbortion', message });
      throw error;
    }
  }

  #record(vmi: Vmi, event: RecordedEvent): void {
    this.#world.recorder.record(vmi, { ...event, component: COMPONENT.workloadUpdate });
  }
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Of a duration as Go writes it: "1m30s". */
const millisecondsOf = (duration: string): number =>
  [...duration.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)].reduce(
    (sum, [, amount, unit = '']) => sum + Number(amount) * (UNITS[unit] ?? 0),
    0,
  );
