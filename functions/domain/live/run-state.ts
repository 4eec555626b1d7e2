import { LIVE_CONDITION, LIVE_FINALIZER } from './names.ts';
import type { Plan, PlanMigration, VmStatus } from './forklift.ts';

/** `live` has it in hand: from before its first write until nothing is left over. */
export const isInHand = ({ metadata }: PlanMigration): boolean =>
  metadata.finalizers?.includes(LIVE_FINALIZER) === true;

/** The run has begun, and `live` has work left with it: also after its end, while it leaves something over. */
export const isUnderWay = (migration: PlanMigration): boolean => {
  const { started, completed } = migration.status ?? {};
  return started !== undefined && (completed === undefined || isInHand(migration));
};

/** It waits for its plan, or for another run of it. */
export const isWaiting = ({ status }: PlanMigration): boolean =>
  status?.started === undefined && status?.completed === undefined;

/** VMs that have begun, and have not ended. */
export const vmsUnderWay = ({ status }: PlanMigration): VmStatus[] =>
  (status?.vms ?? []).filter(({ started, completed }) => started !== undefined && completed === undefined);

/** undefined: it is not of a plan for live migrations; Forklift's other types are not ours. */
export const livePlanOf = (
  { spec: { plan }, metadata }: PlanMigration,
  plans: readonly Plan[],
): Plan | undefined =>
  plans.find(
    (one) =>
      one.spec.type === 'live' &&
      one.metadata.name === plan.name &&
      one.metadata.namespace === (plan.namespace ?? metadata.namespace),
  );

/** It is for live migrations, and could not run when it was last looked at. */
export const isNotReady = ({ spec, status }: Plan): boolean =>
  spec.type === 'live' &&
  spec.archived !== true &&
  status?.conditions?.some(({ type }) => type === LIVE_CONDITION.ready) !== true;
