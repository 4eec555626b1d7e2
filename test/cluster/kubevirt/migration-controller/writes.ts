import { isNotFound } from '../../../../functions/kubernetes/errors.ts';
import { stateAtHandOver } from './state.ts';
import { isFinal, type Decision, type MigrationView, type Status } from './phases.ts';
import { ANNOTATIONS, LABELS, MIGRATION_FINALIZER, OBSERVED_API_VERSIONS } from '../objects/names.ts';
import { FULL_MIGRATIONS, FULL_VMIS, LAUNCHER_PODS } from '../objects/objects.ts';
import { toGoTime } from '../client-go/times.ts';
import type { LauncherPod, Vmi, Vmim } from '../objects/types.ts';
import { addressOf, configurationOf, type World } from '../world.ts';

/** For a GET: false when the answer is that it is not there. */
function isAnswered(error: unknown): false {
  if (isNotFound(error)) return false;
  throw error;
}

/** virt-controller keeps the five newest migrations of a VMI that are over. */
const KEPT = 5;

/** What virt-api's webhook adds, for a migration that was created without it (by kubectl, say): here there is none. */
function admitted({ metadata, spec }: Vmim): Record<string, unknown> {
  if (metadata.finalizers?.includes(MIGRATION_FINALIZER) === true) return {};
  return {
    finalizers: [...(metadata.finalizers ?? []), MIGRATION_FINALIZER],
    labels: { [LABELS.vmiName]: spec.vmiName },
  };
}

/** Nothing holds it: a deletion is at once. */
const isFree = ({ metadata }: Vmim): boolean =>
  metadata.deletionTimestamp === undefined && (metadata.finalizers ?? []).length === 0;

type StatusDecision = Extract<Decision, { do: 'set-status' }>;
type TargetDecision = Extract<Decision, { do: 'delete-target' | 'mark-target-ready' }>;
type VmiDecision = Extract<Decision, { do: 'patch-vmi' }>;
type MetadataDecision = 'observe-api-version' | 'remove-finalizer' | 'delete-migration' | 'collect-garbage';
type Written = Exclude<Decision, { do: 'wait' | 'create-target' | 'create-attachment' }>;

/** Carries out what was decided, one object each. Everything written is put into the caches. */
export class MigrationWrites {
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  write(decision: Written, view: MigrationView): Promise<void> {
    switch (decision.do) {
      case 'set-status':
        return this.#writeStatus(decision, view);
      case 'hand-over':
        return this.#handOver(view);
      case 'patch-vmi':
        return this.#patchState(view, decision);
      case 'delete-target':
      case 'mark-target-ready':
        return this.#writeTarget(view, decision);
      case 'observe-api-version':
      case 'remove-finalizer':
      case 'delete-migration':
      case 'collect-garbage':
        return this.#writeMetadata(view.migration, decision.do);
    }
  }

  /** A PUT, as virt-controller's: a patch would lose the null that its conditions have for a time. */
  async setStatus(migration: Vmim, changed: Status): Promise<void> {
    const { cluster, migrations } = this.#world;
    const { conditions = [], ...status } = { ...migration.status, ...changed };
    // An empty list is left out, as Go does.
    const written = { ...migration, status: conditions.length === 0 ? status : { ...status, conditions } };
    migrations.put((await cluster.replace(FULL_MIGRATIONS, written, { subresource: 'status' })).object);
  }

  /** The VMI as it is after a merge patch. */
  async patchVmi(vmi: Vmi, merge: Record<string, unknown>): Promise<Vmi> {
    const { object } = await this.#world.cluster.patch(FULL_VMIS, addressOf(vmi), { merge });
    this.#world.vmis.put(object);
    return object;
  }

  async #writeStatus(decision: StatusDecision, { migration, vmi }: MigrationView): Promise<void> {
    const { status, state, event } = decision;
    if (state !== undefined && vmi !== undefined) {
      await this.patchVmi(vmi, { status: { migrationState: state } });
    }
    await this.setStatus(migration, status);
    if (event !== undefined) this.#world.recorder.record(migration, event);
  }

  async #writeMetadata(migration: Vmim, what: MetadataDecision): Promise<void> {
    switch (what) {
      case 'observe-api-version':
        return this.#patchMetadata(migration, { annotations: OBSERVED_API_VERSIONS, ...admitted(migration) });
      case 'remove-finalizer': {
        const others = migration.metadata.finalizers?.filter((name) => name !== MIGRATION_FINALIZER) ?? [];
        return this.#patchMetadata(migration, { finalizers: others });
      }
      case 'delete-migration':
        return this.#deleteWithoutVmi(migration);
      case 'collect-garbage':
        return this.#collectGarbage(migration);
    }
  }

  /** The watch of the migrations may be ahead of the VMIs': ask before it is deleted for good. */
  async #deleteWithoutVmi(migration: Vmim): Promise<void> {
    const { cluster } = this.#world;
    const { name, namespace } = addressOf(migration);
    const there = await cluster
      .get(FULL_VMIS, { namespace, name: migration.spec.vmiName ?? '' })
      .then(({ object }) => object.metadata.deletionTimestamp === undefined, isAnswered);
    if (!there) await cluster.delete(FULL_MIGRATIONS, { namespace, name });
  }

  async #patchMetadata(migration: Vmim, metadata: Record<string, unknown>): Promise<void> {
    const { cluster, migrations } = this.#world;
    const merge = { metadata: { uid: migration.metadata.uid, ...metadata } };
    migrations.put((await cluster.patch(FULL_MIGRATIONS, addressOf(migration), { merge })).object);
  }

  /** From here on the nodes act: the VMI names source and target. */
  async #handOver(view: MigrationView): Promise<void> {
    const { migration, vmi, target } = view;
    if (vmi === undefined || target === undefined) return;
    const targetNode = target.spec.nodeName ?? '';
    await this.patchVmi(vmi, {
      metadata: { labels: { [LABELS.targetNodeName]: targetNode } },
      status: {
        migrationState: stateAtHandOver(view, {
          configuration: configurationOf(this.#world),
          release: this.#world.release,
        }),
      },
    });
    this.#world.recorder.record(migration, {
      type: 'Normal',
      reason: 'SuccessfulHandOver',
      message: 'Migration target pod is ready for preparation by virt-handler.',
    });
  }

  /** Deletes the older migrations of the same VMI, and the pod each of them left behind. */
  async #collectGarbage({ metadata, spec }: Vmim): Promise<void> {
    const { cluster, migrations, pods } = this.#world;
    const over = migrations
      .inNamespace(metadata.namespace)
      .filter(
        (migration) => migration.spec.vmiName === spec.vmiName && isFinal(migration) && isFree(migration),
      )
      .sort((one, other) =>
        Number(BigInt(other.metadata.resourceVersion) - BigInt(one.metadata.resourceVersion)),
      )
      .sort((one, other) => other.metadata.creationTimestamp.localeCompare(one.metadata.creationTimestamp));
    for (const migration of over.slice(KEPT)) {
      const { sourcePod, targetPod } = migration.status?.migrationState ?? {};
      const left = migration.status?.phase === 'Succeeded' ? sourcePod : targetPod;
      const pod = pods.get(`${metadata.namespace ?? ''}/${left ?? ''}`);
      if (pod !== undefined) await this.#deletePod(pod);
      await cluster.delete(FULL_MIGRATIONS, addressOf(migration));
    }
  }

  async #deletePod(pod: LauncherPod): Promise<void> {
    await this.#world.cluster.delete(LAUNCHER_PODS, addressOf(pod));
  }

  async #writeTarget({ migration, target, vmi }: MigrationView, decision: TargetDecision): Promise<void> {
    if (target === undefined) return;
    if (decision.do === 'delete-target') {
      await this.#deletePod(target);
      if (decision.event !== undefined) this.#world.recorder.record(migration, decision.event);
      return;
    }
    const { cluster, clock, pods } = this.#world;
    const ready = vmi?.status?.migrationState?.targetNodeDomainReadyTimestamp;
    const time = toGoTime(ready === undefined ? clock.now() : new Date(ready));
    const merge = { metadata: { annotations: { [ANNOTATIONS.targetReady]: time } } };
    pods.put((await cluster.patch(LAUNCHER_PODS, addressOf(target), { merge })).object);
  }

  async #patchState({ migration, vmi }: MigrationView, { merge, events = {} }: VmiDecision): Promise<void> {
    if (vmi === undefined) return;
    await this.patchVmi(vmi, merge);
    if (events.migration !== undefined) this.#world.recorder.record(migration, events.migration);
    if (events.vmi !== undefined) this.#world.recorder.record(vmi, events.vmi);
  }
}
