import { newEvacuation } from '../workload-updater/automated-migrations.ts';
import { evacuationOf } from './evacuation.ts';
import { COMPONENT } from '../objects/names.ts';
import { FULL_MIGRATIONS } from '../objects/objects.ts';
import { Queue, type Again } from '../client-go/queue.ts';
import type { Vmi, Vmim } from '../objects/types.ts';
import { configurationOf, textOf, type World } from '../world.ts';

const component = COMPONENT.evacuation;
/** Until a node is looked at again for which no slot was free. */
const FULL_MS = 5_000;

/** virt-controller's part for drains: one migration for each VMI that has to leave its node (facts/kubevirt.md §3.2). */
export class EvacuationController {
  readonly #world: World;
  readonly #queue: Queue;

  constructor(world: World) {
    this.#world = world;
    this.#queue = new Queue({ workers: 1, work: (node) => this.#reconcile(node), ...world });
    world.nodes.onChange(({ object }) => this.#queue.add(object.metadata.name));
    world.vmis.onChange(({ object }) => this.#enqueueNodeOf(object));
    world.migrations.onChange(({ object }) => this.#enqueueNodeOf(this.#vmiOf(object)));
    world.pods.onChange(({ object: { metadata, spec } }) => {
      // A launcher that ends may have been the second one of its VMI.
      if (spec.nodeName !== undefined) this.#enqueueMarked(metadata.namespace);
    });
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  #vmiOf({ metadata, spec }: Vmim): Vmi | undefined {
    return this.#world.vmis.get(`${metadata.namespace ?? ''}/${spec.vmiName ?? ''}`);
  }

  #enqueueNodeOf(vmi: Vmi | undefined): void {
    const node = vmi?.status?.nodeName;
    if (node !== undefined) this.#queue.add(node);
  }

  #enqueueMarked(namespace: string | undefined): void {
    for (const vmi of this.#world.vmis.inNamespace(namespace)) {
      if (vmi.status?.evacuationNodeName !== undefined) this.#enqueueNodeOf(vmi);
    }
  }

  async #reconcile(node: string): Promise<Again> {
    const { nodes, vmis, migrations, pods, recorder } = this.#world;
    const nodeObject = nodes.get(`/${node}`);
    if (nodeObject === undefined && nodes.all().length > 0) return undefined;
    const { toMigrate, notMigratable, isFull } = evacuationOf({
      node,
      nodeObject,
      vmis: vmis.all(),
      migrations: migrations.all(),
      pods: pods.all(),
      configuration: configurationOf(this.#world),
    });
    for (const vmi of notMigratable) {
      const message = 'VirtualMachineInstance is not migrateable';
      recorder.record(vmi, { type: 'Normal', reason: 'FailedCreate', message, component });
    }
    await Promise.all(toMigrate.map((vmi) => this.#migrate(vmi, node)));
    return isFull ? { afterMs: FULL_MS } : undefined;
  }

  async #migrate(vmi: Vmi, node: string): Promise<void> {
    const { cluster, migrations, recorder, release } = this.#world;
    try {
      const { object } = await cluster.create(FULL_MIGRATIONS, newEvacuation(vmi, node, release));
      migrations.put(object);
      const message = `Created Migration ${object.metadata.name}`;
      recorder.record(vmi, { type: 'Normal', reason: 'SuccessfulCreate', message, component });
    } catch (error) {
      const message = `Error creating a Migration: ${textOf(error)}`;
      recorder.record(vmi, { type: 'Warning', reason: 'FailedCreate', message, component });
      throw error;
    }
  }
}
