import { shown } from '../../domain/foreign-text.ts';
import { has, isBlocking } from '../../domain/live/conditions.ts';
import type { Plan, PlanMigration, PlanVm, VmStatus } from '../../domain/live/forklift.ts';
import { isGivenUp } from '../run/break-glass.ts';
import { LIVE_ANNOTATION, LIVE_CONDITION, LIVE_REASON } from '../../domain/live/names.ts';
import { hasOutbox } from '../run/outbox.ts';
import { recordIn } from '../run/record.ts';
import { hasEnded, isClosed, hasFinalizer, isLive, planAt } from '../run/state.ts';
import type { RunDecision } from '../run/decision.ts';
import { runClustersOf } from '../run/run-clusters.ts';
import { runSettings } from '../run/settings.ts';
import { isSameVm, stopOf } from '../run/stop.ts';
import { named } from '../../domain/live/reference.ts';
import type { ApiServer } from '../../kubernetes/cluster.ts';
import { retryOnConflict } from '../../kubernetes/attempts.ts';
import { NETWORK_MAPS, PLAN_MIGRATIONS, PLANS, STORAGE_MAPS } from '../../kubernetes/live-resources.ts';
import {
  startRun,
  reconciled,
  releaseRun,
  notStarted,
  readRunProviders,
  type ReconcileResult,
} from './start.ts';
import { checkPlan, isForkliftHere } from '../plan/check.ts';
import { hostsOf } from '../plan/requester-review.ts';
import type { LiveContext } from '../context.ts';
import { skipEndedVm } from './skip-ended-vm.ts';
import { getOrUndefined } from '../read/get.ts';
import { abandon } from './abandon.ts';
import {
  providerObjects,
  closeMigration,
  addFinalizers,
  providersIn,
  removeFinalizers,
  type HeldObjects,
} from './finalizers.ts';
import { waitForClusterIds, waitForProviders } from './cluster-unknown.ts';
import { moveVm, type MoveResult, type RunContext, type RunVm } from './move-vm.ts';
import { resultOfOpen } from './open-result.ts';
import { noMaps, type Maps } from '../read/run.ts';
import { readIdentity } from '../read/source.ts';
import { postOutbox, writeRunStatus, type MigrationWithPlan } from './write-status.ts';
import { isUnknown } from '../status/vm.ts';
import { clustersOf, mayBeRemoved, removeRecords, withKeptRecord } from './remove-records.ts';
import { refusalOfEdit } from './refusal-of-edit.ts';
import { scaleUpWatcher } from './scale-up-watcher.ts';
import { releaseWithoutPlan, reconcileWithoutPlan } from './plan-gone.ts';

export interface MigrationAt {
  readonly namespace: string;
  readonly name: string;
  /** The uid; left out where the event does not say it. */
  readonly uid?: string;
}

/** Attempts after conflicts: another process writes the same Migration. */
const ATTEMPTS = 4;

/** Reconciles a Migration as far as it goes now. Rejects if the hub does not answer: the Broker sends the event again. */
export const reconcileMigration = (at: MigrationAt, context: LiveContext): Promise<ReconcileResult> =>
  retryOnConflict(ATTEMPTS, () => reconcile(at, context));

async function reconcile(at: MigrationAt, context: LiveContext): Promise<ReconcileResult> {
  const { hub } = context;
  const reading = hub.get(PLAN_MIGRATIONS, at);
  const migration = await getOrUndefined(reading);
  if (migration === undefined) return reconciled('the Migration is gone');
  const { spec } = migration;
  if (hasEnded(migration)) return reconcileEnded(migration, context);
  const plan = spec.plan.name ? await getOrUndefined(hub.get(PLANS, planAt(migration))) : undefined;
  if (isClosed(migration)) return reconcileClosed({ migration, plan }, context);
  if (plan === undefined) return reconcileWithoutPlan(migration, context);
  if (!isLive(migration, plan)) return releaseOtherType(migration, context);
  return mustContinue({ migration, plan })
    ? continueRun({ migration, plan, now: (await reading).date.getTime() }, context)
    : startRun({ migration, plan }, context);
}

const endOf = ({ metadata }: PlanMigration): ReconcileResult => ({
  ...reconciled('the Migration has ended'),
  ended: metadata.uid,
});

async function reconcileEnded(migration: PlanMigration, context: LiveContext): Promise<ReconcileResult> {
  if (hasOutbox(migration)) await postOutbox(migration, context);
  return endOf(migration);
}

/** Removes the finalizers of a closed Migration: the process that closed it ended before it had removed all, or is about to. */
async function reconcileClosed(
  { migration, plan }: { readonly migration: PlanMigration; readonly plan: Plan | undefined },
  context: LiveContext,
): Promise<ReconcileResult> {
  // A Migration that is being deleted goes with the last finalizer.
  if (hasOutbox(migration)) await postOutbox(migration, context);
  await (plan === undefined
    ? releaseWithoutPlan(migration, context)
    : releaseRun({ migration, plan }, context));
  return endOf(migration);
}

/** Removes the finalizer of a Migration of another type. A copy that was created with it would never go. */
async function releaseOtherType(migration: PlanMigration, context: LiveContext): Promise<ReconcileResult> {
  if (hasFinalizer(migration)) await removeFinalizers({ migration, plan: undefined, providers: [] }, context);
  return reconciled('the plan is not for live migrations');
}

/**
 * Whether the run has begun. The plan's status has the run too, and its VMs cannot change from then on: before, the plan may be another one
 * than was checked. A run that must end does not follow the plan.
 */
function mustContinue(pair: MigrationWithPlan): boolean {
  const { migration, plan } = pair;
  const { metadata, status } = migration;
  if (status?.started === undefined) return false;
  const isShown = (plan.status?.migration?.history ?? []).some((run) => run.migration.uid === metadata.uid);
  const isMoving = (status.vms ?? []).some(({ started }) => started !== undefined);
  return isShown || isMoving || mustEnd(pair);
}

const mustEnd = ({ migration, plan }: MigrationWithPlan): boolean =>
  [migration, plan].some(({ metadata }) => metadata.deletionTimestamp !== undefined) ||
  plan.spec.archived === true ||
  plan.spec.type !== 'live';

/** Moves every VM as far as it goes, writes the statuses, and at the end of all VMs removes the finalizers. */
async function continueRun(
  { migration, plan: read, now }: MigrationWithPlan & { readonly now: number },
  context: LiveContext,
): Promise<ReconcileResult> {
  const { hub, log } = context;
  const plan = await recheckUnreadPlan(read, context);
  const providers = await readRunProviders({ migration, plan }, context);
  const held = await addFinalizers({ migration, plan, providers }, hub);
  const vms = vmsOf(held);
  const [decided] = await Promise.all([
    moveVms(vms, { ...held, now }, context),
    context.isWatched === true ? undefined : scaleUpWatcher(migration, context),
  ]);
  const ended = new Map(
    vms.filter(({ shown }) => shown.completed !== undefined).map(({ entry, shown }) => [entry, shown]),
  );
  const again = await removeRecords(
    decided.filter(({ entry }) => ended.has(entry)),
    held,
    context,
  );
  const moved = decided.map((one) => withKeptRecord(one, again.get(one), ended.get(one.entry)));
  for (const { entry, decision } of moved) {
    if (isUnknown(decision))
      log('warn', decision.message, { migration: migration.metadata.name, vm: entry.name });
  }
  const shown = await writeRunStatus(held, moved, context);
  if (moved.some(needsPlanCheck)) await checkUnlessForkliftRuns(shown.plan, context);
  const first = await removeRecords(
    decided.filter(({ entry }) => !ended.has(entry)),
    held,
    context,
  );
  const isOver = moved.every(
    ({ decision }) => decision.kind === 'ended' && (isGivenUp(migration) || decision.leftovers.length === 0),
  );
  const isUnrecorded = decided.some((one) => !ended.has(one.entry) && isUnrecordedEnd(one));
  // The next reconcile lists the refused removals.
  if ([...first.values()].some(({ kind }) => kind !== 'written') || mayBeRemoved(again) || isUnrecorded)
    return { message: 'the records of the VMs are to be looked at again', requeue: true };
  if (!isOver) return resultOfOpen(moved, migration);
  await removeFinalizers(
    {
      ...shown,
      migration: await closeMigration(shown.migration, hub),
      providers: providersIn(held.providers),
    },
    context,
  );
  return endOf(migration);
}

/**
 * Whether a VM ends without a record. Another call may have begun it before the end was written. After that no call that reads the
 * Migration begins it (withdraw-late-record.ts).
 */
const isUnrecordedEnd = ({ decision, snapshot }: MoveResult): boolean =>
  decision.kind === 'ended' && snapshot?.source.vm !== undefined && recordIn(snapshot) === undefined;

function vmsOf(held: HeldObjects): (RunVm & { readonly shown: VmStatus })[] {
  const objects = providerObjects(held.providers);
  return (held.migration.status?.vms ?? []).map((shown) => {
    const entry = entryOf(shown, held.plan);
    return { shown, entry, stop: stopOf(entry, { ...held, providerObjects: objects }) };
  });
}

/** Checks the plan again if a cluster did not answer. While VMs move no event triggers the check, and a renewed token may have helped. */
async function recheckUnreadPlan(plan: Plan, context: LiveContext): Promise<Plan> {
  const { executing, sourceProviderNotReady, destinationProviderNotReady } = LIVE_CONDITION;
  const isBlind = [sourceProviderNotReady, destinationProviderNotReady].some((type) =>
    has(plan.status, type),
  );
  return isBlind && has(plan.status, executing) ? checkUnlessForkliftRuns(plan, context) : plan;
}

/**
 * Checks the plan, unless Forklift was installed during the run: it checks its plans itself, and the two would undo each other's
 * conditions.
 */
const checkUnlessForkliftRuns = async (plan: Plan, context: LiveContext): Promise<Plan> =>
  (await isForkliftHere(context.hub)) ? plan : (await checkPlan(plan, context)).plan;

/** Returns why no VM begins now. Forklift, if it was installed since the run began, would run the plan too. */
async function blockersOf({ migration, plan }: HeldObjects, hub: ApiServer): Promise<string[]> {
  const mayBegin = (migration.status?.vms ?? []).some(({ started }) => started === undefined);
  const forklift = mayBegin && (await isForkliftHere(hub)) ? [FORKLIFT_IS_HERE] : [];
  return [
    ...forklift,
    ...(plan.status?.conditions ?? []).filter(isBlocking).map((each) => shown(each.message ?? each.type)),
  ];
}

const FORKLIFT_IS_HERE = 'Forklift was installed, so it runs the live plans: mtq begins no VM';

/** Whether Providers and Plan need a check, so that their conditions name the problem. */
const needsPlanCheck = ({ decision }: MoveResult): boolean =>
  isUnknown(decision) || (decision.kind === 'wait' && decision.reason === LIVE_REASON.planNotReady);

/** Returns the plan's entry, with the VM that was found on the source when the run began. */
const entryOf = (shown: VmStatus, { spec }: Plan): PlanVm => {
  const entry = spec.vms.find((each) => isSameVm(each, shown)) ?? {};
  const { id, namespace, name } = shown;
  return { ...entry, ...(id && { id }), ...(namespace && { namespace }), ...(name && { name }) };
};

/** Moves the VMs. A VM that waits for a cluster that does not answer ends if a user has given the run up. */
async function moveVms(
  vms: readonly RunVm[],
  held: HeldObjects & Pick<RunContext, 'now'>,
  context: LiveContext,
): Promise<MoveResult[]> {
  const run = await readRunContext(held, context);
  const moved =
    'kind' in run
      ? vms.map(({ entry }) => ({ entry, decision: run, requeue: false }))
      : await moveWithinLimit(vms, run, context);
  const now = context.clock.now().getTime();
  return moved.map((one, index) => {
    const shown = vms[index]?.shown;
    return shown === undefined ? one : { ...one, decision: abandon(one.decision, { ...held, shown, now }) };
  });
}

/** Moves the VMs within the limit. A VM that has begun goes on whatever the limit is; one that must end needs no room. */
async function moveWithinLimit(
  vms: readonly RunVm[],
  run: RunContext,
  { clock, maxVmsInFlight: max }: Pick<LiveContext, 'clock' | 'maxVmsInFlight'>,
): Promise<MoveResult[]> {
  const hasBegun = ({ shown }: RunVm): boolean => shown?.started !== undefined;
  const isInFlight = ({ shown }: RunVm): boolean =>
    shown?.started !== undefined && shown.completed === undefined;
  const room = Math.max(0, max - vms.filter(isInFlight).length);
  const next = new Set(vms.filter((vm) => !hasBegun(vm)).slice(0, room));
  const message = `Waiting to start migration: in-flight limit reached (max ${String(max)}).`;
  return Promise.all(
    vms.map(async (vm): Promise<MoveResult> => {
      const mayMove = hasBegun(vm) || next.has(vm) || vm.stop !== undefined;
      const decision = mayMove ? await skipEndedVm(vm, run) : notStarted(message);
      return decision === undefined ? moveVm(vm, run, clock) : { entry: vm.entry, decision, requeue: false };
    }),
  );
}

/** Reads the context of the run; resolves with the decision to wait if the clusters cannot be read. */
async function readRunContext(
  held: HeldObjects & Pick<RunContext, 'now'>,
  { hub }: LiveContext,
): Promise<RunContext | RunDecision> {
  const { migration, plan, providers, now } = held;
  const clusters = clustersOf(held, hub);
  const run = runClustersOf(migration);
  if (run === undefined) return waitForClusterIds(LIVE_ANNOTATION.clusters, migration);
  if (clusters === undefined) return waitForProviders(providers, migration);
  const blockers = await blockersOf(held, hub);
  let refusal: Promise<string | undefined> | undefined;
  let maps: Promise<Maps> | undefined;
  const editRefusal = (): Promise<string | undefined> => (refusal ??= refusalOfEdit(held, hub));
  return {
    ...{ plan, migration, providers, clusters, blockers, now },
    ids: { source: run.source.cluster, target: run.target.cluster },
    editRefusal,
    maps: () => (maps ??= readMaps(plan, editRefusal, hub)),
    settings: runSettings({
      source: providers.source?.provider.spec.settings,
      destination: providers.destination?.provider.spec.settings,
    }),
    hosts: hostsOf(providers),
    hubId: async () => (await readIdentity(hub)).cluster,
  };
}

/** Reads the maps. A map that is gone maps nothing: the steps that need it say so. */
async function readMaps(plan: Plan, editRefusal: RunContext['editRefusal'], hub: ApiServer): Promise<Maps> {
  const { metadata, spec } = plan;
  const { namespace = '' } = metadata;
  const none = noMaps(plan);
  const unread = await editRefusal();
  if (unread !== undefined) return { ...none, unread };
  const [storage = none.storage, networks = none.networks] = await Promise.all([
    getOrUndefined(hub.get(STORAGE_MAPS, { namespace, ...named(spec.map.storage) })),
    getOrUndefined(hub.get(NETWORK_MAPS, { namespace, ...named(spec.map.network) })),
  ]);
  return { storage, networks };
}
