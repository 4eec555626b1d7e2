import { has } from '../../domain/live/conditions.ts';
import type { NamedReference, Plan, PlanMigration } from '../../domain/live/forklift.ts';
import { FORKLIFT_KIND, LIVE_CONDITION } from '../../domain/live/names.ts';
import { named } from '../../domain/live/reference.ts';
import {
  hasEnded,
  isArchived,
  isAwaited,
  hasFinalizer,
  isTerminating,
  isObserved,
  isMigrationObserved,
  isOfPlan,
  canStillRun,
  hasMovedVms,
  isRunningPlanObserved,
  isPlanObserved,
  needsCheck,
  hasOpenRun,
  waitsToStart,
  byPlan,
  planAt,
} from '../run/state.ts';
import { inRunOrder } from '../run/queue.ts';
import type { LiveRequest } from '../../eventing/live-events.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { Reader, ResourceType } from '../../kubernetes/cluster.ts';
import {
  HOOKS,
  NETWORK_MAPS,
  PLAN_MIGRATIONS,
  PLANS,
  PROVIDERS,
  STORAGE_MAPS,
} from '../../kubernetes/live-resources.ts';
import { readProviders } from './start.ts';
import { checkPlan, isForkliftHere, writeArchived } from '../plan/check.ts';
import { checkHook, checkNetworkMap, checkProvider, checkStorageMap } from '../plan/check-referred.ts';
import { endRefresh, isRefreshAsked } from '../plan/refresh.ts';
import { checkMoved } from '../plan/check-moved.ts';
import { readProvider, type FoundProvider } from '../read/providers.ts';
import type { LiveContext } from '../context.ts';
import { getOrUndefined } from '../read/get.ts';
import { providersIn, removeFinalizers } from './finalizers.ts';
import { mapsThatName, OPEN_MIGRATIONS, plansThatName } from '../read/listed-forklift.ts';
import type { MigrationAt } from './reconcile.ts';

/** Handles the objects of the event, and resolves with the Migrations that may go on by it. */
export async function migrationsOfEvent(
  request: LiveRequest,
  context: LiveContext,
): Promise<readonly MigrationAt[]> {
  const { kind, namespace, name, isChange } = request;
  if (kind === FORKLIFT_KIND.migration.kind) {
    const at = { namespace, name };
    return isChange ? oneAtATime(request, context, () => afterMigrationChange(at, context)) : [at];
  }
  if (kind === FORKLIFT_KIND.plan.kind)
    return oneAtATime(request, context, () => afterPlanEvent(request, context));
  const referred = REFERRED.find(({ type }) => type.kind === kind);
  if (referred !== undefined)
    return oneAtATime(request, context, () => afterReferredEvent(request, referred, context));
  if (request.runs.length > 0) return request.runs;
  return openMigrations(context.hub, (migration) => isNamedAfter(migration, request));
}

type Checked = Pick<LiveRequest, 'kind' | 'namespace' | 'name'> & { readonly isChange?: boolean };

/** The key of an object's turns: its reconciles and its checks are done one after another. */
export const turnOf = ({ kind, namespace, name }: Checked): string => `${kind}/${namespace}/${name}`;

/**
 * Does the work when no other one for the object is under way in this process. Equal calls that wait share one: a check costs a thousand
 * reads, and any pod may post its event again and again.
 */
async function oneAtATime(
  checked: Checked,
  { turns }: LiveContext,
  work: () => Promise<readonly MigrationAt[]>,
): Promise<readonly MigrationAt[]> {
  const turn = { key: turnOf(checked), dedupeKey: String(checked.isChange) };
  return turns === undefined ? work() : (await turns.serialize(turn, work)).result;
}

/** Checks the plan by another object's event, when no other check of it is under way in this process. */
const checkOneAtATime = (
  { namespace = '', name = '' }: NamedReference,
  context: LiveContext,
  check: () => Promise<unknown>,
): Promise<readonly MigrationAt[]> =>
  oneAtATime({ kind: FORKLIFT_KIND.plan.kind, namespace, name }, context, async () => {
    await check();
    return [];
  });

/** A kind that plans name. */
interface ReferredKind {
  readonly type: ResourceType<KubernetesObject & { status?: { observedGeneration?: number } }>;
  readonly check: (at: MigrationAt, context: LiveContext) => Promise<unknown>;
}

const REFERRED: readonly ReferredKind[] = [
  { type: PROVIDERS, check: checkProviderWithMaps },
  { type: STORAGE_MAPS, check: checkStorageMap },
  { type: NETWORK_MAPS, check: checkNetworkMap },
  { type: HOOKS, check: checkHook },
];

/**
 * Returns the Migrations to reconcile after a change of a Migration. `live`'s own writes to the statuses of Migration and Plan come back as
 * events, which are ignored. A Migration that is over lets those begin that wait near it.
 */
async function afterMigrationChange(at: MigrationAt, context: LiveContext): Promise<readonly MigrationAt[]> {
  const { hub } = context;
  const { namespace } = at;
  const migration = await getOrUndefined(hub.get(PLAN_MIGRATIONS, at));
  if (migration !== undefined && !hasEnded(migration)) return isMigrationObserved(migration) ? [] : [at];
  const plan = migration?.spec.plan.name ? planAt(migration) : undefined;
  if (plan !== undefined) await checkOneAtATime(plan, context, () => checkIdlePlanAt(plan, context));
  return waitingMigrations(hub, (waiting) => isNear(waiting, namespace) || isOf(waiting, plan));
}

/** Whether the Migration, or the Plan that it names, is in the namespace. */
const isNear = ({ spec, metadata }: PlanMigration, namespace: string): boolean =>
  metadata.namespace === namespace || spec.plan.namespace === namespace;

const isOf = (migration: PlanMigration, plan: Required<NamedReference> | undefined): boolean =>
  plan !== undefined && isOfPlan(migration, { metadata: plan });

/** Migrations of a Plan that one event triggers: any tenant may create a thousand, and each lists all. The guard's resync triggers the others. */
const MAX_WAITING = 10;
/** Plans, and maps of a kind, that one event has checked: any tenant may create a thousand. The guard's resync reaches the other Plans. */
const MAX_CHECKED = 10;

/** Returns the Migrations that wait to begin, the first ones of each Plan. Any pod may post the event: it must not trigger those of all. */
const waitingMigrations = (
  hub: Reader,
  isMeant: (migration: PlanMigration) => boolean,
): Promise<readonly MigrationAt[]> =>
  openMigrations(hub, (migration) => waitsToStart(migration) && isMeant(migration));

/** Checks a plan that has no run under way any more: during the run its VMs were not checked. */
async function checkIdlePlanAt(at: NamedReference, context: LiveContext): Promise<void> {
  const plan = await getOrUndefined(context.hub.get(PLANS, named(at)));
  if (plan !== undefined && !isShownByRuns(plan)) await checkIdlePlan(plan, context);
}

/** Whether its runs have moved all its VMs, and nothing is awaited of them. */
const isShownByRuns = (plan: Plan): boolean =>
  hasMovedVms(plan) && !needsCheck(plan) && !(plan.status?.migration?.vms ?? []).some(isAwaited);

async function checkIdlePlan(plan: Plan, context: LiveContext): Promise<void> {
  if (isTerminating(plan)) return releaseDeletedPlan(plan, context);
  const check = checkOf(plan);
  if (check !== undefined && !(await isForkliftHere(context.hub))) await check(plan, context);
}

/** Returns the check for a plan that has no run under way; undefined if there is none to do. */
function checkOf(plan: Plan): ((plan: Plan, context: LiveContext) => Promise<unknown>) | undefined {
  if (isArchived(plan)) return writeArchived;
  if (!needsCheck(plan)) return hasMovedVms(plan) ? checkMoved : undefined;
  return hasMovedVms(plan) ? checkWithMoved : checkPlan;
}

/** Checks a plan some of whose VMs have moved. */
async function checkWithMoved(plan: Plan, context: LiveContext): Promise<void> {
  const { plan: checked } = await checkPlan(plan, context);
  await checkMoved(checked, context);
}

/**
 * Removes the finalizers of a deleted Plan. A late call, which read the Migration before another one removed them, may have added one
 * again, and no other call removes it.
 */
async function releaseDeletedPlan(plan: Plan, context: LiveContext): Promise<void> {
  const { items } = await context.hub.list(OPEN_MIGRATIONS, {});
  // A run whose finalizer a user removed goes on all the same.
  if (items.some((migration) => isOfPlan(migration, plan) && hasOpenRun(migration))) return;
  const providers = providersIn(await readProviders(plan, context));
  await removeFinalizers({ migration: undefined, plan, providers }, context);
}

/** Whether the event says nothing new: Forklift runs the plan, or a run of it has seen its spec. */
const isIgnored = (plan: Plan, isChange: boolean): boolean =>
  (plan.spec.type !== 'live' && !hasFinalizer(plan)) ||
  (isChange && !isRefreshAsked(plan) && isRunningPlanObserved(plan));

async function afterPlanEvent(
  { namespace, name, isChange }: LiveRequest,
  context: LiveContext,
): Promise<readonly MigrationAt[]> {
  const at = { namespace, name };
  const plan = await getOrUndefined(context.hub.get(PLANS, at));
  if (plan === undefined)
    return openMigrations(context.hub, (migration) => isOfPlan(migration, { metadata: at }));
  if (isIgnored(plan, isChange)) return [];
  // `live`'s own writes to the plan come back as events too.
  const isNew = !isChange || isRefreshAsked(plan) || !isPlanObserved(plan);
  if (isNew) await checkIdlePlan(plan, context);
  await endRefresh(context.hub, PLANS, plan);
  const mayGoOn = isNew || has(plan.status, LIVE_CONDITION.ready);
  return openMigrations(
    context.hub,
    (migration) =>
      isOfPlan(migration, plan) && (mayGoOn || !has(migration.status, LIVE_CONDITION.planNotReady)),
  );
}

/** Checks a provider, or releases it if it is being deleted; then the maps that name it, each for its own requester. */
async function checkProviderWithMaps(at: MigrationAt, context: LiveContext): Promise<void> {
  const { hub } = context;
  const checked = await checkProvider(at, context);
  if (checked !== undefined && isTerminating(checked.provider))
    await releaseDeletedProvider(await readProvider(at, context), context);
  const [storage, networks] = await Promise.all([
    hub.list(mapsThatName(STORAGE_MAPS, at), {}),
    hub.list(mapsThatName(NETWORK_MAPS, at), {}),
  ]);
  for (const { metadata } of storage.items.slice(0, MAX_CHECKED)) await checkStorageMap(metadata, context);
  for (const { metadata } of networks.items.slice(0, MAX_CHECKED)) await checkNetworkMap(metadata, context);
}

/** Removes the finalizers of a deleted Provider that no run needs any more; otherwise its last run does. */
async function releaseDeletedProvider(read: FoundProvider | undefined, context: LiveContext): Promise<void> {
  if (read !== undefined && isTerminating(read.provider))
    await removeFinalizers({ migration: undefined, plan: undefined, providers: [read] }, context);
}

/**
 * Handles a provider, a map or a hook: checks it by itself, then with each plan that names it. A change of the status alone is ignored: a
 * server's answer goes there, so a server with a different answer each time would cause checks without end.
 */
async function afterReferredEvent(
  { namespace, name }: LiveRequest,
  { type, check }: ReferredKind,
  context: LiveContext,
): Promise<readonly MigrationAt[]> {
  const { hub } = context;
  const at = { namespace, name };
  const object = await getOrUndefined(hub.get(type, at));
  const isKnown = object !== undefined && isObserved(object) && !isRefreshAsked(object);
  // Most events are of `live`'s own finalizers and statuses.
  if ((isKnown && !isTerminating(object)) || (await isForkliftHere(hub))) return [];
  if (isKnown) {
    // A call may have checked a Provider, and ended before it removed the finalizers.
    await releaseDeletedProvider(await readProvider(at, context), context);
    return [];
  }
  await check(at, context);
  const { items } = await hub.list(plansThatName(at), {});
  const plans = items.slice(0, MAX_CHECKED);
  await checkPlans(plans, context);
  if (type === PROVIDERS && object !== undefined) await endRefresh(hub, type, object);
  return openMigrations(hub, (migration) => plans.some((plan) => isOfPlan(migration, plan)));
}

async function checkPlans(plans: readonly KubernetesObject[], context: LiveContext): Promise<void> {
  for (const { metadata } of plans) {
    await checkOneAtATime(metadata, context, async () => {
      const plan = await getOrUndefined(context.hub.get(PLANS, metadata));
      // The plan's type may have changed since it was listed: then Forklift runs it.
      if (plan?.spec.type === 'live' && canStillRun(plan)) await checkPlan(plan, context);
    });
  }
}

/** Whether the run has made the object, such as the Job of a hook: its name has the Migration's uid. */
const isNamedAfter = ({ metadata }: PlanMigration, { name }: LiveRequest): boolean =>
  name.startsWith(`live-${metadata.uid}-`);

/** Returns the Migrations that run, and of those that wait to begin the first ones of each Plan. */
async function openMigrations(
  hub: Reader,
  isMeant: (migration: PlanMigration) => boolean,
): Promise<readonly MigrationAt[]> {
  const { items } = await hub.list(OPEN_MIGRATIONS, {});
  const meant = items.filter(isMeant);
  const others = meant.filter((migration) => !waitsToStart(migration));
  const waiting = byPlan(inRunOrder(meant.filter(waitsToStart)));
  return [...others, ...waiting.flatMap(firstOf)].map(placeOf);
}

/** Returns the first Migrations of a Plan. Anybody may create ones of it that are refused: they hold up no others. */
function firstOf(ofPlan: readonly PlanMigration[]): PlanMigration[] {
  const isRefused = ({ status }: PlanMigration): boolean => has(status, LIVE_CONDITION.notAllowed);
  return ofPlan
    .toSorted((one, other) => Number(isRefused(one)) - Number(isRefused(other)))
    .slice(0, MAX_WAITING);
}

const placeOf = ({ metadata: { namespace = '', name } }: PlanMigration): MigrationAt => ({ namespace, name });
