import { shown } from '../../domain/foreign-text.ts';
import { writeEvents } from '../../cluster/report.ts';
import { hostsOf, reviewOf } from '../plan/requester-review.ts';
import { critical, has, type Finding } from '../../domain/live/conditions.ts';
import { wait, type RunDecision } from '../run/decision.ts';
import type { NamedReference, Plan, PlanMigration, PlanVm } from '../../domain/live/forklift.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { LIVE_ANNOTATION, LIVE_CONDITION, LIVE_FINALIZER, LIVE_REASON } from '../../domain/live/names.ts';
import type { SourceView, TargetView } from '../findings/plan-view.ts';
import { migrationBefore, waitingForMigration } from '../run/queue.ts';
import { runClustersOf, withRunClusters, type RunClusters, type RunProvider } from '../run/run-clusters.ts';
import { hasFinalizer, isTerminating, planAt } from '../run/state.ts';
import {
  RIGHT_TO_MAKE_NAMESPACE,
  rightsToCopy,
  rightsToMake,
  rightsToMove,
  rightsToUse,
  rightToRead,
  type Right,
} from '../plan/rights-needed.ts';
import { named } from '../../domain/live/reference.ts';
import { EVENT_REASON, REASON } from '../../domain/names.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { Cluster, Reader } from '../../kubernetes/cluster.ts';
import { FORKLIFT_CONTROLLERS, PLAN_MIGRATIONS } from '../../kubernetes/live-resources.ts';
import { NAMESPACES } from '../../kubernetes/resources.ts';
import { checkPlan, forkliftControllers } from '../plan/check.ts';
import { runProviderOf, readProvider, type FoundProvider } from '../read/providers.ts';
import type { LiveContext } from '../context.ts';
import { getOrUndefined } from '../read/get.ts';
import { addFinalizers, providersIn, removeFinalizers } from './finalizers.ts';
import { OPEN_MIGRATIONS } from '../read/listed-forklift.ts';
import { FIRST_STEP } from './cluster-unknown.ts';
import type { PlanProviders } from '../read/plan-view.ts';
import { writeProblem, writeRunStatus, type MigrationWithPlan } from './write-status.ts';
import { shownVmStatus } from '../status/report.ts';
import type { DecidedVm } from '../status/vm.ts';

/** The result of one reconcile. */
export interface ReconcileResult {
  readonly message: string;
  /** Whether the next event is to come at once. */
  readonly requeue: boolean;
  /** The versions of the objects by which its VMs wait, by cluster and uid; left out where more is due. */
  readonly decidedBy?: ReadonlyMap<string, string>;
  /** Whether only KubeVirt acts on its VMs. */
  readonly isWithKubeVirt?: boolean;
  /** The uid of a Migration with which nothing is left to do, ever. */
  readonly ended?: string;
}

export const reconciled = (message: string): ReconcileResult => ({ message, requeue: false });

/** Checks the plan, adds the finalizers, and then writes the list of the VMs: before anything is written on their clusters. */
export async function startRun(pair: MigrationWithPlan, context: LiveContext): Promise<ReconcileResult> {
  const { migration, plan } = pair;
  const cannot = await startBlocker(pair, context);
  if (cannot !== undefined) return cannot;
  const checked = await checkPlan(plan, context);
  const { sourceCluster, targetCluster } = checked.view ?? {};
  if (!checked.isReady || sourceCluster === undefined || targetCluster === undefined)
    return reportNotReady(pair, context);
  const { providers } = checked;
  const clusters = clustersOfRun({ sourceCluster, targetCluster }, providers);
  if (clusters === undefined) return reportNotReady(pair, context);
  const vms = sourceCluster.vms.flatMap(({ found }) => found);
  const refused = await requesterRefusal({ migration, plan: checked.plan, providers, vms }, context);
  if (refused !== undefined) {
    await writeProblem(migration, refused, context);
    return reconciled(shown(refused.message ?? 'not allowed'));
  }
  const between = withClusters(migration, clusters);
  const held = await addFinalizers({ migration: between, plan: checked.plan, providers }, context.hub);
  const runs = vmsToStart({ migration, plan: checked.plan }, sourceCluster);
  await writeRunStatus({ ...held, refers: checked.view }, runs, context);
  return { message: `the run of ${String(runs.length)} VMs begins`, requeue: true };
}

/** Returns the clusters with their providers; undefined if a provider is gone, or is being deleted. */
function clustersOfRun(
  {
    sourceCluster,
    targetCluster,
  }: { readonly sourceCluster: SourceView; readonly targetCluster: TargetView },
  providers: PlanProviders,
): RunClusters | undefined {
  const { source, destination } = providers;
  if (source === undefined || destination === undefined) return undefined;
  if (providersIn(providers).some(({ provider }) => isTerminating(provider))) return undefined;
  return {
    source: { cluster: sourceCluster.cluster, provider: runProviderOf(source.provider) },
    target: { cluster: targetCluster.cluster, provider: runProviderOf(destination.provider) },
  };
}

/** Returns the VMs that no earlier run has moved. */
const vmsToStart = ({ migration, plan }: MigrationWithPlan, { vms }: SourceView): DecidedVm[] =>
  plan.spec.vms.flatMap((entry, index) => {
    const hasMoved = shownVmStatus(plan, migration, entry) !== undefined;
    return hasMoved ? [] : [vmToStart(entry, vms[index]?.found[0]?.metadata)];
  });

interface Requested extends MigrationWithPlan {
  readonly providers: PlanProviders;
  /** VMs on the source. */
  readonly vms: readonly VirtualMachine[];
}

/**
 * Refuses a run that needs rights which the user who created the Migration lacks, or who wrote the Plan last: the run would use `live`'s own.
 * A Plan may be edited after its Migration was created. Rights that depend on what is in the namespaces are asked for last.
 */
async function requesterRefusal(
  { migration, plan, providers, vms }: Requested,
  { hub }: LiveContext,
): Promise<Finding | undefined> {
  const hosts = hostsOf(providers);
  const review = await reviewOf([migration, plan], hub);
  const refusal = await review([...rightsToUse(plan), ...rightsToMove(plan, hosts)]);
  if (refusal !== undefined) return refusal;
  return review([
    ...(hosts.isSource ? vms.flatMap(rightsToCopy) : []),
    ...(hosts.isTarget ? await rightsInTarget({ plan, vms }, hub) : []),
  ]);
}

/** Refuses a Migration whose requester may not read the Plan that it names: its status would say whether there is one, and how it is. */
export async function planRefusal(migration: PlanMigration, hub: Cluster): Promise<Finding | undefined> {
  if (!migration.spec.plan.name) return undefined;
  const review = await reviewOf([migration], hub);
  return review([rightToRead(planAt(migration))]);
}

async function rightsInTarget({ plan, vms }: Pick<Requested, 'plan' | 'vms'>, hub: Reader): Promise<Right[]> {
  const { targetNamespace: name } = plan.spec;
  const namespace = await getOrUndefined(hub.get(NAMESPACES, { name }));
  const toMake = namespace === undefined ? [RIGHT_TO_MAKE_NAMESPACE] : [];
  return [...toMake, ...rightsToMake(vms, name)];
}

async function reportNotReady(
  { migration, plan }: MigrationWithPlan,
  context: LiveContext,
): Promise<ReconcileResult> {
  const finding = critical(LIVE_CONDITION.planNotReady, 'NotFound', {
    message: 'The `plan` does not have Ready condition.',
    suggestion: `See the conditions of Plan ${plan.metadata.name}.`,
  });
  await writeProblem(migration, finding, context);
  return reconciled('the plan is not Ready');
}

/** Adds the clusters of the run. */
function withClusters(migration: PlanMigration, clusters: RunClusters): PlanMigration {
  const { finalizers = [] } = migration.metadata;
  // A Migration that was created with the finalizer, from a copy, would not be written.
  const others = finalizers.filter((finalizer) => finalizer !== LIVE_FINALIZER);
  const annotations = withRunClusters(migration.metadata.annotations, clusters);
  return { ...migration, metadata: { ...migration.metadata, annotations, finalizers: others } };
}

/** Returns the first decision about a VM, with the uid, by which the VM is known from here on. */
function vmToStart(
  entry: PlanVm,
  vm: { readonly uid: string; readonly namespace?: string; readonly name: string } | undefined,
): DecidedVm {
  const { uid: id = entry.id, namespace = entry.namespace, name = entry.name } = vm ?? {};
  const known = { ...(id && { id }), ...(namespace && { namespace }), ...(name && { name }) };
  return { entry: { ...entry, ...known }, decision: notStarted('the run begins') };
}

/** The decision about a VM that does not move yet. */
export const notStarted = (message: string): RunDecision => ({
  ...wait(LIVE_REASON.waitingToStart, message),
  step: FIRST_STEP,
});

/** Whether the Migration or its Plan is being deleted, or the Migration failed before it began. */
const isEnding = ({ migration, plan }: MigrationWithPlan): boolean =>
  migration.status?.completed !== undefined ||
  [migration, plan].some(({ metadata }) => metadata.deletionTimestamp !== undefined);

/**
 * Undoes an interrupted start. First the Migration loses its clusters, by the version that was read: another call may be about to write
 * that the run has begun, and one of the two has a conflict then. Rejects with it.
 */
async function undoStart({ migration, plan }: MigrationWithPlan, context: LiveContext): Promise<void> {
  if (!hasFinalizer(migration)) return;
  const { [LIVE_ANNOTATION.clusters]: _, ...annotations } = migration.metadata.annotations ?? {};
  const metadata = { ...migration.metadata, annotations };
  const { object } = await context.hub.replace(PLAN_MIGRATIONS, { ...migration, metadata });
  await releaseRun({ migration: object, plan }, context);
}

/** Removes the finalizers of the Migration, its Plan and its Providers that no other run needs. */
export async function releaseRun(
  { migration, plan }: MigrationWithPlan,
  context: LiveContext,
): Promise<void> {
  if (!hasFinalizer(migration)) return;
  const providers = providersIn(await readProviders(plan, context));
  await removeFinalizers({ migration, plan, providers }, context);
}

/** Returns why no run of the plan begins any more; undefined if one may. */
function planEnd({ spec, status }: Plan): Finding | undefined {
  if (spec.archived === true)
    return critical(LIVE_CONDITION.planNotReady, 'Archived', {
      message: 'The `plan` is archived.',
      suggestion: 'Create another plan, or set spec.archived of this one to false.',
    });
  if (!has(status, LIVE_CONDITION.succeeded)) return undefined;
  return critical(LIVE_CONDITION.planNotReady, 'Succeeded', {
    message: 'The `plan` has moved its VMs already.',
    suggestion: 'Create another plan for other VMs.',
  });
}

/** Returns why the run does not begin; undefined if it may. If it never will, an interrupted start is undone. */
async function startBlocker(
  { migration, plan }: MigrationWithPlan,
  context: LiveContext,
): Promise<ReconcileResult | undefined> {
  const { hub } = context;
  if (isEnding({ migration, plan })) {
    await undoStart({ migration, plan }, context);
    return reconciled('it ended before it began');
  }
  const [forklift] = await forkliftControllers(hub);
  if (forklift !== undefined) return leaveToForklift(forklift, context);
  const unreadable = await planRefusal(migration, hub);
  if (unreadable !== undefined) return endStart({ migration, plan }, unreadable, context);
  const never = planEnd(plan);
  if (never !== undefined) return endStart({ migration, plan }, never, context);
  return waitForTurn({ migration, plan }, context);
}

/** Returns which Migration of the plan comes first; undefined if it is this one's turn. */
async function waitForTurn(
  { migration, plan }: MigrationWithPlan,
  context: LiveContext,
): Promise<ReconcileResult | undefined> {
  if (migration.status?.started !== undefined) return undefined;
  const { items } = await context.hub.list(OPEN_MIGRATIONS, {});
  const first = migrationBefore(migration, plan, items);
  if (first === undefined) return undefined;
  // The list has no leftovers.
  const whole = await getOrUndefined(context.hub.get(PLAN_MIGRATIONS, first.metadata));
  await writeProblem(migration, waitingForMigration(migration, whole ?? first), context);
  return reconciled(`waiting for the end of Migration ${first.metadata.name}`);
}

/** Writes why the run does not begin, and undoes an interrupted start. */
async function endStart(
  { migration, plan }: MigrationWithPlan,
  problem: Finding,
  context: LiveContext,
): Promise<ReconcileResult> {
  await undoStart({ migration: await writeProblem(migration, problem, context), plan }, context);
  return reconciled(shown(problem.message ?? problem.type));
}

/** Writes an Event once, where an admin looks. */
async function leaveToForklift(
  { metadata: { namespace = '', name, uid } }: KubernetesObject,
  { hub: cluster, clock, log }: LiveContext,
): Promise<ReconcileResult> {
  const { apiVersion, kind } = FORKLIFT_CONTROLLERS;
  const message = 'Forklift is installed, so it runs the live plans too: mtq leaves them to it';
  log('warn', message, { controller: name });
  await writeEvents({ cluster, clock, log }, [
    {
      ...{ on: { apiVersion, kind, namespace, name, uid }, type: 'Normal', message, key: uid },
      ...{ reason: EVENT_REASON.leftToForklift, because: REASON.reported },
    },
  ]);
  return reconciled('Forklift runs the plans');
}

/** Reads each provider as it is now; undefined if it is gone. */
export async function readProviders({ spec, metadata }: Plan, context: LiveContext): Promise<PlanProviders> {
  const { namespace = '' } = metadata;
  const [source, destination] = await Promise.all([
    readProvider({ namespace, ...named(spec.provider.source) }, context),
    readProvider({ namespace, ...named(spec.provider.destination) }, context),
  ]);
  return { source, destination };
}

/**
 * Reads each provider that the run began with; undefined if it is gone. The Plan may be another one of its name, or have been edited: nothing
 * is read, held or sent by a Provider that the user of the run was not allowed to use.
 */
export async function readRunProviders(
  { migration, plan: { spec, metadata } }: MigrationWithPlan,
  context: LiveContext,
): Promise<PlanProviders> {
  const { namespace = '' } = metadata;
  const run = runClustersOf(migration);
  const readOwn = async (
    at: NamedReference,
    as: RunProvider | undefined,
  ): Promise<FoundProvider | undefined> =>
    as === undefined ? undefined : readProvider({ namespace, ...named(at), as }, context);
  const [source, destination] = await Promise.all([
    readOwn(spec.provider.source, run?.source.provider),
    readOwn(spec.provider.destination, run?.target.provider),
  ]);
  return { source, destination };
}
