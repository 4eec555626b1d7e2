import { breakGlassCommand, isGivenUp } from '../run/break-glass.ts';
import { critical, nextConditions, type Finding } from '../../domain/live/conditions.ts';
import type { MigrationStatus, PlanMigration } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import { isHeld, isUnderWay } from '../run/state.ts';
import { done, type PassResult } from './start.ts';
import { isForkliftHere } from '../plan/check.ts';
import { readProvider } from '../read/providers.ts';
import type { LiveContext } from '../context.ts';
import { abandoned } from './abandon.ts';
import { close, release } from './finalizers.ts';
import { HELD_PROVIDERS } from '../read/listed-forklift.ts';
import { showMigration, showProblem, type Shown } from './write-status.ts';
import { migrationStatusOf } from '../status/migration-status.ts';
import { runOf } from '../status/run.ts';
import { transitionsOf, type Change } from '../status/transitions.ts';
import { nextVm, timeText } from '../status/vm.ts';

/**
 * A Migration whose Plan is not there. A run holds its Plan, so somebody took the finalizer off: then nothing says any more which clusters
 * its VMs are on. It waits for the Plan, or until a user gives it up.
 */
export async function withoutPlan(migration: PlanMigration, context: LiveContext): Promise<PassResult> {
  if (await isForkliftHere(context.hub)) return done('Forklift runs the plans');
  if (isUnderWay(migration)) return holdOut(migration, context);
  await showProblem(migration, notValid(migration, 'Set spec.plan to a Plan.'), context);
  if (isHeld(migration)) await releaseAll(migration, context);
  return done('the Migration has no plan');
}

const notValid = ({ spec }: PlanMigration, suggestion: string): Finding =>
  critical(LIVE_CONDITION.planNotValid, spec.plan.name ? 'NotFound' : 'NotSet', {
    message: 'The `plan` is not valid.',
    suggestion,
  });

async function holdOut(migration: PlanMigration, context: LiveContext): Promise<PassResult> {
  const now = context.clock.now().getTime();
  const isLeft = isGivenUp(migration);
  const shown = isLeft ? ended(migration, now) : { status: heldStatus(migration, now), transitions: [] };
  const written = await showMigration(migration, shown, context);
  if (isLeft) await releaseAll(await close(written, context.hub), context);
  return done(isLeft ? 'the Migration was given up' : 'the Plan of the Migration is gone');
}

function heldStatus(migration: PlanMigration, now: number): MigrationStatus {
  const { status } = migration;
  const advice = `Create the Plan again, to end its run. Only if that cannot be: ${breakGlassCommand(migration)}`;
  const conditions = nextConditions(status?.conditions ?? [], [notValid(migration, advice)], timeText(now));
  return { ...status, conditions };
}

function ended(migration: PlanMigration, now: number): Shown {
  const of = { migration, plan: undefined };
  const changes = (migration.status?.vms ?? []).map((before): Change => {
    const decision = abandoned(before, { ...of, why: 'given up after its Plan was removed' });
    return {
      before,
      next: nextVm({ entry: before, decision }, before, now),
      message: decision.message,
    };
  });
  const time = timeText(now);
  const vms = changes.map(({ next }) => next);
  return {
    status: migrationStatusOf(migration, runOf(migration, vms, { isDue: true, time }), time),
    transitions: changes.flatMap((change) => transitionsOf(change, { ...of, left: 0, time })),
  };
}

/** The Plan named the Providers, so all that are held are looked at. */
export async function releaseAll(migration: PlanMigration, context: LiveContext): Promise<void> {
  const { items } = await context.hub.list(HELD_PROVIDERS, {});
  const providers = await Promise.all(items.map(({ metadata }) => readProvider(metadata, context)));
  const held = providers.filter((provider) => provider !== undefined);
  await release({ migration, plan: undefined, providers: held }, context);
}
