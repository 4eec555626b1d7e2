import { ApiError } from '../../../../functions/kubernetes/errors.ts';
import { renderAttachmentPod } from '../objects/attachment-pod.ts';
import { backoffMsOf } from '../workload-updater/automated-backoff.ts';
import { isNonRoot } from '../objects/launcher-pod.ts';
import { conditionOf, isFinal, isRunning, newCondition, type MigrationView } from './phases.ts';
import type { MigrationWrites } from './writes.ts';
import { ANNOTATIONS, QUOTA_TEXT, REJECTED_BY_QUOTA } from '../objects/names.ts';
import { LAUNCHER_PODS } from '../objects/objects.ts';
import { isLimitReached, migrationLimits, waitForLimitMs } from './parallel-limits.ts';
import { isOver, launchersOf, targetOf } from '../objects/pods.ts';
import type { Again } from '../client-go/queue.ts';
import { withRetryAfter } from '../client-go/retry-after.ts';
import { toTime } from '../client-go/times.ts';
import type { LauncherPod, Vmi, Vmim } from '../objects/types.ts';
import { configurationOf, textOf, type World } from '../world.ts';
import type { New } from '../../../../functions/kubernetes/cluster.ts';

const ONE_AT_A_TIME_MS = 1000;

/** Creates the second pods of migrations: one at a time in the whole cluster, within the parallel limits. */
export class TargetPods {
  readonly #world: World;
  readonly #writes: MigrationWrites;
  /** Pods created but not yet seen by the watch (client-go's "expectations"). */
  readonly #expected = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(world: World, writes: MigrationWrites) {
    this.#world = world;
    this.#writes = writes;
    world.pods.onChange(({ object }) => this.#expected.delete(object.metadata.uid));
  }

  /**
   * The target launcher. Resolves with a delay when it has to wait its turn: no condition, no event. Rejects when the
   * API server refused: with the event on the VMI, and for an exceeded quota the condition, already written.
   */
  create(view: MigrationView): Promise<Again> {
    const creation = this.#last.then(() => this.#create(view));
    this.#last = creation.catch(() => undefined);
    return creation;
  }

  /** The target's attachment pod. A refusal sets no condition (facts/kubevirt.md §1.3). */
  async attach({ migration, vmi, target }: MigrationView): Promise<void> {
    if (vmi === undefined || target === undefined) return;
    const pod = renderAttachmentPod({ vmi, launcher: target, migration, release: this.#world.release });
    const { metadata } = await this.#post(vmi, pod, (text) => `Error creating attachment pod: ${text}`);
    this.#world.recorder.record(migration, {
      type: 'Normal',
      reason: 'SuccessfulCreate',
      message: `Created attachment pod ${metadata.name}`,
    });
  }

  async #create(view: MigrationView): Promise<Again> {
    const { migration, vmi } = view;
    if (vmi === undefined) return undefined;
    const afterMs = this.#waitMs(migration, vmi);
    if (afterMs > 0) return { afterMs };
    const prepared = await this.#toNonRoot(vmi);
    try {
      await this.#createTarget(migration, prepared);
    } catch (error) {
      const byQuota = error instanceof ApiError && textOf(error).includes(QUOTA_TEXT);
      if (byQuota && conditionOf(migration, REJECTED_BY_QUOTA) === undefined) {
        const known = migration.status?.conditions ?? [];
        await this.#writes.setStatus(migration, {
          conditions: [...known, newCondition(REJECTED_BY_QUOTA, toTime(this.#world.clock.now()))],
        });
      }
      throw error;
    }
    return undefined;
  }

  async #createTarget(migration: Vmim, vmi: Vmi): Promise<void> {
    const configuration = configurationOf(this.#world);
    const quotas = this.#world.quotas.inNamespace(vmi.metadata.namespace);
    const { release } = this.#world;
    const pod = this.#world.renderLauncher({ vmi, migration, configuration, quotas, release });
    const { metadata } = await this.#post(vmi, pod, launcherFailure);
    this.#world.recorder.record(migration, {
      type: 'Normal',
      reason: 'SuccessfulCreate',
      message: `Created migration target pod ${metadata.name}`,
    });
  }

  async #post(
    vmi: Vmi,
    pod: New<LauncherPod>,
    failure: (text: string, vmi: Vmi) => string,
  ): Promise<LauncherPod> {
    const { cluster, clock, pods, recorder } = this.#world;
    try {
      const { object } = await withRetryAfter(clock, () => cluster.create(LAUNCHER_PODS, pod));
      if (!pods.hasSeen(object)) this.#expected.add(object.metadata.uid);
      pods.put(object);
      return object;
    } catch (error) {
      const message = failure(textOf(error), vmi);
      recorder.record(vmi, { type: 'Warning', reason: 'FailedCreate', message });
      throw error;
    }
  }

  /** Until it is looked at again; 0: its target pod may be created. */
  #waitMs(migration: Vmim, vmi: Vmi): number {
    const backoffMs = this.#backoffMs(migration, vmi);
    if (backoffMs > 0) return backoffMs;
    if (this.#isLimitReached(migration, vmi)) return waitForLimitMs(migration.spec.priority);
    return this.#mustWaitItsTurn(vmi) ? ONE_AT_A_TIME_MS : 0;
  }

  /** Records the event of a back-off too. */
  #backoffMs(migration: Vmim, vmi: Vmi): number {
    const { migrations, clock, recorder, backoffMs: firstMs } = this.#world;
    const ofNamespace = migrations.inNamespace(migration.metadata.namespace);
    const backoffMs = backoffMsOf({ migration, migrations: ofNamespace, firstMs, now: clock.now() });
    if (backoffMs > 0) {
      const { namespace = '', name } = vmi.metadata;
      const message = `backoff migrating vmi ${namespace}/${name}`;
      recorder.record(vmi, { type: 'Warning', reason: 'MigrationBackoff', message });
    }
    return backoffMs;
  }

  #isLimitReached(migration: Vmim, vmi: Vmi): boolean {
    const { migrations, vmis, pods } = this.#world;
    const running = migrations.all().filter((other) => {
      if (other.metadata.uid === migration.metadata.uid || isFinal(other)) return false;
      return isRunning(other) || targetOf(other, pods.inNamespace(other.metadata.namespace)) !== undefined;
    });
    const sources = running.map(
      ({ metadata, spec }) => vmis.get(`${metadata.namespace ?? ''}/${spec.vmiName ?? ''}`)?.status?.nodeName,
    );
    return isLimitReached(migrationLimits(configurationOf(this.#world)), sources, vmi.status?.nodeName);
  }

  #mustWaitItsTurn(vmi: Vmi): boolean {
    if (this.#expected.size > 0) return true;
    const launchers = launchersOf(vmi, this.#world.pods.inNamespace(vmi.metadata.namespace));
    return launchers.filter((pod) => !isOver(pod)).length > 1;
  }

  /** A guest that was started as root moves to a launcher that is not. */
  async #toNonRoot(vmi: Vmi): Promise<Vmi> {
    if (isNonRoot(vmi)) return vmi;
    return this.#writes.patchVmi(vmi, {
      metadata: { annotations: { [ANNOTATIONS.nonroot]: 'true' } },
      status: { runtimeUser: 107 },
    });
  }
}

/** Pod Security has a text of its own (KubeVirt pkg/virt-controller/watch/migration/migration.go, createTargetPod). */
const launcherFailure = (text: string, { metadata: { namespace = '', name } }: Vmi): string =>
  text.includes('violates PodSecurity')
    ? `failed to render launch manifest: failed to create target pod for vmi ${namespace}/${name}, it needs a privileged namespace to run: ${text}`
    : `Error creating pod: ${text}`;
