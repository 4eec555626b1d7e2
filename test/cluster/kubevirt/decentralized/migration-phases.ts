/** virt-controller's next action for one side of a migration between clusters (facts/cross-cluster.md C2, C6, E). Pure. */
import type { Condition } from '../../../../functions/domain/objects.ts';
import { isSame } from '../vm-controller/merge-between.ts';
import {
  cleanUp,
  conditionOf,
  fail,
  isFinal,
  newCondition,
  next,
  phaseOf,
  WAIT,
  type Decision,
  type MigrationView,
  type Rule,
  type Status,
} from '../migration-controller/phases.ts';
import {
  ABORT_REQUESTED,
  ANNOTATIONS,
  DECENTRALIZED_BLOCKED,
  SYNCHRONIZATION_FAILURE,
} from '../objects/names.ts';
import { isOver } from '../objects/pods.ts';
import type { RecordedEvent } from '../client-go/recorder.ts';
import type { Vmi, VmimPhase } from '../objects/types.ts';
import { inItsPhase, isHandedOver, isTarget, stateOf, toState } from './in-phase.ts';
import { isDecentralized, isPreparedSource, isSynchronized } from './sides.ts';

/** The first rule that applies decides. Whatever it is, the VMIM's copies of other objects are kept up to date first. */
export function decideDecentralized(view: MigrationView): Decision {
  const decision = RULES.map((rule) => rule(view)).find((one) => one !== undefined) ?? WAIT;
  const copies = copiesOf(view, decision.do === 'set-status' ? decision.status : {});
  if (decision.do === 'set-status') return { ...decision, status: { ...decision.status, ...copies } };
  const waits = ['wait', 'create-target', 'collect-garbage'].includes(decision.do);
  return waits && Object.keys(copies).length > 0 ? { do: 'set-status', status: copies } : decision;
}

const RULES: readonly Rule[] = [
  withoutVmi,
  whenFinal,
  whenVmiIsOver,
  whenCancelled,
  whenTargetIsDown,
  whenTargetIsGone,
  whenStateIsLost,
  whenFailed,
  whenAborted,
  whenNew,
  inItsPhase,
];

/** The addresses of this cluster's synchronization controller, and the failure that the VMI shows. */
function copiesOf({ migration, vmi, addresses }: MigrationView, planned: Status): Status {
  const { metadata, status = {} } = migration;
  const isObserved = metadata.annotations?.[ANNOTATIONS.latestObserved] !== undefined;
  if (!isObserved || vmi === undefined) return {};
  const known = planned.conditions ?? status.conditions ?? [];
  const conditions = withFailureOf(vmi, known);
  const isAddressed = isSame(addresses, status.synchronizationAddresses);
  return {
    ...(isSame(conditions, known) ? {} : { conditions }),
    ...(isAddressed ? {} : { synchronizationAddresses: addresses ?? [] }),
  };
}

function withFailureOf(vmi: Vmi, known: readonly Condition[]): Condition[] {
  const failure = vmi.status?.conditions?.find(({ type }) => type === SYNCHRONIZATION_FAILURE);
  const others = known.filter(({ type }) => type !== DECENTRALIZED_BLOCKED);
  return failure === undefined ? others : [...others, { ...failure, type: DECENTRALIZED_BLOCKED }];
}

const isDeleted = ({ migration }: MigrationView): boolean =>
  migration.metadata.deletionTimestamp !== undefined;

const isIn = ({ migration }: MigrationView, ...phases: VmimPhase[]): boolean =>
  phases.includes(phaseOf(migration));

/** KubeVirt deletes it; one that is deleted already is not looked at any more, and its finalizer stays. */
function withoutVmi(view: MigrationView): Decision | undefined {
  if (view.vmi !== undefined) return undefined;
  return isDeleted(view) ? WAIT : { do: 'delete-migration' };
}

function whenFinal(view: MigrationView): Decision | undefined {
  const { migration } = view;
  if (!isFinal(migration)) return undefined;
  return endTarget(view) ?? copyState(view) ?? cleanUp(migration);
}

/** The pod of a failed target is deleted, and its VMI marked; not where a restart made KubeVirt take it for a local migration. */
function endTarget(view: MigrationView): Decision | undefined {
  const { migration, vmi, target } = view;
  const isOurs = isTarget(view) && isIn(view, 'Failed') && isHandedOver(view) && isDecentralized(vmi);
  if (vmi === undefined || !isOurs || stateOf(view).completed === true) return undefined;
  if (target !== undefined) {
    const { name, deletionTimestamp } = target.metadata;
    const message = `Deleted canceled target pod ${name} for migration ${migration.metadata.name}`;
    return deletionTimestamp === undefined
      ? { do: 'delete-target', event: { type: 'Normal', reason: 'SuccessfulDelete', message } }
      : WAIT;
  }
  const failureReason = 'Target pod is down';
  const ended = { endTimestamp: view.now, completed: true, failed: true, failureReason };
  const message = `VirtualMachineInstance migration uid ${migration.metadata.uid} failed. reason: ${failureReason}`;
  return {
    ...toState(vmi, { startTimestamp: view.now, ...stateOf(view), ...ended }),
    events: { vmi: { type: 'Warning', reason: 'FailedMigration', message } },
  };
}

function copyState(view: MigrationView): Decision | undefined {
  const state = stateOf(view);
  if (!isHandedOver(view) || isSame(state, view.migration.status?.migrationState)) return undefined;
  const hasFinalizers = view.migration.metadata.finalizers !== undefined;
  return hasFinalizers ? { do: 'set-status', status: { migrationState: state } } : undefined;
}

function whenVmiIsOver(view: MigrationView): Decision | undefined {
  const { vmi } = view;
  const isVmiOver = ['Succeeded', 'Failed'].includes(vmi?.status?.phase ?? '');
  if (vmi === undefined || !isVmiOver || isPreparedSource(vmi)) return undefined;
  return fail(view, 'Migration failed vmi shutdown during migration.');
}

/** Before the hand-over a cancelled migration ends at once. The source's is handed over as soon as it is Scheduling: it stays (C6). */
function whenCancelled(view: MigrationView): Decision | undefined {
  const { migration, target, now } = view;
  if (!isDeleted(view) || isHandedOver(view)) return undefined;
  if (target !== undefined && target.metadata.deletionTimestamp === undefined) {
    const { namespace = '', name } = target.metadata;
    const message = `migration canceled and pod ${namespace}/${name} is deleted`;
    return { do: 'delete-target', event: { type: 'Normal', reason: 'SuccessfulDelete', message } };
  }
  const conditions = [...(migration.status?.conditions ?? []), newCondition(ABORT_REQUESTED, now)];
  return fail(view, 'Migration failed due to being canceled', { conditions });
}

function whenTargetIsDown(view: MigrationView): Decision | undefined {
  if (!isTarget(view) || view.target === undefined || !isOver(view.target)) return undefined;
  return fail(view, 'Migration failed because target pod shutdown during migration');
}

function whenTargetIsGone(view: MigrationView): Decision | undefined {
  const isCreated = !isIn(view, '', 'Pending', 'WaitingForSync', 'Synchronizing');
  if (!isTarget(view) || !isCreated || view.target !== undefined) return undefined;
  return fail(view, 'Migration target pod was removed during active migration.');
}

function whenStateIsLost(view: MigrationView): Decision | undefined {
  if (!isIn(view, 'PreparingTarget', 'TargetReady', 'Running')) return undefined;
  if (!isSynchronized(view.vmi))
    return fail(view, "VMI's migration state was cleared during the active migration.");
  return isHandedOver(view)
    ? undefined
    : fail(view, "VMI's migration state was taken over by another migration job during active migration.");
}

function whenFailed(view: MigrationView): Decision | undefined {
  if (!isHandedOver(view) || stateOf(view).failed !== true) return undefined;
  return fail(view, 'source node reported migration failed');
}

const ABORTING: RecordedEvent = {
  type: 'Normal',
  reason: 'SuccessfulAbortMigration',
  message: 'Migration is ready to be canceled by virt-handler.',
};

function whenAborted(view: MigrationView): Decision | undefined {
  const { migration, vmi, now } = view;
  if (!isDeleted(view) || vmi === undefined) return undefined;
  const state = stateOf(view);
  const mayAbort = isIn(view, 'Running') && state.completed !== true;
  if (mayAbort && state.abortRequested !== true)
    return { ...toState(vmi, { ...state, abortRequested: true }), events: { migration: ABORTING } };
  if (conditionOf(migration, ABORT_REQUESTED) !== undefined) return undefined;
  const conditions = [...(migration.status?.conditions ?? []), newCondition(ABORT_REQUESTED, now)];
  return { do: 'set-status', status: { conditions } };
}

function whenNew(view: MigrationView): Decision | undefined {
  const { migration, otherMoves } = view;
  if (migration.metadata.annotations?.[ANNOTATIONS.latestObserved] === undefined)
    return { do: 'observe-api-version' };
  if (phaseOf(migration) !== '') return undefined;
  if (otherMoves) {
    return fail(view, 'VMI is not eligible for migration because another migration job is in progress.');
  }
  return next(view, isTarget(view) ? 'WaitingForSync' : 'Synchronizing');
}
