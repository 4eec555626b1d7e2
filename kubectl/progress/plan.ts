import { has } from '../../functions/domain/live/conditions.ts';
import type { PlanMigration } from '../../functions/domain/live/forklift.ts';
import { LIVE_CONDITION } from '../../functions/domain/live/names.ts';
import { ignoreNotFound } from '../../functions/kubernetes/errors.ts';
import { PLAN_MIGRATIONS, PLANS } from '../../functions/kubernetes/live-resources.ts';
import { PluginError } from '../cluster/plugin-error.ts';
import { requireRights, VIEWER, type Right } from '../cluster/rights.ts';
import { EXIT, type ExitCode, type Invocation } from '../subcommand.ts';
import type { FollowedKind } from './kind.ts';
import { migrationOf } from './migration.ts';
import { migrationLine, renderMigration } from './render-migration.ts';
import { untilEnded } from './until-ended.ts';

export const planRights = (namespace?: string): readonly Right[] => {
  const where = namespace === undefined ? {} : { namespace };
  return [
    { verb: 'get', type: PLANS, ...where },
    { verb: 'list', type: PLAN_MIGRATIONS, ...where },
    { verb: 'watch', type: PLAN_MIGRATIONS, ...where },
  ];
};

const migrationsIn = (namespace: string): FollowedKind<PlanMigration> => ({
  type: PLAN_MIGRATIONS,
  where: { namespace },
  isOpen: ({ status }) => status?.completed === undefined,
  hasSucceeded: ({ status }) => has(status, LIVE_CONDITION.succeeded),
  render: renderMigration,
  plainLine: migrationLine,
});

/** Follows the run of a plan; reads only its Migration. */
export async function followPlan(
  name: string,
  { session: { cluster, namespace }, terminal }: Pick<Invocation, 'session' | 'terminal'>,
): Promise<ExitCode> {
  await requireRights(cluster, planRights(namespace), VIEWER);
  const plan = await ignoreNotFound(cluster.get(PLANS, { namespace, name }));
  if (plan === undefined) throw new PluginError(`there is no plan ${name} in namespace ${namespace}`);
  const { items } = await cluster.list(PLAN_MIGRATIONS, { namespace });
  const migration = migrationOf(plan.object, items);
  if (migration === undefined)
    throw new PluginError(`the plan ${name} has no Migration in namespace ${namespace}`);
  const end = await untilEnded([migration], migrationsIn(namespace), { cluster, terminal });
  return end === 'completed' ? EXIT.ok : EXIT.found;
}
