import { shown } from '../../domain/foreign-text.ts';
import type { Cluster } from '../../kubernetes/cluster.ts';
import { reviewOf } from '../plan/requester-review.ts';
import { rightsToCheck } from '../plan/rights-needed.ts';
import { isAsBegun } from '../run/state.ts';
import type { MigrationWithPlan } from './write-status.ts';

/**
 * Returns why nothing that the Plan names may be read; undefined if it may. A user may have edited the Plan during its run, and name what only
 * others may read. An edit by a user with the rights changes nothing.
 */
export async function refusalOfEdit(
  { migration, plan }: MigrationWithPlan,
  hub: Pick<Cluster, 'get' | 'create'>,
): Promise<string | undefined> {
  if (isAsBegun(plan, migration)) return undefined;
  const review = await reviewOf([plan], hub);
  const refusal = await review(rightsToCheck(plan));
  return refusal === undefined
    ? undefined
    : `the Plan was edited during its run, so its maps and Hooks are not read. ${shown(refusal.message)} ` +
        'Give the user these rights, or let a user who has them correct the Plan.';
}
