import { has } from './conditions.ts';
import type { Plan, PlanMigration } from './forklift.ts';
import { LIVE_CONDITION } from './names.ts';
import { isHeld, isOfPlan } from './run-state.ts';

/** Migrations of a plan in the order in which they run: by creation time, then by name (facts/cross-cluster.md §A2). */
export const inTurn = (migrations: readonly PlanMigration[]): PlanMigration[] =>
  migrations.toSorted((one, other) => (isBefore(one, other) ? -1 : 1));

const isBefore = (one: PlanMigration, other: PlanMigration): boolean => orderOf(one) < orderOf(other);

const orderOf = ({ metadata }: PlanMigration): string => `${metadata.creationTimestamp} ${metadata.name}`;

/** Another Migration of the plan that runs, or that may begin first; undefined: it is this one's turn. */
export function migrationBefore(
  migration: PlanMigration,
  plan: Plan,
  all: readonly PlanMigration[],
): PlanMigration | undefined {
  const others = inTurn(all).filter(
    (other) => other.metadata.uid !== migration.metadata.uid && isOfPlan(other, plan),
  );
  return others.find((other) => isRunning(other) || (mayBegin(other) && isBefore(other, migration)));
}

/** The finalizer alone may be a copy of another one's. */
const isRunning = (migration: PlanMigration): boolean =>
  isHeld(migration) && migration.status?.started !== undefined;

/** One whose user may not run it holds up no other one. */
const mayBegin = ({ status, metadata }: PlanMigration): boolean =>
  status?.completed === undefined &&
  metadata.deletionTimestamp === undefined &&
  !has(status, LIVE_CONDITION.notAllowed);
