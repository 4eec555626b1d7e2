import type { MoveEvent } from '../../domain/live/move-events.ts';
import type {
  MigrationStatus,
  Plan,
  PlanMigration,
  PlanStatus,
  PlanVm,
  VmStatus,
} from '../../domain/live/forklift.ts';
import { movedIn } from '../guest/has-moved.ts';
import { LIVE_REASON } from '../../domain/live/names.ts';
import { isSameVm } from '../run/stop.ts';
import { migrationStatusOf } from './migration-status.ts';
import { withRun, type Referred } from './plan-status.ts';
import { summaryOf } from './run.ts';
import { transitionsOf, type Change } from './transitions.ts';
import { newVmStatus, nextVmStatus, timeText, type DecidedVm } from './vm.ts';

export interface RunInput {
  readonly plan: Plan;
  readonly migration: PlanMigration;
  /** VMs of the plan; the status of a VM that is left out stays. */
  readonly runs: readonly DecidedVm[];
  /** Milliseconds. */
  readonly now: number;
  /** The objects that the plan refers to, for its history. */
  readonly refers?: Referred | undefined;
}

export interface RunReport {
  readonly migrationStatus: MigrationStatus;
  readonly planStatus: PlanStatus;
  /** The events of the change, to be written with the status, so that none is lost. */
  readonly transitions: readonly MoveEvent[];
}

/**
 * Returns the statuses of a Migration and its Plan as users of Forklift know them (facts/cross-cluster.md §A), by the decisions about its
 * VMs, and the events of the changes. The same input gives the statuses that are there already.
 */
export function reportRun({ plan, migration, runs, now, refers }: RunInput): RunReport {
  const time = timeText(now);
  const changes = entriesOf(plan, migration).map((entry) => changeOf(entry, { plan, migration, runs, now }));
  const vms = changes.map(({ next }) => next);
  const run = summaryOf(migration, vms, { mayStart: runs.some(mayStart), time });
  const left = vms.filter(({ completed }) => completed === undefined).length;
  return {
    migrationStatus: migrationStatusOf(migration, run, time),
    planStatus: withRun({ plan, migration, refers }, run, time),
    transitions: changes.flatMap((change) => transitionsOf(change, { plan, migration, left, time })),
  };
}

/**
 * Returns the status of a VM of a run: the Migration's, or the Plan's for a VM that an earlier run has moved; undefined if there is none.
 */
export function shownVmStatus(plan: Plan, migration: PlanMigration, entry: PlanVm): VmStatus | undefined {
  return migration.status?.vms?.find((vm) => isSameVm(vm, entry)) ?? movedIn(plan, entry);
}

/** The VMs of the run. A run that has started has the VMs that it had then, however the plan changes. */
const entriesOf = ({ spec }: Plan, { status }: PlanMigration): readonly PlanVm[] =>
  status?.started === undefined ? spec.vms : (status.vms ?? []);

/** Whether the VM may start: then the run has started. Until the plan is Ready it can be changed. */
const mayStart = ({ decision }: DecidedVm): boolean =>
  decision.kind !== 'wait' || decision.reason !== LIVE_REASON.planNotReady;

function changeOf(
  entry: PlanVm,
  { plan, migration, runs, now }: Pick<RunInput, 'plan' | 'migration' | 'runs' | 'now'>,
): Change {
  const before = shownVmStatus(plan, migration, entry);
  const decided = runs.find((run) => isSameVm(run.entry, entry));
  const next = decided === undefined ? (before ?? newVmStatus(entry)) : nextVmStatus(decided, before, now);
  return { before, next, message: decided?.decision.message ?? '' };
}
