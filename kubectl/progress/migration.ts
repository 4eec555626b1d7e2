import { isOfPlan, canStillRun } from '../../functions/live/run/state.ts';
import { inRunOrder } from '../../functions/live/run/queue.ts';
import type { Plan, PlanMigration } from '../../functions/domain/live/forklift.ts';

/**
 * The Migration of the plan to follow: the running or the next one; where none may run any more, the newest. undefined: the plan has
 * none. Migrations run one after the other, and none after one that succeeded.
 */
export function migrationOf(plan: Plan, migrations: readonly PlanMigration[]): PlanMigration | undefined {
  const own = inRunOrder(migrations.filter((migration) => isOfPlan(migration, plan)));
  const open = own.filter(({ status }) => status?.completed === undefined);
  const running = open.find(({ status }) => status?.started !== undefined);
  const begun = own.filter(({ status }) => status?.started !== undefined);
  return running ?? (canStillRun(plan) ? open[0] : undefined) ?? begun.at(-1) ?? own.at(-1);
}
