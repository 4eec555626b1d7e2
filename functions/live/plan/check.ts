import { critical, nextConditions, type Finding } from '../../domain/live/conditions.ts';
import type {
  LiveCondition,
  NamedReference,
  NetworkMap,
  Plan,
  Provider,
  StorageMap,
} from '../../domain/live/forklift.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import type { PlanView } from '../findings/plan-view.ts';
import { named } from '../../domain/live/reference.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import { isSame } from '../../domain/same.ts';
import type { Cluster, Reader, ResourceType } from '../../kubernetes/cluster.ts';
import {
  FORKLIFT_CONTROLLERS,
  HOOKS,
  NETWORK_ATTACHMENTS,
  NETWORK_MAPS,
  PLANS,
  PROVIDERS,
  STORAGE_CLASSES,
  STORAGE_MAPS,
} from '../../kubernetes/live-resources.ts';
import { identifyCluster, readProvider, type FoundProvider } from '../read/providers.ts';
import type { LiveContext } from '../context.ts';
import { getOrUndefined, listIfServed } from '../read/get.ts';
import { readPlanView, type PlanProviders } from '../read/plan-view.ts';
import { UnknownCluster } from '../read/unknown-cluster.ts';
import {
  hookFindings,
  mappedNetworks,
  networkMapFindings,
  storageMapFindings,
  type Known,
} from '../findings/maps.ts';
import { ARCHIVED, planFindings } from '../findings/plan.ts';
import { phaseOf, providerFindings } from '../findings/providers.ts';

/** Whether Forklift itself runs the plans of this cluster: two controllers would undo each other's conditions. */
export const isForkliftHere = async (hub: Reader): Promise<boolean> =>
  (await forkliftControllers(hub)).length > 0;

/** Forklift's own objects; none if it is not installed. */
export const forkliftControllers = (hub: Reader): Promise<KubernetesObject[]> =>
  listIfServed(hub.list(FORKLIFT_CONTROLLERS, {}));

interface WithStatus extends KubernetesObject {
  status?: { conditions?: LiveCondition[]; observedGeneration?: number };
}

/** Writes the status if it has changed. Rejects with a conflict if the object has changed. */
export async function putStatus<T extends KubernetesObject & { status?: object }>(
  hub: Cluster,
  type: ResourceType<T>,
  { object, status }: { readonly object: T; readonly status: T['status'] },
): Promise<T> {
  if (isSame(object.status, status)) return object;
  return (await hub.replace(type, { ...object, status }, { subresource: 'status' })).object;
}

type Checking = Pick<LiveContext, 'hub' | 'remotes' | 'clock'>;

async function writeFindings<T extends WithStatus>(
  type: ResourceType<T>,
  { object, findings, more = {} }: { object: T; findings: readonly Finding[]; more?: Partial<T['status']> },
  { hub, clock }: Checking,
): Promise<T> {
  const { generation } = object.metadata;
  const status = {
    ...object.status,
    ...(generation === undefined ? {} : { observedGeneration: generation }),
    conditions: nextConditions(object.status?.conditions ?? [], findings, clock.now().toISOString()),
    ...more,
  };
  return putStatus(hub, type, { object, status });
}

/** Connects to the provider's cluster, and writes the provider's findings. The result has no cluster if it does not answer. */
export async function checkProvider(
  reference: NamedReference,
  checking: Checking,
): Promise<FoundProvider | undefined> {
  const read = await readProvider(reference, checking);
  if (read === undefined) return undefined;
  const { cluster, secretObject, ...view } = read;
  const answer = cluster === undefined ? undefined : (await identifyCluster(cluster)).answer;
  const findings = providerFindings({ ...view, answer });
  const more: Provider['status'] = {
    phase: phaseOf(findings),
    ...(secretObject && { secretResourceVersion: secretObject.metadata.resourceVersion }),
  };
  const provider = await writeFindings(PROVIDERS, { object: read.provider, findings, more }, checking);
  return { ...read, provider, cluster: answer?.kind === 'ok' ? cluster : undefined };
}

/** Names of a cluster's objects, `namespace/name` for those in a namespace; undefined if they are not known. */
async function namesIn(cluster: Reader | undefined, type: ResourceType): Promise<Known> {
  if (cluster === undefined) return undefined;
  try {
    const objects = await listIfServed(cluster.list(type, {}));
    return new Set(
      objects.map(({ metadata: { namespace, name } }) => (namespace ? `${namespace}/${name}` : name)),
    );
  } catch {
    return undefined;
  }
}

/** Checks a storage map. `providers`: those of the plan; the map's own if left out. */
export async function checkStorageMap(
  at: NamedReference,
  checking: Checking,
  providers?: PlanProviders,
): Promise<void> {
  const map = await getOrUndefined(checking.hub.get(STORAGE_MAPS, named(at)));
  if (map === undefined) return;
  const { source, destination } = providers ?? (await readProviders(map, checking));
  const [from, to] = await Promise.all([
    namesIn(source?.cluster, STORAGE_CLASSES),
    namesIn(destination?.cluster, STORAGE_CLASSES),
  ]);
  const findings = storageMapFindings(map, { source: from, target: to });
  await writeFindings(STORAGE_MAPS, { object: map, findings }, checking);
}

export async function checkNetworkMap(
  at: NamedReference,
  checking: Checking,
  providers?: PlanProviders,
): Promise<void> {
  const map = await getOrUndefined(checking.hub.get(NETWORK_MAPS, named(at)));
  if (map === undefined) return;
  const { source, destination } = providers ?? (await readProviders(map, checking));
  const isOfPods = mappedNetworks(map).length === 0;
  const [from, to] = await Promise.all([
    isOfPods ? undefined : namesIn(source?.cluster, NETWORK_ATTACHMENTS),
    namesIn(destination?.cluster, NETWORK_ATTACHMENTS),
  ]);
  const findings = networkMapFindings(map, { source: from, target: to });
  await writeFindings(NETWORK_MAPS, { object: map, findings }, checking);
}

export async function checkHook(at: NamedReference, checking: Checking): Promise<void> {
  const hook = await getOrUndefined(checking.hub.get(HOOKS, named(at)));
  if (hook !== undefined)
    await writeFindings(HOOKS, { object: hook, findings: hookFindings(hook) }, checking);
}

async function readProviders(
  { metadata: { namespace = '' }, spec: { provider } }: StorageMap | NetworkMap,
  checking: Checking,
): Promise<PlanProviders> {
  const [source, destination] = await Promise.all([
    readProvider({ namespace, ...named(provider.source) }, checking),
    readProvider({ namespace, ...named(provider.destination) }, checking),
  ]);
  return { source, destination };
}

/** A plan, with whether it can run. */
export interface CheckedPlan {
  readonly plan: Plan;
  readonly isReady: boolean;
  /** The view; undefined if a cluster does not answer. */
  readonly view: PlanView | undefined;
}

/** Checks all objects that the plan refers to, then the plan, and writes the findings of each. */
export async function checkPlan(plan: Plan, checking: Checking): Promise<CheckedPlan> {
  const { namespace = '' } = plan.metadata;
  const { provider, map, vms } = plan.spec as Partial<Plan['spec']>;
  const providers: PlanProviders = {
    source: await checkNamed(provider?.source, (at) => checkProvider(at, checking), namespace),
    destination: await checkNamed(provider?.destination, (at) => checkProvider(at, checking), namespace),
  };
  const hooks = (vms ?? []).flatMap((vm) => vm.hooks ?? []).map(({ hook }) => hook);
  await checkNamed(map?.storage, (at) => checkStorageMap(at, checking, providers), namespace);
  await checkNamed(map?.network, (at) => checkNetworkMap(at, checking, providers), namespace);
  const each = new Map(hooks.map((hook) => [`${hook.namespace || namespace}/${hook.name ?? ''}`, hook]));
  for (const hook of each.values()) await checkNamed(hook, (at) => checkHook(at, checking), namespace);
  const { view, findings } = await findingsOf(plan, providers, checking);
  const checked = await writeFindings(PLANS, { object: plan, findings }, checking);
  return { plan: checked, view, isReady: findings.some(({ type }) => type === LIVE_CONDITION.ready) };
}

/** Writes the findings of an archived plan. The results of its runs stay. */
export const writeArchived = (plan: Plan, checking: Checking): Promise<Plan> =>
  writeFindings(PLANS, { object: plan, findings: ARCHIVED }, checking);

/** Checks an object that the plan names. A reference without a namespace is to an object in the plan's. */
async function checkNamed<T>(
  reference: NamedReference | undefined,
  check: (at: Required<NamedReference>) => Promise<T>,
  namespace: string,
): Promise<T | undefined> {
  const { name = '', namespace: own = '' } = reference ?? {};
  return name === '' ? undefined : check({ name, namespace: own === '' ? namespace : own });
}

async function findingsOf(
  plan: Plan,
  providers: PlanProviders,
  { hub }: Checking,
): Promise<{ readonly view: PlanView | undefined; readonly findings: readonly Finding[] }> {
  try {
    const view = await readPlanView(plan, providers, hub);
    return { view, findings: planFindings(view) };
  } catch (error) {
    if (!(error instanceof UnknownCluster)) throw error;
    const type =
      error.side === 'source'
        ? LIVE_CONDITION.sourceProviderNotReady
        : LIVE_CONDITION.destinationProviderNotReady;
    const suggestion =
      'Give the service account of the token the roles that plans need, and check the network.';
    return {
      view: undefined,
      findings: [critical(type, 'NotKnown', { message: error.message, suggestion })],
    };
  }
}
