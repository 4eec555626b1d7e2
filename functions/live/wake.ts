import { has } from '../domain/live/conditions.ts';
import type { NamedReference, Plan, PlanMigration } from '../domain/live/forklift.ts';
import { FORKLIFT_KIND, LIVE_CONDITION, LIVE_KIND } from '../domain/live/names.ts';
import { hasEnded, isOfPlan } from '../domain/live/run-state.ts';
import type { LiveRequest } from '../eventing/live-events.ts';
import type { Reader } from '../kubernetes/cluster.ts';
import { PLAN_MIGRATIONS, PLANS, PROVIDERS } from '../kubernetes/live-resources.ts';
import {
  checkHook,
  checkNetworkMap,
  checkPlan,
  checkProvider,
  checkStorageMap,
  isForkliftHere,
} from './check.ts';
import type { LiveContext } from './context.ts';
import { found } from './found.ts';
import type { MigrationAt } from './pass.ts';

/** Looks at what the event is about, and resolves with the Migrations that may go on by it. */
export async function wake(request: LiveRequest, context: LiveContext): Promise<readonly MigrationAt[]> {
  const { kind, namespace, name } = request;
  if (kind === FORKLIFT_KIND.migration.kind) return [{ namespace, name }];
  if (kind === FORKLIFT_KIND.plan.kind) return ofPlan({ namespace, name }, context);
  const isOfPlans = CHECKED.has(kind) || kind === LIVE_KIND.secret.kind;
  if (isOfPlans) return ofReferred(request, context);
  return unfinished(context.hub, (migration) => concerns(migration, request));
}

const CHECKED = new Map<string, (at: NamedReference, context: LiveContext) => Promise<unknown>>([
  [FORKLIFT_KIND.provider.kind, checkProvider],
  [FORKLIFT_KIND.storageMap.kind, (at, context) => checkStorageMap(at, context)],
  [FORKLIFT_KIND.networkMap.kind, (at, context) => checkNetworkMap(at, context)],
  [FORKLIFT_KIND.hook.kind, checkHook],
]);

async function ofPlan(at: Required<NamedReference>, context: LiveContext): Promise<readonly MigrationAt[]> {
  const plan = await found(context.hub.get(PLANS, at));
  if (plan?.spec.type !== 'live') return [];
  // While it runs, its VMs say what is wrong; what the plan refers to is held, and immutable.
  const isBusy = has(plan.status, LIVE_CONDITION.executing) || plan.metadata.deletionTimestamp !== undefined;
  if (!isBusy && !(await isForkliftHere(context.hub))) await checkPlan(plan, context);
  return unfinished(context.hub, (migration) => isOfPlan(migration, plan));
}

/** A provider, its Secret, a map or a hook: checked by itself, then with each plan that names it. */
async function ofReferred(
  { kind, namespace, name }: LiveRequest,
  context: LiveContext,
): Promise<readonly MigrationAt[]> {
  const { hub } = context;
  if (await isForkliftHere(hub)) return [];
  await CHECKED.get(kind)?.({ namespace, name }, context);
  const providers = kind === LIVE_KIND.secret.kind ? await providersWith({ namespace, name }, hub) : [];
  for (const provider of providers) await checkProvider({ namespace, name: provider }, context);
  const names = kind === LIVE_KIND.secret.kind ? providers : [name];
  const { items } = await hub.list(PLANS, {});
  const plans = items.filter((plan) => plan.spec.type === 'live' && refersTo(plan, namespace, names));
  for (const plan of plans) if (plan.metadata.deletionTimestamp === undefined) await checkPlan(plan, context);
  return unfinished(hub, (migration) => plans.some((plan) => isOfPlan(migration, plan)));
}

async function providersWith({ namespace, name }: Required<NamedReference>, hub: Reader): Promise<string[]> {
  const { items } = await hub.list(PROVIDERS, { namespace });
  return items.filter(({ spec }) => spec.secret?.name === name).map(({ metadata }) => metadata.name);
}

function refersTo({ spec, metadata }: Plan, namespace: string, names: readonly string[]): boolean {
  const { provider, map, vms } = spec as Partial<Plan['spec']>;
  const references = [
    ...[provider?.source, provider?.destination, map?.network, map?.storage],
    ...(vms ?? []).flatMap(({ hooks = [] }) => hooks.map(({ hook }) => hook)),
  ];
  return references.some(
    (one) =>
      one !== undefined &&
      names.includes(one.name ?? '') &&
      (one.namespace ?? metadata.namespace) === namespace,
  );
}

/** What a run makes is named after its Migration's uid; the VM, its VMI and its volumes after the VM. */
function concerns({ metadata, status }: PlanMigration, { kind, name }: LiveRequest): boolean {
  if (name.startsWith(`live-${metadata.uid}-`)) return true;
  const isNamedByVm =
    kind.startsWith(LIVE_KIND.vm.kind) &&
    (status?.vms ?? []).some((vm) => vm.name === name || vm.targetName === name);
  return isNamedByVm || kind === LIVE_KIND.dataVolume.kind;
}

/** Those that run, or wait for their turn. */
async function unfinished(
  hub: Reader,
  isMeant: (migration: PlanMigration) => boolean,
): Promise<readonly MigrationAt[]> {
  const { items } = await hub.list(PLAN_MIGRATIONS, {});
  return items
    .filter((migration) => !hasEnded(migration) && isMeant(migration))
    .map(({ metadata: { namespace = '', name } }) => ({ namespace, name }));
}
