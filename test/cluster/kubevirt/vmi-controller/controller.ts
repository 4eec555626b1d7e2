import type { New } from '../../../../functions/kubernetes/cluster.ts';
import { renderAttachmentPod } from '../objects/attachment-pod.ts';
import { keyOf } from '../client-go/cache.ts';
import { ANNOTATIONS } from '../objects/names.ts';
import { FULL_VMIS, LAUNCHER_PODS, type FullClaim } from '../objects/objects.ts';
import { attachmentsOf, currentOf, isLauncher, isOver, launchersOf } from '../objects/pods.ts';
import { Queue } from '../client-go/queue.ts';
import { withRetryAfter } from '../client-go/retry-after.ts';
import { toTime } from '../client-go/times.ts';
import type { LauncherPod, Vmi } from '../objects/types.ts';
import { decideVmi, whenRefused } from './phases.ts';
import type { Merge, VmiDecision, VmiView } from './view.ts';
import { addressOf, configurationOf, textOf, vmOf, type World } from '../world.ts';

const WORKERS = 10;

/** virt-controller's part for VMIs: their launcher and attachment pods, and their status up to Scheduled. */
export class VmiController {
  readonly #world: World;
  readonly #queue: Queue;

  constructor(world: World) {
    this.#world = world;
    this.#queue = new Queue({ workers: WORKERS, work: (key) => this.#reconcile(key), ...world });
    world.vmis.onChange(({ object }) => this.#queue.add(keyOf(object)));
    world.pods.onChange(({ object }) => this.#enqueueOwner(object));
    world.vms.onChange(({ type, object }) => {
      if (type === 'deleted') this.#queue.add(keyOf(object));
    });
    world.claims.onChange(({ object }) => this.#enqueueUsers(object));
  }

  /** Looks at the VMI a launcher or attachment pod belongs to. */
  #enqueueOwner({ metadata }: LauncherPod): void {
    const { annotations = {}, namespace = '' } = metadata;
    const name = annotations[ANNOTATIONS.domain] ?? annotations[ANNOTATIONS.ownerVmiName];
    if (name !== undefined) this.#queue.add(`${namespace}/${name}`);
  }

  #enqueueUsers({ metadata }: FullClaim): void {
    for (const vmi of this.#world.vmis.inNamespace(metadata.namespace)) {
      if (vmi.spec.volumes.some(({ persistentVolumeClaim: claim }) => claim?.claimName === metadata.name))
        this.#queue.add(keyOf(vmi));
    }
  }

  stop(): Promise<void> {
    return this.#queue.stop();
  }

  async #reconcile(key: string): Promise<undefined> {
    const vmi = this.#world.vmis.get(key);
    if (vmi !== undefined) await this.#apply(vmi, decideVmi(this.#view(vmi)));
  }

  #view(vmi: Vmi): VmiView {
    const { namespace } = vmi.metadata;
    const pods = this.#world.pods.inNamespace(namespace);
    const launchers = launchersOf(vmi, pods);
    const current = currentOf(vmi, launchers);
    return {
      vmi,
      launchers,
      current,
      attachments: current === undefined ? [] : attachmentsOf(current, pods),
      leftovers: launchers.filter(isOver).flatMap((launcher) => attachmentsOf(launcher, pods)),
      quotas: this.#world.quotas.inNamespace(namespace),
      claims: this.#world.claims.inNamespace(namespace),
      hasOwner: vmOf(vmi, this.#world.vms) !== undefined,
      configuration: configurationOf(this.#world),
      release: this.#world.release,
      now: toTime(this.#world.clock.now()),
    };
  }

  async #apply(vmi: Vmi, decision: VmiDecision): Promise<void> {
    const { cluster, pods } = this.#world;
    switch (decision.do) {
      case 'wait':
        return;
      case 'patch':
        await this.#patch(vmi, decision.merge);
        return;
      case 'patch-pod': {
        const { pod, merge, subresource } = decision;
        const change = { merge, ...(subresource === undefined ? {} : { subresource }) };
        pods.put((await cluster.patch(LAUNCHER_PODS, addressOf(pod), change)).object);
        return;
      }
      case 'delete-pods':
        for (const pod of decision.pods) await this.#delete(vmi, pod);
        return;
      case 'create-launcher':
        await this.#createLauncher(vmi);
        return;
      case 'create-attachment':
        await this.#create(
          vmi,
          renderAttachmentPod({ vmi, launcher: decision.launcher, release: this.#world.release }),
          'attachment pod',
        );
    }
  }

  async #createLauncher(vmi: Vmi): Promise<void> {
    const configuration = configurationOf(this.#world);
    const quotas = this.#world.quotas.inNamespace(vmi.metadata.namespace);
    try {
      const { release, renderLauncher } = this.#world;
      await this.#create(vmi, renderLauncher({ vmi, configuration, quotas, release }), 'pod');
    } catch (error) {
      const merge = whenRefused(vmi, textOf(error), toTime(this.#world.clock.now()));
      if (merge !== undefined) await this.#patch(vmi, merge);
      throw error;
    }
  }

  async #delete(vmi: Vmi, pod: LauncherPod): Promise<void> {
    await this.#world.cluster.delete(LAUNCHER_PODS, addressOf(pod));
    if (!isLauncher(pod)) return;
    const message = `Deleted virtual machine pod ${pod.metadata.name}`;
    this.#world.recorder.record(vmi, { type: 'Normal', reason: 'SuccessfulDelete', message });
  }

  async #patch(vmi: Vmi, merge: Merge): Promise<void> {
    const { cluster, vmis } = this.#world;
    vmis.put((await cluster.patch(FULL_VMIS, addressOf(vmi), { merge })).object);
  }

  async #create(vmi: Vmi, pod: New<LauncherPod>, what: 'pod' | 'attachment pod'): Promise<void> {
    const { cluster, clock, pods, recorder } = this.#world;
    const create = withRetryAfter(clock, () => cluster.create(LAUNCHER_PODS, pod));
    const created = await create.catch((error: unknown) => {
      recorder.record(vmi, {
        type: 'Warning',
        reason: 'FailedCreate',
        message: `Error creating ${what}: ${textOf(error)}`,
      });
      throw error;
    });
    pods.put(created.object);
    const message = `Created ${what === 'pod' ? 'virtual machine pod' : what} ${created.object.metadata.name}`;
    recorder.record(vmi, { type: 'Normal', reason: 'SuccessfulCreate', message });
  }
}
