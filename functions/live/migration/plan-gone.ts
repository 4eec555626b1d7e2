import { breakGlassCommand, isGivenUp } from '../run/break-glass.ts';
import { critical, nextConditions, type Finding } from '../../domain/live/conditions.ts';
import type { MigrationStatus, PlanMigration } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import { runClustersOf } from '../run/run-clusters.ts';
import { hasFinalizer, hasOpenRun } from '../run/state.ts';
import { planRefusal, reconciled, type ReconcileResult } from './start.ts';
import { isForkliftHere } from '../plan/check.ts';
import { readProvider } from '../read/providers.ts';
import type { LiveContext } from '../context.ts';
import { abandonedEnd } from './abandon.ts';
import { closeMigration, removeFinalizers } from './finalizers.ts';
import { HELD_PROVIDERS } from '../read/listed-forklift.ts';
import { writeMigrationStatus, writeProblem, type StatusUpdate } from './write-status.ts';
import { migrationStatusOf } from '../status/migration-status.ts';
import { summaryOf } from '../status/run.ts';
import { transitionsOf, type Change } from '../status/transitions.ts';
import { nextVmStatus, timeText } from '../status/vm.ts';

/**
 * Reconciles a Migration whose Plan is gone. During a run the Plan has a finalizer, so a user removed that: then nothing says any more
 * which clusters its VMs are on. The Migration waits for the Plan, or until a user gives it up.
 */
export async function reconcileWithoutPlan(
  migration: PlanMigration,
  context: LiveContext,
): Promise<ReconcileResult> {
  if (await isForkliftHere(context.hub)) return reconciled('Forklift runs the plans');
  if (hasOpenRun(migration)) return waitForPlan(migration, context);
  const problem =
    (await planRefusal(migration, context.hub)) ?? notValid(migration, 'Set spec.plan to a Plan.');
  await writeProblem(migration, problem, context);
  if (hasFinalizer(migration)) await releaseWithoutPlan(migration, context);
  return reconciled('the Migration has no plan');
}

const notValid = ({ spec }: PlanMigration, suggestion: string): Finding =>
  critical(LIVE_CONDITION.planNotValid, spec.plan.name ? 'NotFound' : 'NotSet', {
    message: 'The `plan` is not valid.',
    suggestion,
  });

async function waitForPlan(migration: PlanMigration, context: LiveContext): Promise<ReconcileResult> {
  const now = context.clock.now().getTime();
  const isLeft = isGivenUp(migration);
  const shown = isLeft
    ? abandonedStatus(migration, now)
    : { status: waitingStatus(migration, now), transitions: [] };
  const written = await writeMigrationStatus(migration, shown, context);
  if (isLeft) await releaseWithoutPlan(await closeMigration(written, context.hub), context);
  return reconciled(isLeft ? 'the Migration was given up' : 'the Plan of the Migration is gone');
}

function waitingStatus(migration: PlanMigration, now: number): MigrationStatus {
  const { status } = migration;
  const advice = `Create the Plan again, to end its run. Only if that cannot be: ${breakGlassCommand(migration)}`;
  const conditions = nextConditions(status?.conditions ?? [], [notValid(migration, advice)], timeText(now));
  return { ...status, conditions };
}

function abandonedStatus(migration: PlanMigration, now: number): StatusUpdate {
  const of = { migration, plan: undefined };
  const changes = (migration.status?.vms ?? []).map((before): Change => {
    const decision = abandonedEnd(before, { ...of, why: 'given up after its Plan was removed' });
    return {
      before,
      next: nextVmStatus({ entry: before, decision }, before, now),
      message: decision.message,
    };
  });
  const time = timeText(now);
  const vms = changes.map(({ next }) => next);
  return {
    status: migrationStatusOf(migration, summaryOf(migration, vms, { mayStart: true, time }), time),
    transitions: changes.flatMap((change) => transitionsOf(change, { ...of, left: 0, time })),
  };
}

/**
 * Removes the finalizers of the Migration, and of its Providers that no other run needs: without the Plan only their uids are known. A
 * Migration without clusters has held none: its finalizer may be a copy, and others' Providers may be very many.
 */
export async function releaseWithoutPlan(migration: PlanMigration, context: LiveContext): Promise<void> {
  const run = runClustersOf(migration);
  const uids = [run?.source.provider.uid, run?.target.provider.uid];
  const { items } = run === undefined ? { items: [] } : await context.hub.list(HELD_PROVIDERS, {});
  const own = items.filter(({ metadata }) => uids.includes(metadata.uid));
  const read = await Promise.all(own.map(({ metadata }) => readProvider(metadata, context)));
  const providers = read.filter((provider) => provider !== undefined);
  await removeFinalizers({ migration, plan: undefined, providers }, context);
}
