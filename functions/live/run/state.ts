import type { KubernetesObject } from '../../domain/objects.ts';
import { isGivenUp } from './break-glass.ts';
import { has } from '../../domain/live/conditions.ts';
import { allLeftovers, leftoversOf } from './leftovers.ts';
import type { Plan, PlanMigration, VmStatus } from '../../domain/live/forklift.ts';
import {
  LIVE_ANNOTATION,
  LIVE_CONDITION,
  LIVE_FINALIZER,
  type LiveConditionType,
} from '../../domain/live/names.ts';
import { named } from '../../domain/live/reference.ts';
import { requesterOf } from '../../domain/live/requester.ts';

/** `live` holds it: from before its first write until nothing is left over. */
export const hasFinalizer = ({ metadata }: KubernetesObject): boolean =>
  metadata.finalizers?.includes(LIVE_FINALIZER) === true;

/** Nothing is left to do with it. */
export const hasEnded = (migration: PlanMigration): boolean =>
  migration.status?.completed !== undefined && !hasFinalizer(migration);

/** The end of the VM is shown, and that nothing is left over. */
export const hasNothingLeft = (vm: VmStatus | undefined): boolean =>
  vm?.completed !== undefined && leftoversOf(vm).length === 0;

/** Its run is over, and what it holds is released: nothing of it is read or written any more. */
export const isClosed = ({ metadata, status }: PlanMigration): boolean =>
  metadata.annotations?.[LIVE_ANNOTATION.over] === metadata.uid && status?.completed !== undefined;

/** It shows something that is left over, for which it is held unless its user has given it up. */
export const hasLeftovers = (migration: PlanMigration): boolean =>
  allLeftovers(migration.status ?? {}).length > 0 && !isGivenUp(migration);

/** The run has begun, and `live` has work left with it: also after its end, while it leaves something over. */
export const hasOpenRun = (migration: PlanMigration): boolean =>
  migration.status?.started !== undefined && !hasEnded(migration);

/** Its end is to come, for which the Plan says which clusters its VMs are on. Forklift's own runs have no requester. */
export const needsPlan = (migration: PlanMigration): boolean =>
  hasOpenRun(migration) &&
  !isClosed(migration) &&
  !isGivenUp(migration) &&
  requesterOf(migration) !== undefined;

/** It waits for its plan, or for another run of it. */
export const isPending = ({ status }: PlanMigration): boolean =>
  status?.started === undefined && status?.completed === undefined;

/** Its run has begun, and has seen the spec as it is: it was neither canceled nor deleted. Nor was it given up, which is no generation. */
export const isMigrationObserved = (migration: PlanMigration): boolean => {
  const { metadata, status } = migration;
  return (
    status?.started !== undefined &&
    status.completed === undefined &&
    status.observedGeneration === metadata.generation &&
    !isGivenUp(migration)
  );
};

/** What has changed of it since it was looked at is its status. */
export const isObserved = ({
  metadata,
  status,
}: KubernetesObject & { readonly status?: { readonly observedGeneration?: number } }): boolean =>
  status?.observedGeneration !== undefined && status.observedGeneration === metadata.generation;

export const isPlanObserved = (plan: Plan): boolean =>
  plan.metadata.deletionTimestamp === undefined && isObserved(plan);

/** A run of it is under way, which has seen the spec as it is: it was neither archived nor deleted. */
export const isRunningPlanObserved = ({ metadata, status }: Plan): boolean =>
  has(status, LIVE_CONDITION.executing) && status?.observedGeneration === metadata.generation;

/** A Migration of it may still begin, or VMs of one that runs. */
export const canStillRun = ({ spec, status, metadata }: Plan): boolean =>
  metadata.deletionTimestamp === undefined &&
  spec.archived !== true &&
  !has(status, LIVE_CONDITION.succeeded);

/** For live migrations, and no VM moves by it now. */
const isIdle = ({ spec, status, metadata }: Plan): boolean =>
  spec.type === 'live' && metadata.deletionTimestamp === undefined && !has(status, LIVE_CONDITION.executing);

/** Whether it can run is to be looked at: not while it does, because its VMs are between the clusters then. */
export const needsCheck = (plan: Plan): boolean => isIdle(plan) && canStillRun(plan);

/** Nothing of it is looked at any more, unless its user takes that back. */
export const isArchived = (plan: Plan): boolean => isIdle(plan) && plan.spec.archived === true;

/** VMs that have begun, and have not ended. */
export const vmsUnderWay = ({ status }: PlanMigration): VmStatus[] =>
  (status?.vms ?? []).filter(({ started, completed }) => started !== undefined && completed === undefined);

/** Whether the Migration is a run of this plan. */
export const isOfPlan = (
  { spec, metadata }: PlanMigration,
  plan: { readonly metadata: Pick<Plan['metadata'], 'namespace' | 'name'> },
): boolean => {
  const { namespace = metadata.namespace, name } = named(spec.plan);
  return name === plan.metadata.name && namespace === plan.metadata.namespace;
};

/**
 * Whether its run is a live one. Under Forklift's CRDs the type may change while VMs are between the clusters. Forklift runs the other types:
 * a copy of a Migration that has the finalizer is not held by `live`, but only admission writes who created one of a plan for live migrations.
 */
export const isLive = (migration: PlanMigration, { spec }: Plan): boolean =>
  spec.type === 'live' ||
  (hasFinalizer(migration) &&
    migration.status?.started !== undefined &&
    requesterOf(migration) !== undefined);

/** It is of a plan of another type, which Forklift runs. Of one whose plan is gone nobody knows: then it may be held. */
export const isOfOtherType = (migration: PlanMigration, plans: readonly Plan[]): boolean =>
  plans.some((plan) => isOfPlan(migration, plan) && !isLive(migration, plan));

/** undefined: it is not of a plan for live migrations; Forklift's other types are not ours. */
export const livePlanOf = (migration: PlanMigration, plans: readonly Plan[]): Plan | undefined =>
  plans.find((plan) => isOfPlan(migration, plan) && isLive(migration, plan));

/** It is being deleted, and `live` holds it. */
export const isTerminating = (object: KubernetesObject): boolean =>
  hasFinalizer(object) && object.metadata.deletionTimestamp !== undefined;

/** It is for live migrations, and could not run when it was last looked at, or not with all its VMs; or see isOverQuota. */
export const isPlanBlocked = (plan: Plan): boolean => {
  const { spec, status } = plan;
  if (spec.type !== 'live' || spec.archived === true) return false;
  if (has(status, LIVE_CONDITION.succeeded)) return isOverQuota(plan);
  return !has(status, LIVE_CONDITION.ready) || ABOUT_VMS.some((type) => has(status, type));
};

/** Its VMs have moved, and one of them is shown to be over its quota, which is so until there is room. */
export const isOverQuota = (plan: Plan): boolean =>
  isIdle(plan) &&
  has(plan.status, LIVE_CONDITION.succeeded) &&
  (plan.status?.migration?.vms ?? []).some((vm) => has(vm, LIVE_CONDITION.restartWouldBeRefused));

/** Of a plan: while it holds, the VMs that it is about do not move, and the others do. */
export const BLOCKS_VMS: readonly LiveConditionType[] = [
  LIVE_CONDITION.noAddress,
  LIVE_CONDITION.overQuota,
  LIVE_CONDITION.instanceTypeDiffers,
  LIVE_CONDITION.cpuDiffers,
  LIVE_CONDITION.cpuNotKnown,
];

/** What is about some VMs of a plan alone, and may go without an event. */
export const ABOUT_VMS: readonly LiveConditionType[] = [
  ...BLOCKS_VMS,
  LIVE_CONDITION.restartWouldBeRefused,
  LIVE_CONDITION.nextCrashHalts,
  LIVE_CONDITION.syncMayStartSource,
];
