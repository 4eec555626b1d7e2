import type { Plan, PlanMigration, Provider } from '../../domain/live/forklift.ts';
import { FORKLIFT_KIND, LIVE_ANNOTATION, LIVE_FINALIZER, LIVE_LABEL } from '../../domain/live/names.ts';
import { named } from '../../domain/live/reference.ts';
import {
  byPlan,
  isClosed,
  hasFinalizer,
  isHeldForRun,
  isLive,
  hasOpenRun,
  needsPlan,
  planAt,
} from '../run/state.ts';
import { inGroups } from '../../cluster/in-groups.ts';
import type { KubernetesObject, OwnerReference } from '../../domain/objects.ts';
import type { Cluster, ResourceType } from '../../kubernetes/cluster.ts';
import { ignoreNotFound } from '../../kubernetes/errors.ts';
import type { Log } from '../../runtime/log.ts';
import { PLAN_MIGRATIONS, PLANS, PROVIDERS, SECRETS } from '../../kubernetes/live-resources.ts';
import { getOrUndefined, unlessForbidden } from '../read/get.ts';
import type { FoundProvider } from '../read/providers.ts';
import type { LiveContext } from '../context.ts';
import { OPEN_MIGRATIONS } from '../read/listed-forklift.ts';
import type { PlanProviders } from '../read/plan-view.ts';
import { isHost } from '../findings/providers.ts';

/** Objects that a run needs until its end. */
export interface HeldObjects {
  readonly migration: PlanMigration;
  readonly plan: Plan;
  readonly providers: PlanProviders;
}

/** Returns the providers, each once. */
export const providersIn = ({ source, destination }: PlanProviders): FoundProvider[] =>
  [
    source,
    source?.provider.metadata.uid === destination?.provider.metadata.uid ? undefined : destination,
  ].filter((provider) => provider !== undefined);

/** The Providers and their Secrets. */
export const providerObjects = (providers: PlanProviders): KubernetesObject[] =>
  providersIn(providers).flatMap(({ provider, secretObject }) => [
    provider,
    ...(secretObject === undefined ? [] : [secretObject]),
  ]);

/**
 * Adds the finalizer to all of them, the Migration first, so that a deletion is a cancel. Each event repeats it: another run that has ended
 * may have removed the finalizer of an object that it found unused. Resolves with the written versions; rejects with a conflict if one has
 * changed.
 */
export async function addFinalizers(
  { migration, plan, providers }: HeldObjects,
  hub: Cluster,
): Promise<HeldObjects> {
  const held: HeldObjects = {
    migration: await addFinalizer(hub, PLAN_MIGRATIONS, ownedBy(migration, plan)),
    plan: await addFinalizer(hub, PLANS, plan),
    providers,
  };
  for (const { provider, secretObject } of providersIn(providers)) {
    await addFinalizer(hub, PROVIDERS, provider);
    if (secretObject !== undefined) await addFinalizer(hub, SECRETS, secretObject);
  }
  return held;
}

/** Adds the finalizer. An object that is being deleted takes none any more. */
async function addFinalizer<T extends KubernetesObject>(
  hub: Cluster,
  type: ResourceType<T>,
  object: T,
): Promise<T> {
  const { finalizers = [], deletionTimestamp } = object.metadata;
  if (hasFinalizer(object) || deletionTimestamp !== undefined) return object;
  const metadata = { ...object.metadata, finalizers: [...finalizers, LIVE_FINALIZER] };
  return (await hub.replace(type, { ...object, metadata })).object;
}

/**
 * Makes the Plan the Migration's owner, as Forklift does: a Migration goes with its Plan. Kubernetes deletes objects that have an owner in
 * another namespace. A run that has started gets no other owner, by which it would follow a Plan that has replaced its own (stop.ts).
 */
function ownedBy(migration: PlanMigration, { metadata: { name, uid, namespace } }: Plan): PlanMigration {
  const { ownerReferences = [] } = migration.metadata;
  const isElsewhere = migration.metadata.namespace !== namespace;
  const hasStarted = migration.status?.started !== undefined;
  if (isElsewhere || hasStarted || ownerReferences.some((owner) => owner.uid === uid)) return migration;
  const owner: OwnerReference = { ...FORKLIFT_KIND.plan, name, uid };
  return { ...migration, metadata: { ...migration.metadata, ownerReferences: [...ownerReferences, owner] } };
}

interface ObjectsToRelease {
  /** The Migration; undefined if it was deleted, or has no finalizer any more. */
  readonly migration: PlanMigration | undefined;
  /** The Plan; undefined if it was deleted. */
  readonly plan: Plan | undefined;
  /** The providers, each once. */
  readonly providers: readonly FoundProvider[];
}

/**
 * Annotates the Migration as over, before any finalizer is removed. It writes by the version of the status that this call has written:
 * another call may have written since then that other leftovers, or none, remain. Rejects with a conflict then. Resolves with the
 * Migration.
 */
export async function closeMigration(shown: PlanMigration, hub: Cluster): Promise<PlanMigration> {
  const { metadata } = shown;
  const annotations = { ...metadata.annotations, [LIVE_ANNOTATION.over]: metadata.uid };
  return (await hub.replace(PLAN_MIGRATIONS, { ...shown, metadata: { ...metadata, annotations } })).object;
}

/** Removes the finalizers of all objects that no other run needs, the Migration's last. Rejects with a conflict if one has changed. */
export async function removeFinalizers(
  { migration, plan, providers }: ObjectsToRelease,
  context: Context,
): Promise<void> {
  const { hub } = context;
  // Anybody may write a Migration of another type with the finalizer: it needs no list.
  if (plan !== undefined || providers.length > 0)
    await removeSharedFinalizers({ migration, plan, providers }, context);
  if (migration !== undefined) await removeFinalizer(hub, PLAN_MIGRATIONS, migration);
}

async function removeSharedFinalizers(
  { migration, plan, providers }: ObjectsToRelease,
  { hub, log }: Context,
): Promise<void> {
  const { items } = await hub.list(OPEN_MIGRATIONS, {});
  const isOwn = ({ metadata }: PlanMigration): boolean => metadata.uid === migration?.metadata.uid;
  // A run whose finalizer a user removed goes on all the same.
  const others = items.filter(
    (other) => !isOwn(other) && !isClosed(other) && (isHeldForRun(other) || hasOpenRun(other)),
  );
  const needs = await inGroups(byPlan(others), (ofPlan) => needsOf(ofPlan, hub));
  if (!needs.some(({ isUnknown }) => isUnknown)) {
    const needed = new Set(needs.flatMap((each) => each.providers));
    await removeProviderFinalizers(providers, { needed, hub, log });
  }
  if (plan !== undefined && !needs.some((each) => each.plan === plan.metadata.uid))
    await removeFinalizer(hub, PLANS, plan);
}

/** What Migrations of one Plan need. */
interface Needs {
  /** The uid of the Plan. */
  readonly plan?: string;
  /** Namespaces and names of the Providers. */
  readonly providers: readonly string[];
  /** Whether the Plan is gone: only it says which Providers a run needs, so it may need any. */
  readonly isUnknown?: boolean;
}

/** Returns what these Migrations of one Plan need. A Plan may be large, and is not kept. */
async function needsOf(ofPlan: readonly PlanMigration[], hub: Cluster): Promise<Needs> {
  const [at] = ofPlan.map(planAt);
  const plan = at?.name ? await getOrUndefined(hub.get(PLANS, at)) : undefined;
  if (plan === undefined) return { providers: [], isUnknown: ofPlan.some(needsPlan) };
  // Forklift's own runs are under way too.
  if (!ofPlan.some((migration) => isLive(migration, plan))) return { providers: [] };
  return { plan: plan.metadata.uid, providers: providersOf(plan) };
}

type Context = Pick<LiveContext, 'hub' | 'log'>;

interface NeededElsewhere extends Context {
  /** Namespaces and names of the Providers that other runs need. */
  readonly needed: ReadonlySet<string>;
}

async function removeProviderFinalizers(read: readonly FoundProvider[], how: NeededElsewhere): Promise<void> {
  const { needed, hub } = how;
  const providers = read.filter(({ provider }) => !needed.has(keyOf(provider)));
  for (const secret of await secretsToRelease(providers, how)) await removeFinalizer(hub, SECRETS, secret);
  for (const { provider } of providers) await removeFinalizer(hub, PROVIDERS, provider);
}

const providersOf = ({ spec: { provider }, metadata }: Plan): string[] =>
  [provider.source, provider.destination].map((reference) => {
    const { namespace = metadata.namespace ?? '', name } = named(reference);
    return `${namespace}/${name}`;
  });

const keyOf = ({ metadata }: Provider): string => `${metadata.namespace ?? ''}/${metadata.name}`;

/**
 * Returns the Secrets of these providers that no provider of another run has. A provider may have got another Secret during the run, also
 * one that does not exist; the one before still has the finalizer.
 */
async function secretsToRelease(
  providers: readonly FoundProvider[],
  { needed, hub, log }: NeededElsewhere,
): Promise<KubernetesObject[]> {
  const own = providers.flatMap(({ secretObject }) => secretObject ?? []);
  const namespaces = new Set(providers.map(({ provider }) => provider.metadata.namespace ?? ''));
  const held = await Promise.all(
    [...namespaces].map(async (namespace) => {
      const [all, secrets] = await Promise.all([
        hub.list(PROVIDERS, { namespace }),
        unlessForbidden(
          hub.list(SECRETS, { namespace, labelSelector: `${LIVE_LABEL.provider}=true` }),
          undefined,
        ),
      ]);
      if (secrets === undefined) warnOfKeptSecrets(namespace, providers, log);
      const ofOthers = all.items.filter((provider) => needed.has(keyOf(provider)));
      const isNeeded = ({ metadata }: KubernetesObject): boolean =>
        ofOthers.some(({ spec }) => spec.secret?.name === metadata.name);
      const ofProviders = own.filter(({ metadata }) => metadata.namespace === namespace);
      // The Secrets of the providers may have been read before they got the finalizer.
      const each = new Map(
        [...ofProviders, ...(secrets?.items ?? []).filter(hasFinalizer)].map((one) => [
          one.metadata.uid,
          one,
        ]),
      );
      return [...each.values()].filter((secret) => !isNeeded(secret));
    }),
  );
  return held.flat();
}

/**
 * Warns of Secrets that keep their finalizer: if their namespace is deleted, the Role that allows the write is gone before them. Nothing
 * else names the Secret then.
 */
function warnOfKeptSecrets(namespace: string, providers: readonly FoundProvider[], log: Log): void {
  const secrets = providers
    .filter(({ provider }) => provider.metadata.namespace === namespace && !isHost(provider))
    .map(({ provider }) => named(provider.spec.secret ?? {}).name);
  if (secrets.length === 0) return;
  log(
    'warn',
    `no Role lets live read Secrets of namespace ${namespace}: take the finalizer ${LIVE_FINALIZER} off these by hand`,
    { secrets: [...new Set(secrets)].join(', ') },
  );
}

/** Removes the finalizer by the version that was read. One without it may have got it since, also by this call: it is read again. */
async function removeFinalizer<T extends KubernetesObject>(
  hub: Cluster,
  type: ResourceType<T>,
  read: T,
): Promise<void> {
  const { namespace = '', name } = read.metadata;
  const object = hasFinalizer(read) ? read : await getOrUndefined(hub.get(type, { namespace, name }));
  if (object === undefined || !hasFinalizer(object)) return;
  const finalizers = (object.metadata.finalizers ?? []).filter((each) => each !== LIVE_FINALIZER);
  await ignoreNotFound(hub.replace(type, { ...object, metadata: { ...object.metadata, finalizers } }));
}
