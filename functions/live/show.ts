import type { Finding } from '../domain/live/conditions.ts';
import type { Plan, PlanMigration } from '../domain/live/forklift.ts';
import { waitingOf, withOutbox, withTransitions } from '../domain/live/outbox.ts';
import { postInOrder } from '../eventing/post-in-order.ts';
import { PLAN_MIGRATIONS, PLANS } from '../kubernetes/live-resources.ts';
import { putStatus } from './check.ts';
import type { LiveContext } from './context.ts';
import type { Referred } from './status/plan-status.ts';
import { problemStatus } from './status/problem-status.ts';
import { reportRun } from './status/report.ts';
import type { DecidedVm } from './status/vm.ts';

/** A Migration and its Plan. */
export interface Pair {
  readonly migration: PlanMigration;
  readonly plan: Plan;
}

/**
 * Shows the run, with the events of what is new. The Migration first: it is the log of the run, and what the plan shows is derived from
 * it. Resolves with the Plan; rejects with a conflict where one has changed.
 */
export async function showRun(
  { migration, plan, refers }: Pair & { readonly refers?: Referred | undefined },
  runs: readonly DecidedVm[],
  context: LiveContext,
): Promise<Plan> {
  const { hub, clock } = context;
  const now = clock.now().getTime();
  const { migrationStatus, planStatus, transitions } = reportRun({ plan, migration, runs, now, refers });
  const left = await postInOrder(withTransitions(waitingOf(migration), transitions), context);
  await putStatus(hub, PLAN_MIGRATIONS, { object: migration, status: withOutbox(migrationStatus, left) });
  return putStatus(hub, PLANS, { object: plan, status: planStatus });
}

/** The events that a run has left over after its end. */
export async function postRest(migration: PlanMigration, context: LiveContext): Promise<void> {
  const { status = {} } = migration;
  const left = await postInOrder(waitingOf(migration), context);
  await putStatus(context.hub, PLAN_MIGRATIONS, { object: migration, status: withOutbox(status, left) });
}

/** Shows why a Migration does not begin; resolves with it. */
export function showProblem(
  migration: PlanMigration,
  finding: Finding,
  { hub, clock }: LiveContext,
): Promise<PlanMigration> {
  const status = problemStatus(migration.status, finding, clock.now().getTime());
  return putStatus(hub, PLAN_MIGRATIONS, { object: migration, status });
}
