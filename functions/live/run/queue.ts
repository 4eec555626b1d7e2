import { breakGlassCommand } from './break-glass.ts';
import { critical, has, type Finding } from '../../domain/live/conditions.ts';
import type { Plan, PlanMigration } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION, LIVE_REASON } from '../../domain/live/names.ts';
import { hasLeftovers, hasFinalizer, isOfPlan } from './state.ts';
import { describeName } from './describe.ts';

/** Migrations of a plan in the order in which they run: by creation time, then by name (facts/cross-cluster.md §A2). */
export const inRunOrder = (migrations: readonly PlanMigration[]): PlanMigration[] =>
  migrations.toSorted((one, other) => (isBefore(one, other) ? -1 : 1));

const isBefore = (one: PlanMigration, other: PlanMigration): boolean => orderOf(one) < orderOf(other);

const orderOf = ({ metadata }: PlanMigration): string => `${metadata.creationTimestamp} ${metadata.name}`;

/** Returns the Migration of the plan that runs, or that may begin first; undefined if it is this one's turn. */
export function migrationBefore(
  migration: PlanMigration,
  plan: Plan,
  all: readonly PlanMigration[],
): PlanMigration | undefined {
  const others = inRunOrder(all).filter(
    (other) => other.metadata.uid !== migration.metadata.uid && isOfPlan(other, plan),
  );
  return others.find((other) => isRunning(other) || (mayBegin(other) && isBefore(other, migration)));
}

/** Whether the Migration runs. The finalizer alone may be a copy of another one's. */
const isRunning = (migration: PlanMigration): boolean =>
  hasFinalizer(migration) && migration.status?.started !== undefined;

/** Whether the Migration may begin. One whose user may not run it blocks no other one. */
const mayBegin = ({ status, metadata }: PlanMigration): boolean =>
  status?.completed === undefined &&
  metadata.deletionTimestamp === undefined &&
  !has(status, LIVE_CONDITION.notAllowed);

/**
 * Returns the finding of a Migration that waits for another one, which it names only in its own namespace. A Migration that has ended may stay
 * for ever, and then none waits for it.
 */
export function waitingForMigration(
  { metadata: { namespace } }: PlanMigration,
  first: PlanMigration,
): Finding {
  const isNear = first.metadata.namespace === namespace;
  const name = isNear ? `Migration ${describeName(first)}` : 'a Migration of another namespace';
  if (hasLeftovers(first))
    return critical(LIVE_CONDITION.planNotReady, 'LeftOver', {
      message: `Something is left over of ${name}, which has ended.`,
      suggestion: isNear
        ? `See its status.leftovers. If nothing can be done: ${breakGlassCommand(first)}`
        : 'Let an admin see the status.leftovers of the Migrations of this Plan in all namespaces.',
    });
  return {
    ...{ type: LIVE_CONDITION.waiting, category: 'Advisory', reason: LIVE_REASON.waitingToStart },
    message: `Waiting for the end of ${name}.`,
  };
}
