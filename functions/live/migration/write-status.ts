import type { Finding } from '../../domain/live/conditions.ts';
import type { MigrationStatus, Plan, PlanMigration } from '../../domain/live/forklift.ts';
import type { MoveEvent } from '../../domain/live/move-events.ts';
import { outboxOf, withOutbox, withTransitions } from '../run/outbox.ts';
import { postInOrder } from '../../eventing/post-in-order.ts';
import { PLAN_MIGRATIONS, PLANS } from '../../kubernetes/live-resources.ts';
import { putStatus } from '../plan/write-findings.ts';
import type { LiveContext } from '../context.ts';
import type { Referred } from '../status/plan-status.ts';
import { problemStatus } from '../status/problem-status.ts';
import { reportRun } from '../status/report.ts';
import type { DecidedVm } from '../status/vm.ts';

/** A Migration and its Plan. */
export interface MigrationWithPlan {
  readonly migration: PlanMigration;
  readonly plan: Plan;
}

/**
 * Writes the statuses of the run, with the events of the changes. The Migration comes first: it is the log of the run, and the plan's
 * status is derived from it. Resolves with both as written; rejects with a conflict if one has changed.
 */
export async function writeRunStatus(
  { migration, plan, refers }: MigrationWithPlan & { readonly refers?: Referred | undefined },
  runs: readonly DecidedVm[],
  context: LiveContext,
): Promise<MigrationWithPlan> {
  const { hub, clock } = context;
  const now = clock.now().getTime();
  const { migrationStatus, planStatus, transitions } = reportRun({ plan, migration, runs, now, refers });
  return {
    migration: await writeMigrationStatus(migration, { status: migrationStatus, transitions }, context),
    plan: await putStatus(hub, PLANS, { object: plan, status: planStatus }),
  };
}

/** Posts the new events, and those that no Broker has taken before, then writes the status. */
export async function writeMigrationStatus(
  migration: PlanMigration,
  { status, transitions }: StatusUpdate,
  context: LiveContext,
): Promise<PlanMigration> {
  const left = await postInOrder(withTransitions(outboxOf(migration), transitions), context);
  return putStatus(context.hub, PLAN_MIGRATIONS, { object: migration, status: withOutbox(status, left) });
}

export interface StatusUpdate {
  readonly status: MigrationStatus;
  readonly transitions: readonly MoveEvent[];
}

/** Posts the events that a run has left over after its end. */
export const postOutbox = (migration: PlanMigration, context: LiveContext): Promise<PlanMigration> =>
  writeMigrationStatus(migration, { status: migration.status ?? {}, transitions: [] }, context);

/** Writes why a Migration does not begin; resolves with it. */
export function writeProblem(
  migration: PlanMigration,
  finding: Finding,
  { hub, clock }: LiveContext,
): Promise<PlanMigration> {
  const status = problemStatus(migration.status, finding, clock.now().getTime());
  return putStatus(hub, PLAN_MIGRATIONS, { object: migration, status });
}
