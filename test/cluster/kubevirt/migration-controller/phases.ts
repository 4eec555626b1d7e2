/** virt-controller's next action for a migration within its cluster (facts/kubevirt.md §1.1, §1.7). Pure: values in, a decision out. */
import type { Condition } from '../../../../functions/domain/objects.ts';
import { hotplugVolumes } from '../objects/attachment-pod.ts';
import { sideOf } from '../decentralized/sides.ts';
import { ABORT_REQUESTED, ANNOTATIONS, MIGRATION_FINALIZER, REJECTED_BY_QUOTA } from '../objects/names.ts';
import type { FullClaim } from '../objects/objects.ts';
import { isOver, isReady } from '../objects/pods.ts';
import type { RecordedEvent } from '../client-go/recorder.ts';
import type { LauncherPod, MigrationState, Vmi, Vmim, VmimPhase } from '../objects/types.ts';

export interface MigrationView {
  readonly migration: Vmim;
  readonly vmi: Vmi | undefined;
  readonly source: LauncherPod | undefined;
  readonly target: LauncherPod | undefined;
  /** The target's attachment pod. */
  readonly attachment: LauncherPod | undefined;
  /** Another migration of the same VMI is not over, and was first. */
  readonly otherFirst: boolean;
  /** Another migration of the same VMI was handed over, and is not over. */
  readonly otherMoves: boolean;
  /** The KubeVirt CR's, of this cluster's synchronization controller. */
  readonly addresses?: readonly string[] | undefined;
  /** Of the source's node, for a CPU that can take its guest over. */
  readonly nodeSelectors?: Readonly<Record<string, string>>;
  readonly claims?: readonly FullClaim[];
  /** RFC 3339. */
  readonly now: string;
}

export type Status = NonNullable<Vmim['status']>;

export type Decision =
  | { readonly do: 'wait' }
  | { readonly do: 'observe-api-version' }
  | {
      readonly do: 'set-status';
      readonly status: Status;
      /** A merge patch of the VMI's migration state, before. */
      readonly state?: Partial<MigrationState>;
      readonly event?: RecordedEvent;
    }
  | { readonly do: 'create-target' }
  | { readonly do: 'create-attachment' }
  | { readonly do: 'hand-over' }
  | { readonly do: 'mark-target-ready' }
  | { readonly do: 'delete-target'; readonly event?: RecordedEvent }
  | { readonly do: 'patch-vmi'; readonly merge: Record<string, unknown>; readonly events?: PatchEvents }
  | { readonly do: 'delete-migration' }
  | { readonly do: 'remove-finalizer' }
  | { readonly do: 'collect-garbage' };

/** Of a patch of the VMI: written about the migration, and about the VMI. */
export interface PatchEvents {
  readonly migration?: RecordedEvent;
  readonly vmi?: RecordedEvent;
}

export const WAIT: Decision = { do: 'wait' };

/** The first rule that applies decides. */
export function decideMigration(view: MigrationView): Decision {
  for (const rule of RULES) {
    const decision = rule(view);
    if (decision !== undefined) return decision;
  }
  return WAIT;
}

export type Rule = (view: MigrationView) => Decision | undefined;

const RULES: readonly Rule[] = [
  withoutVmi,
  whenFinal,
  whenFailed,
  whenDeleted,
  whenVmiIsOver,
  whenNew,
  whenTargetIsGone,
  inItsPhase,
];

export const phaseOf = ({ status }: Vmim): VmimPhase => (status?.phase ?? '') as VmimPhase;

export const isFinal = (migration: Vmim): boolean => ['Succeeded', 'Failed'].includes(phaseOf(migration));

/** KubeVirt's IsRunning: counts against the parallel limits. */
export const isRunning = (migration: Vmim): boolean =>
  !['', 'WaitingForSync', 'Synchronizing', 'Pending'].includes(phaseOf(migration)) &&
  !(phaseOf(migration) === 'Scheduling' && sideOf(migration) === 'source') &&
  !isFinal(migration);

/** The VMI's migration state, if it is about this migration. */
export function stateOf({
  migration,
  vmi,
}: Pick<MigrationView, 'migration' | 'vmi'>): MigrationState | undefined {
  const state = vmi?.status?.migrationState;
  return state?.migrationUid === migration.metadata.uid ? state : undefined;
}

export const conditionOf = ({ status }: Vmim, type: string): Condition | undefined =>
  status?.conditions?.find((condition) => condition.type === type);

/** A condition as virt-controller appends it: no reason, no message, no transition time. */
export const newCondition = (type: string, now: string): Condition => ({
  type,
  status: 'True',
  lastProbeTime: now,
  lastTransitionTime: null,
});

export const SUCCEEDED: RecordedEvent = {
  type: 'Normal',
  reason: 'SuccessfulMigration',
  message: 'Source node reported migration succeeded',
};

const failed = (message: string): RecordedEvent => ({ type: 'Warning', reason: 'FailedMigration', message });

function withoutVmi({ migration, vmi }: MigrationView): Decision | undefined {
  if (vmi !== undefined || migration.metadata.deletionTimestamp !== undefined) return undefined;
  return { do: 'delete-migration' };
}

function whenFinal(view: MigrationView): Decision | undefined {
  const { migration, target } = view;
  if (!isFinal(migration)) return undefined;
  const failed = phaseOf(migration) === 'Failed' && target !== undefined && isAlive(target);
  return copyState(view) ?? (failed ? { do: 'delete-target' } : cleanUp(migration));
}

function copyState(view: MigrationView): Decision | undefined {
  const { migration } = view;
  const state = stateOf(view);
  if (state?.completed !== true || migration.status?.migrationState?.completed === true) return undefined;
  // virt-controller repeats this Event here: the recorded Event has count 2.
  const again = phaseOf(migration) === 'Succeeded' ? { event: SUCCEEDED } : {};
  return { do: 'set-status', status: { migrationState: state }, ...again };
}

export const cleanUp = ({ metadata }: Vmim): Decision =>
  metadata.finalizers?.includes(MIGRATION_FINALIZER) === true
    ? { do: 'remove-finalizer' }
    : { do: 'collect-garbage' };

export const isAlive = (pod: LauncherPod): boolean =>
  pod.metadata.deletionTimestamp === undefined && !isOver(pod);

function whenFailed(view: MigrationView): Decision | undefined {
  const state = stateOf(view);
  if (state?.completed !== true || state.failed !== true) return undefined;
  return fail(view, 'Source node reported migration failed');
}

function whenDeleted(view: MigrationView): Decision | undefined {
  const { migration, target, now } = view;
  if (migration.metadata.deletionTimestamp === undefined) return undefined;
  const conditions = [...(migration.status?.conditions ?? []), newCondition(ABORT_REQUESTED, now)];
  const state = stateOf(view);
  if (state !== undefined) {
    // Handed over: only the nodes can stop it now; too late when it is through.
    const asked = conditionOf(migration, ABORT_REQUESTED) !== undefined || state.completed === true;
    return asked ? undefined : { do: 'set-status', status: { conditions }, state: { abortRequested: true } };
  }
  if (target !== undefined && isAlive(target)) return { do: 'delete-target' };
  return fail(view, 'Migration failed due to being canceled', { conditions });
}

function whenVmiIsOver(view: MigrationView): Decision | undefined {
  const { metadata, status } = view.vmi ?? {};
  const over =
    metadata?.deletionTimestamp !== undefined || ['Succeeded', 'Failed'].includes(status?.phase ?? '');
  return over ? fail(view, 'Migration failed because vmi shutdown during migration.') : undefined;
}

function whenNew(view: MigrationView): Decision | undefined {
  const { migration, source, otherFirst } = view;
  const observed = migration.metadata.annotations?.[ANNOTATIONS.latestObserved];
  if (observed === undefined) return { do: 'observe-api-version' };
  if (phaseOf(migration) !== '') return undefined;
  if (otherFirst) {
    return fail(view, 'VMI is not eligible for migration because another migration job is in progress.');
  }
  if (source === undefined || view.vmi?.status?.phase !== 'Running') return WAIT;
  return {
    do: 'set-status',
    status: { ...enter(view, 'Pending'), migrationState: { sourcePod: source.metadata.name } },
  };
}

function whenTargetIsGone(view: MigrationView): Decision | undefined {
  if (!isRunning(view.migration) || stateOf(view)?.completed === true) return undefined;
  return view.target === undefined || !isAlive(view.target)
    ? fail(view, 'Migration target pod was removed during active migration.')
    : undefined;
}

function inItsPhase(view: MigrationView): Decision | undefined {
  return IN_PHASE[phaseOf(view.migration)]?.(view);
}

const IN_PHASE: Partial<Record<VmimPhase, Rule>> = {
  Pending: (view) => {
    const { target } = view;
    if (target === undefined || !isAlive(target)) return { do: 'create-target' };
    return waitForVolumes(view, target) ?? { do: 'set-status', status: enter(view, 'Scheduling') };
  },
  Scheduling: waitForTarget,
  // virt-api admits one migration of a VM at a time; where the simulation makes two, the second waits for the first, or that one
  // would never hear of its end.
  Scheduled: (view) =>
    view.otherMoves
      ? WAIT
      : stateOf(view) === undefined
        ? { do: 'hand-over' }
        : next(view, 'PreparingTarget'),
  PreparingTarget: (view) =>
    stateOf(view)?.targetNodeAddress === undefined ? WAIT : next(view, 'TargetReady'),
  TargetReady: (view) => (stateOf(view)?.startTimestamp === undefined ? WAIT : next(view, 'Running')),
  Running: (view) => {
    const state = stateOf(view);
    if (state?.completed !== true) return WAIT;
    if (view.target?.metadata.annotations?.[ANNOTATIONS.targetReady] === undefined)
      return { do: 'mark-target-ready' };
    return { do: 'set-status', status: enter(view, 'Succeeded'), event: SUCCEEDED };
  },
};

/** In phase Scheduling, the target's pod is there: the refusal by a quota is cleared, and then the pod must be ready. */
export function waitForTarget(view: MigrationView): Decision {
  const { migration, target } = view;
  if (conditionOf(migration, REJECTED_BY_QUOTA) !== undefined) {
    const kept = migration.status?.conditions?.filter(({ type }) => type !== REJECTED_BY_QUOTA) ?? [];
    return { do: 'set-status', status: { conditions: kept } };
  }
  return target !== undefined && isReady(target) ? next(view, 'Scheduled') : WAIT;
}

/** With hotplugged volumes a migration stays Pending until the target is ready and has its attachment pod. */
export function waitForVolumes(
  { vmi, attachment }: MigrationView,
  target: LauncherPod,
): Decision | undefined {
  if (vmi === undefined || hotplugVolumes(vmi).length === 0) return undefined;
  if (!isReady(target)) return WAIT;
  if (attachment === undefined) return { do: 'create-attachment' };
  return isReady(attachment) ? undefined : WAIT;
}

export const next = (view: MigrationView, phase: VmimPhase): Decision => ({
  do: 'set-status',
  status: enter(view, phase),
});

export const fail = (view: MigrationView, message: string, status: Status = {}): Decision => ({
  do: 'set-status',
  status: { ...status, ...enter(view, 'Failed') },
  event: failed(message),
});

export const enter = ({ migration, now }: MigrationView, phase: VmimPhase): Status => ({
  phase,
  phaseTransitionTimestamps: [
    ...(migration.status?.phaseTransitionTimestamps ?? []),
    { phase, phaseTransitionTimestamp: now },
  ],
});
