import type { KubernetesObject } from '../../domain/objects.ts';
import { isGivenUp } from './break-glass.ts';
import { has } from '../../domain/live/conditions.ts';
import { allLeftovers, leftoversOf } from './leftovers.ts';
import type { NamedReference, Plan, PlanMigration, VmStatus } from '../../domain/live/forklift.ts';
import {
  LIVE_ANNOTATION,
  LIVE_CONDITION,
  LIVE_FINALIZER,
  type LiveConditionType,
} from '../../domain/live/names.ts';
import { named } from '../../domain/live/reference.ts';
import { requesterOf } from '../../domain/live/requester.ts';

/** Whether the object has `live`'s finalizer: from before the first write of a run until nothing is left over. */
export const hasFinalizer = ({ metadata }: KubernetesObject): boolean =>
  metadata.finalizers?.includes(LIVE_FINALIZER) === true;

/** Returns where the Plan is that the Migration names; the name is empty if it names none. */
export const planAt = ({
  spec,
  metadata: { namespace = '' },
}: Pick<PlanMigration, 'spec' | 'metadata'>): Required<NamedReference> => ({
  namespace,
  ...named(spec.plan),
});

/** Returns the Migrations in groups, one for each Plan that they name, in their order. */
export const byPlan = (migrations: readonly PlanMigration[]): PlanMigration[][] => [
  ...Map.groupBy(migrations, (migration) => Object.values(planAt(migration)).join('/')).values(),
];

/**
 * Whether `live` holds objects for the Migration's run, which may be about to begin. Anybody may write the finalizer, such as with a copy;
 * the clusters, which come in the same write, only `live`.
 */
export const isHeldForRun = (migration: PlanMigration): boolean =>
  hasFinalizer(migration) && migration.metadata.annotations?.[LIVE_ANNOTATION.clusters] !== undefined;

/** Whether nothing is left to do with the Migration. */
export const hasEnded = (migration: PlanMigration): boolean =>
  migration.status?.completed !== undefined && !hasFinalizer(migration);

/** Whether the status has the end of the VM, with nothing left over. */
export const hasNothingLeft = (vm: VmStatus | undefined): boolean =>
  vm?.completed !== undefined && leftoversOf(vm).length === 0;

/** Whether the run is over: only its finalizers and waiting events are left to handle. */
export const isClosed = ({ metadata, status }: PlanMigration): boolean =>
  metadata.annotations?.[LIVE_ANNOTATION.over] === metadata.uid && status?.completed !== undefined;

/** Whether the status has leftovers, for which the finalizer stays unless its user has given the run up. */
export const hasLeftovers = (migration: PlanMigration): boolean =>
  allLeftovers(migration.status ?? {}).length > 0 && !isGivenUp(migration);

/** Whether the run has started, and `live` has work left with it: also after its end, while it has leftovers. */
export const hasOpenRun = (migration: PlanMigration): boolean =>
  migration.status?.started !== undefined && !hasEnded(migration);

/** Whether the end of the run is to come. For that the Plan says which clusters its VMs are on. Forklift's own runs have no requester. */
export const needsPlan = (migration: PlanMigration): boolean =>
  hasOpenRun(migration) &&
  !isClosed(migration) &&
  !isGivenUp(migration) &&
  requesterOf(migration) !== undefined;

/** Whether the Migration waits for its plan, or for another run of it. */
export const waitsToStart = ({ status }: PlanMigration): boolean =>
  status?.started === undefined && status?.completed === undefined;

/**
 * Whether the run has started, and has seen the present spec: it was neither canceled nor deleted. It was not given up either, which changes
 * no generation.
 */
export const isMigrationObserved = (migration: PlanMigration): boolean => {
  const { metadata, status } = migration;
  return (
    status?.started !== undefined &&
    status.completed === undefined &&
    status.observedGeneration === metadata.generation &&
    !isGivenUp(migration)
  );
};

/** Whether only the object's status has changed since `live` observed it. */
export const isObserved = ({
  metadata,
  status,
}: KubernetesObject & { readonly status?: { readonly observedGeneration?: number } }): boolean =>
  status?.observedGeneration !== undefined && status.observedGeneration === metadata.generation;

export const isPlanObserved = (plan: Plan): boolean =>
  plan.metadata.deletionTimestamp === undefined && isObserved(plan);

/** Whether a run of the plan is under way that has seen the present spec: it was neither archived nor deleted. */
export const isRunningPlanObserved = ({ metadata, status }: Plan): boolean =>
  has(status, LIVE_CONDITION.executing) && status?.observedGeneration === metadata.generation;

/** Whether the plan is as its run began, by the plan's history: what its requester may do was reviewed then. */
export const isAsBegun = ({ metadata, status }: Plan, run: PlanMigration): boolean =>
  metadata.generation !== undefined &&
  (status?.migration?.history ?? []).some(
    ({ plan, migration }) =>
      migration.uid === run.metadata.uid &&
      plan.uid === metadata.uid &&
      plan.generation === metadata.generation,
  );

/** Whether a Migration of the plan may still begin, or VMs of one that runs. */
export const canStillRun = ({ spec, status, metadata }: Plan): boolean =>
  metadata.deletionTimestamp === undefined &&
  spec.archived !== true &&
  !has(status, LIVE_CONDITION.succeeded);

/** Whether the plan is for live migrations, and no VM moves by it now. */
const isIdle = ({ spec, status, metadata }: Plan): boolean =>
  spec.type === 'live' && metadata.deletionTimestamp === undefined && !has(status, LIVE_CONDITION.executing);

/** Whether the plan must be checked: not while it runs, because its VMs are between the clusters then. */
export const needsCheck = (plan: Plan): boolean => isIdle(plan) && canStillRun(plan);

/** Whether the plan is archived and idle: nothing of it is checked any more, unless its user reverts that. */
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
 * Whether the run is a live one. Under Forklift's CRDs the type may change while VMs are between the clusters. Forklift runs the other
 * types. A copy of a Migration that has the finalizer is no run of `live`, but only admission writes the creator of one of a plan for live
 * migrations.
 */
export const isLive = (migration: PlanMigration, { spec }: Plan): boolean =>
  spec.type === 'live' ||
  (hasFinalizer(migration) &&
    migration.status?.started !== undefined &&
    requesterOf(migration) !== undefined);

/**
 * Whether the Migration is of a plan of another type, which Forklift runs. If its plan is gone the type is unknown: then it may be a run of
 * `live`.
 */
export const isOfOtherType = (migration: PlanMigration, plans: readonly Plan[]): boolean =>
  plans.some((plan) => isOfPlan(migration, plan) && !isLive(migration, plan));

/** Returns the Migration's plan; undefined if that is not for live migrations, because Forklift runs the other types. */
export const livePlanOf = (migration: PlanMigration, plans: readonly Plan[]): Plan | undefined =>
  plans.find((plan) => isOfPlan(migration, plan) && isLive(migration, plan));

/** Whether the object is being deleted, and has the finalizer. */
export const isTerminating = (object: KubernetesObject): boolean =>
  hasFinalizer(object) && object.metadata.deletionTimestamp !== undefined;

/**
 * Whether the place of the VM is the target, however its run ended: the guest was seen there. The VM on the source must neither be started
 * nor moved again, because its disks are out of date, or may be.
 */
export const hasMoved = (shown: Pick<VmStatus, 'conditions'>): boolean =>
  has(shown, LIVE_CONDITION.succeeded) || has(shown, LIVE_CONDITION.cutOver);

/** Whether VMs of an idle plan have moved: what lasts of that is looked at until the plan is archived. */
export const hasMovedVms = (plan: Plan): boolean =>
  isIdle(plan) && plan.spec.archived !== true && (plan.status?.migration?.vms ?? []).some(hasMoved);

/** Whether the VM has moved, and has a condition that may end without an event. */
export const isAwaited = (vm: VmStatus): boolean => hasMoved(vm) && AFTER_MOVE.some((type) => has(vm, type));

const AFTER_MOVE: readonly LiveConditionType[] = [
  LIVE_CONDITION.restartWouldBeRefused,
  LIVE_CONDITION.nextCrashHalts,
  LIVE_CONDITION.runsOnBoth,
];

/** Whether the plan is for live migrations, and could not run at the last check, or not with all its VMs; or awaits something of them. */
export const isPlanBlocked = (plan: Plan): boolean => {
  const { spec, status } = plan;
  if (spec.type !== 'live' || spec.archived === true) return false;
  if (isIdle(plan) && (status?.migration?.vms ?? []).some(isAwaited)) return true;
  if (has(status, LIVE_CONDITION.succeeded)) return false;
  return !has(status, LIVE_CONDITION.ready) || ABOUT_VMS.some((type) => has(status, type));
};

/** Conditions of a plan that block the VMs that they are about, and not the others. */
export const BLOCKS_VMS: readonly LiveConditionType[] = [
  LIVE_CONDITION.noAddress,
  LIVE_CONDITION.overQuota,
  LIVE_CONDITION.limitRange,
  LIVE_CONDITION.instanceTypeDiffers,
  LIVE_CONDITION.cpuDiffers,
  LIVE_CONDITION.cpuNotKnown,
];

/** Conditions about some VMs of a plan alone, which may go without an event. */
export const ABOUT_VMS: readonly LiveConditionType[] = [
  ...BLOCKS_VMS,
  LIVE_CONDITION.restartWouldBeRefused,
  LIVE_CONDITION.nextCrashHalts,
  LIVE_CONDITION.runsOnBoth,
  LIVE_CONDITION.syncMayStartSource,
];
