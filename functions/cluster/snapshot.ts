import { renewedAt } from '../domain/controller-lease.ts';
import { keepsState } from '../domain/sizing/claims.ts';
import { needsVolumeClaims, needsLimitRanges } from '../domain/sizing/optional-reads.ts';
import { DEFAULT_RULES, launcherRulesOf } from '../domain/sizing/launcher-rules.ts';
import type { Reference } from '../domain/lock.ts';
import {
  candidatesAmong,
  isPending,
  isShownByKubeVirt,
  isUnexplained,
  launchersOf,
  leftOverLaunchers,
} from '../domain/migration.ts';
import { KIND, KUBEVIRT } from '../domain/names.ts';
import type {
  KubernetesEvent,
  Migration,
  Namespace,
  Pod,
  VirtualMachineInstance,
  Vmmrq,
} from '../domain/objects.ts';
import { dependOnPurpose, inForce } from '../domain/policy/policy.ts';
import { nodeStateOf } from '../domain/policy/purpose.ts';
import { candidatesIn, parsePodRejection } from '../domain/quota/pod-rejection.ts';
import type { LauncherRules, NamespaceSnapshot, NodeState, Rules } from '../domain/snapshot.ts';
import { lastAttemptOf, mayLackKubeVirt } from '../domain/verdict/attempt.ts';
import { namespaceBlocker } from '../domain/verdict/namespace-precondition.ts';
import type { View } from '../domain/view.ts';
import { fromWatchCache, type Read, type Reader } from '../kubernetes/cluster.ts';
import { ignoreNotFound } from '../kubernetes/errors.ts';
import { readIncumbent } from './incumbent.ts';
import {
  LISTED_CLAIMS,
  LISTED_EVENTS,
  LISTED_LIMIT_RANGES,
  LISTED_MIGRATIONS,
  LISTED_PODS,
  LISTED_STATES_OF_PODS,
  LISTED_VMIS,
} from './listed.ts';
import { readControllerLease } from './controller-lease.ts';
import { CLUSTER_VMMRQS, NAMESPACES, NODES, RESOURCE_QUOTAS, VMIS, VMMRQS } from '../kubernetes/resources.ts';

/** Selects the launchers of VMs, and the attachment pods of launchers. */
export const PODS_OF_VMS = `${KUBEVIRT.launcherLabel} in (${KUBEVIRT.launcher},${KUBEVIRT.attachment})`;

export interface SnapshotRequest {
  readonly name: string;
  readonly rules: Rules;
  /** Asks the guard; undefined: it did not answer. */
  readonly view: (namespace: string) => Promise<View | undefined>;
  /** The namespace, where it has been read already. It is as good a precondition, only stricter. */
  readonly known?: Read<Namespace>;
  /** The namespace's migrations, if they have been listed already. */
  readonly listed?: readonly Migration[];
  /**
   * Reads lists from the API server's watch cache and migrations from the guard's view: for a decision that is verified before
   * any write.
   */
  readonly mayLag?: boolean;
  /** Names of VMIs of which a migration is probably blocked: what its size depends on is read at once, not in a round of its own. */
  readonly expected?: readonly string[];
}

/**
 * Reads everything that a verdict about the namespace depends on. The inputs of sizes are read only where a migration is
 * blocked and no namespace precondition rules out all of them. undefined: the namespace is gone.
 */
export async function readSnapshot(
  api: Reader,
  request: SnapshotRequest,
): Promise<NamespaceSnapshot | undefined> {
  const { name, rules, known, listed, expected = [] } = request;
  const cluster = request.mayLag === true ? fromWatchCache(api) : api;
  const asked = request.view(name);
  const [namespace, view, incumbent, unended, quotas, vmmrqs, pods, vmis, early] = await Promise.all([
    known ?? ignoreNotFound(cluster.get(NAMESPACES, { name })),
    asked,
    asked.then((answer) => (answer === undefined ? readIncumbent(cluster, name) : undefined)),
    readMigrations(cluster, request, asked),
    cluster.list(RESOURCE_QUOTAS, { namespace: name }),
    cluster.list(VMMRQS, { namespace: name }),
    isNonePending(listed) ? NOT_READ : readPods(cluster, name),
    readBlockedVmis(cluster, expected, name),
    expected.length === 0 ? undefined : readPodRejections(cluster, name),
  ]);
  if (namespace === undefined) return undefined;
  const now = namespace.date.getTime();
  const outer = {
    now,
    namespace: namespace.object,
    ...viewed(view),
    ...(incumbent === undefined ? {} : { incumbent }),
    migrations: await withEnded(cluster, request, { migrations: unended, pods: pods.items, now }),
    quotas: quotas.items,
    vmmrqs: [...vmmrqs.items, ...(await readClusterWide(cluster, namespace.object, view))],
    pods: pods.items,
  };
  const blocked = await readBlocked(cluster, outer, { rules, early });
  if (blocked.migrations.length === 0) return { ...outer, ...NO_OPTIONAL_READS };
  const inputs = { ...outer, early: { vmis, events: blocked.events } };
  const [optional, lease] = await Promise.all([
    readOptional(cluster, blocked.migrations, inputs),
    mayLackKubeVirt(lastAttemptOf(namespace.object, now))
      ? readControllerLease(cluster, rules.kubevirtNamespace)
      : undefined,
  ]);
  return { ...outer, ...optional, renewed: renewedAt(lease) };
}

/**
 * The migrations to evaluate, and the Events that show them. What waits for a lock is not evaluated; what others refuse is, also where we
 * never raise.
 */
async function readBlocked(
  cluster: Reader,
  outer: Omit<NamespaceSnapshot, keyof OptionalReads>,
  { rules, early }: { readonly rules: Rules; readonly early: readonly KubernetesEvent[] | undefined },
): Promise<{
  readonly migrations: readonly Migration[];
  readonly events: readonly KubernetesEvent[] | undefined;
}> {
  const blocker = namespaceBlocker(outer, rules);
  if (blocker !== undefined && blocker.verdict !== 'Unsupported') return { migrations: [], events: early };
  const isAsked = early === undefined && isUnexplainedAmong(outer);
  const events = isAsked ? await readPodRejections(cluster, outer.namespace.metadata.name) : early;
  const candidates = candidatesIn({ ...outer, events: events ?? [] }).filter(
    (each) => blocker === undefined || !isShownByKubeVirt(each),
  );
  return { migrations: candidates.map(({ migration }) => migration), events };
}

/** Whether only an Event can show why some migration has no target. */
const isUnexplainedAmong = ({ migrations, pods }: Pick<NamespaceSnapshot, 'migrations' | 'pods'>): boolean =>
  candidatesAmong(migrations, pods, isUnexplained).some((each) => !isShownByKubeVirt(each));

/** Reads migrations from the view if it may lag: a list has all that ended too, of which KubeVirt keeps five of each VM. */
async function readMigrations(
  cluster: Reader,
  { name, listed, mayLag }: SnapshotRequest,
  view: Promise<View | undefined>,
): Promise<readonly Migration[]> {
  const known = listed ?? (mayLag === true ? (await view)?.migrations : undefined);
  return known ?? (await cluster.list(LISTED_MIGRATIONS, { namespace: name })).items;
}

/**
 * Migrations with those that have ended, which the view does not have, if a VM has a launcher too many: only they show whether it is just
 * going.
 */
async function withEnded(
  cluster: Reader,
  { name, listed, mayLag }: SnapshotRequest,
  known: Pick<NamespaceSnapshot, 'migrations' | 'pods' | 'now'>,
): Promise<readonly Migration[]> {
  const isWhole = listed !== undefined || mayLag !== true;
  if (isWhole || leftOverLaunchers(known.pods, known).length === 0) return known.migrations;
  return (await cluster.list(LISTED_MIGRATIONS, { namespace: name })).items;
}

/** The cluster-wide VMMRQs that select the namespace. Where the guard knows that there are none, they cost no request. */
async function readClusterWide(
  cluster: Reader,
  { metadata }: Namespace,
  view: View | undefined,
): Promise<Vmmrq[]> {
  if (view?.clusterWide === false) return [];
  const list = await ignoreNotFound(cluster.list(CLUSTER_VMMRQS, {}));
  return inForce(list?.items ?? [], metadata.labels);
}

/** No migration can be blocked while none is Pending. */
const isNonePending = (listed: readonly Migration[] | undefined): boolean =>
  listed?.some(isPending) === false;

/** Reads the launchers and attachment pods of a namespace. */
export const readPods = (cluster: Reader, namespace: string): Promise<Listed<Pod>> =>
  cluster.list(LISTED_PODS, { namespace, labelSelector: PODS_OF_VMS });

/** The guard's answer; KubeVirt's defaults without one. */
const viewed = (view: View | undefined): Pick<NamespaceSnapshot, 'view' | keyof LauncherRules> => ({
  view,
  ...(view === undefined ? DEFAULT_RULES : launcherRulesOf(view.kubevirt)),
});

type OptionalReads = Pick<NamespaceSnapshot, 'vmis' | 'limitRanges' | 'events' | 'claims' | 'nodes'>;

interface OuterReads extends Pick<NamespaceSnapshot, 'namespace' | 'quotas' | 'pods' | 'vmmrqs' | 'view'> {
  /** What was expected, and read already. */
  readonly early: {
    readonly vmis: ReadonlyMap<string, VirtualMachineInstance>;
    readonly events: readonly KubernetesEvent[] | undefined;
  };
}

/** Reads what the sizes of the target pods depend on, and what else may refuse them. */
async function readOptional(
  cluster: Reader,
  blocked: readonly Migration[],
  { namespace: { metadata }, quotas, pods, vmmrqs, view, early }: OuterReads,
): Promise<OptionalReads> {
  const namespace = metadata.name;
  const [others, events, nodes] = await Promise.all([
    readBlockedVmis(cluster, vmiNamesOf(blocked, early.vmis), namespace),
    early.events ?? readPodRejections(cluster, namespace),
    dependOnPurpose(vmmrqs) ? readNodes(cluster, blocked, { pods, view }) : NO_NODES,
  ]);
  const vmis = new Map([...early.vmis, ...others]);
  const rejections = events.flatMap(
    ({ message = '' }) => parsePodRejection(message) ?? parsePodRejection(message, 'attachment') ?? [],
  );
  const [limitRanges, claims] = await Promise.all([
    needsLimitRanges(pods, quotas, rejections) ? cluster.list(LISTED_LIMIT_RANGES, { namespace }) : NOT_READ,
    needsVolumeClaims(quotas) && [...vmis.values()].some(keepsState)
      ? cluster.list(LISTED_CLAIMS, { namespace })
      : NOT_READ,
  ]);
  return { vmis, events, nodes, limitRanges: limitRanges.items, claims: claims.items };
}

/** Selects virt-controller's Events about what it could not create for a VMI. */
export const REFUSALS = `reason=${KUBEVIRT.failedCreate},involvedObject.kind=${KIND.vmi.kind}`;

/** Reads why pods of VMIs were refused: one request for the namespace (left out: for all), however many migrations wait. */
export async function readPodRejections(cluster: Reader, namespace?: string): Promise<KubernetesEvent[]> {
  const where = namespace === undefined ? {} : { namespace };
  return (await cluster.list(LISTED_EVENTS, { ...where, fieldSelector: REFUSALS })).items;
}

/** A list, as far as it was read. */
export interface Listed<T> {
  readonly items: T[];
  /** The API server's clock. */
  readonly date?: Date;
}

/** What was not read. */
const NOT_READ: Listed<never> = { items: [] };

/** Maximum number of objects that are read one by one; more are read by one list of the namespace. */
const FEW = 3;

/** The names of their VMIs that are not known yet. */
function vmiNamesOf(blocked: readonly Migration[], known: ReadonlyMap<string, unknown>): string[] {
  const names = new Set(blocked.map(({ spec: { vmiName = '' } }) => vmiName));
  return [...names].filter((name) => name !== '' && !known.has(name));
}

async function readBlockedVmis(
  cluster: Reader,
  names: readonly string[],
  namespace: string,
): Promise<Map<string, VirtualMachineInstance>> {
  if (names.length <= FEW) return readVmis(cluster, names, namespace);
  const wanted = new Set(names);
  const { items } = await cluster.list(LISTED_VMIS, { namespace });
  const those = items.filter(({ metadata }) => wanted.has(metadata.name));
  return new Map(those.map((vmi) => [vmi.metadata.name, vmi]));
}

async function readVmis(
  cluster: Reader,
  names: readonly string[],
  namespace: string,
): Promise<Map<string, VirtualMachineInstance>> {
  const reads = names.map(async (name) => {
    const read = await ignoreNotFound(cluster.get(VMIS, { namespace, name }));
    const kept = read && LISTED_VMIS.trim(read.object);
    return kept === undefined ? [] : [[name, kept.object] as const];
  });
  return new Map((await Promise.all(reads)).flat());
}

const NO_NODES: NamespaceSnapshot['nodes'] = new Map();

/** No size is to be evaluated. */
const NO_OPTIONAL_READS: OptionalReads = {
  vmis: new Map(),
  nodes: NO_NODES,
  limitRanges: [],
  events: [],
  claims: [],
};

/** Reads whether the nodes that evacuations leave are being drained. */
async function readNodes(
  cluster: Reader,
  blocked: readonly Migration[],
  { pods, view }: Pick<NamespaceSnapshot, 'pods' | 'view'>,
): Promise<NamespaceSnapshot['nodes']> {
  const evacuations = blocked.filter(
    ({ metadata }) => metadata.annotations?.[KUBEVIRT.evacuation] !== undefined,
  );
  const names = evacuations.flatMap((migration) =>
    launchersOf(migration, pods).flatMap(({ spec }) => spec.nodeName ?? []),
  );
  const reads = [...new Set(names)].map((name) => readNodeState(cluster, name, view?.kubevirt.drainTaint));
  return new Map(await Promise.all(reads));
}

/** The node's name and state. `taint` as for isDraining. */
export async function readNodeState(
  cluster: Reader,
  name: string,
  taint: string | undefined,
): Promise<readonly [string, NodeState]> {
  const read = await ignoreNotFound(cluster.get(NODES, { name }));
  return [name, nodeStateOf(read?.object, taint)];
}

/** The target launchers of these migrations, and their attachment pods. */
export async function readTargets(
  cluster: Reader,
  namespace: string,
  migrations: readonly Pick<Reference, 'uid'>[],
): Promise<Listed<Pod>> {
  if (migrations.length === 0) return NOT_READ;
  const uids = migrations.map(({ uid }) => uid);
  const labelSelector = `${PODS_OF_VMS},${KUBEVIRT.migrationJobUID} in (${uids.join(',')})`;
  return cluster.list(LISTED_STATES_OF_PODS, { namespace, labelSelector });
}
