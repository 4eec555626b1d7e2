import { hasAutoLimits } from '../domain/sizing/auto-limits.ts';
import { keepsState } from '../domain/sizing/claims.ts';
import { asksForClaims, asksForLimitRanges } from '../domain/sizing/closer-look.ts';
import { amountOf } from '../domain/sizing/growth.ts';
import { liveLock, type Reference } from '../domain/lock.ts';
import { blockedAmong, isRejectedByQuota, isRunning, stillPending } from '../domain/migration.ts';
import { KIND, KUBEVIRT, LABEL } from '../domain/names.ts';
import type {
  KubernetesEvent,
  Migration,
  Namespace,
  Pod,
  VirtualMachineInstance,
} from '../domain/objects.ts';
import { parseQuantity } from '../domain/quantity.ts';
import { awaitedBy } from '../domain/verdict/parallel-turn.ts';
import { parseRefusal } from '../domain/quota/refusal.ts';
import type { NamespaceSnapshot, ParallelUse, Rules } from '../domain/snapshot.ts';
import { vetoOf } from '../domain/verdict/veto.ts';
import type { Log } from '../runtime/log.ts';
import type { Read, Reader } from '../kubernetes/cluster.ts';
import { describeError, isNotFound, TooMuch } from '../kubernetes/errors.ts';
import {
  LISTED_CLAIMS,
  LISTED_EVENTS,
  LISTED_LIMIT_RANGES,
  LISTED_MIGRATIONS,
  LISTED_MIGRATIONS_TO_COME,
  LISTED_PODS,
  LISTED_STATES_OF_PODS,
  LISTED_VMIS,
} from './listed.ts';
import { KUBEVIRTS, NAMESPACES, RESOURCE_QUOTAS, VMIS, VMMRQS } from '../kubernetes/resources.ts';

/** KubeVirt's defaults (MigrationConfiguration). */
const PER_CLUSTER = 5;
const PER_NODE = 2;
const ONE = parseQuantity('1');

/** The migrations of a namespace; the one read of a wake that finds nothing to do. */
export async function readMigrations(cluster: Reader, namespace: string): Promise<Migration[]> {
  return (await cluster.list(LISTED_MIGRATIONS, { namespace })).items;
}

const PODS_OF_VMS = `${KUBEVIRT.launcherLabel} in (${KUBEVIRT.launcher},${KUBEVIRT.attachment})`;

export interface Subject {
  readonly name: string;
  readonly rules: Rules;
  /** The namespace, where it has been read already: it is as good a precondition, only stricter. */
  readonly known?: Read<Namespace>;
  /** Its migrations, where they have been listed already. */
  readonly listed?: readonly Migration[];
}

/**
 * All that a verdict about the namespace is made of: first what every wake needs; then, only where a migration really is
 * blocked and nothing speaks against all of them alike, what sizes are made of. undefined when the namespace is gone.
 */
export async function readSnapshot(
  cluster: Reader,
  subject: Subject,
): Promise<NamespaceSnapshot | undefined> {
  const { name, rules, known, listed } = subject;
  const [namespace, migrations, quotas, vmmrqs, pods] = await Promise.all([
    known ?? orGone(cluster.get(NAMESPACES, { name })),
    listed ?? readMigrations(cluster, name),
    cluster.list(RESOURCE_QUOTAS, { namespace: name }),
    cluster.list(VMMRQS, { namespace: name }),
    cluster.list(LISTED_PODS, { namespace: name, labelSelector: PODS_OF_VMS }),
  ]);
  if (namespace === undefined) return undefined;
  const outer = {
    now: namespace.date.getTime(),
    namespace: namespace.object,
    migrations,
    quotas: quotas.items,
    vmmrqs: vmmrqs.items,
    pods: pods.items,
  };
  const isVetoed = vetoOf(outer, rules) !== undefined;
  const blocked = isVetoed ? [] : blockedAmong(migrations, pods.items).map(({ migration }) => migration);
  if (blocked.length === 0) return { ...outer, ...UNUSED };
  const [closer, { toCome, ...kubevirts }] = await Promise.all([
    readCloser(cluster, blocked, outer),
    readKubeVirts(cluster, rules.kubevirtNamespace, outer),
  ]);
  return { ...outer, migrations: stillPending(migrations, toCome), ...closer, ...kubevirts };
}

type Closer = Pick<NamespaceSnapshot, 'vmis' | 'limitRanges' | 'events' | 'claims'>;

/** What the target pods of blocked migrations are sized by, and what else may refuse them. */
async function readCloser(
  cluster: Reader,
  blocked: readonly Migration[],
  { namespace: { metadata }, quotas, pods }: Pick<NamespaceSnapshot, 'namespace' | 'quotas' | 'pods'>,
): Promise<Closer> {
  const namespace = metadata.name;
  const [vmis, events] = await Promise.all([
    readBlockedVmis(cluster, blocked, namespace),
    readRefusals(cluster, namespace),
  ]);
  const refusals = events.flatMap(
    ({ message = '' }) => parseRefusal(message) ?? parseRefusal(message, 'attachment') ?? [],
  );
  const [limitRanges, claims] = await Promise.all([
    asksForLimitRanges(pods, quotas, refusals) ? cluster.list(LISTED_LIMIT_RANGES, { namespace }) : NOT_READ,
    asksForClaims(quotas) && [...vmis.values()].some(keepsState)
      ? cluster.list(LISTED_CLAIMS, { namespace })
      : NOT_READ,
  ]);
  return { vmis, events, limitRanges: limitRanges.items, claims: claims.items };
}

/** Why pods of VMIs were refused: of all of the namespace in one request, however many wait. */
export async function readRefusals(cluster: Reader, namespace: string): Promise<KubernetesEvent[]> {
  const fieldSelector = `reason=${KUBEVIRT.failedCreate},involvedObject.kind=${KIND.vmi.kind}`;
  return (await cluster.list(LISTED_EVENTS, { namespace, fieldSelector })).items;
}

/** undefined for an object that is not there. */
export async function orGone<T>(read: Promise<T>): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** A list, as far as it was read. */
export interface Listed<T> {
  readonly items: T[];
  /** The API server's clock. */
  readonly date?: Date;
}

/** What was not read. */
export const NOT_READ: Listed<never> = { items: [] };

/** A list that only says how it went: whoever stores more than a process takes keeps nobody from a repair. */
export async function orNothing<T>(list: Promise<Listed<T>>, log: Log): Promise<Listed<T>> {
  try {
    return await list;
  } catch (error) {
    if (!(error instanceof TooMuch)) throw error;
    log('warn', `going on without: ${describeError(error)}`);
    return NOT_READ;
  }
}

/** Each by a request of its own while they are so few; more by one list of the namespace, however many there are. */
const FEW = 3;

async function readBlockedVmis(
  cluster: Reader,
  blocked: readonly Migration[],
  namespace: string,
): Promise<Map<string, VirtualMachineInstance>> {
  if (blocked.length <= FEW) return readVmis(cluster, blocked);
  const wanted = new Set(blocked.map(({ spec }) => spec.vmiName));
  const { items } = await cluster.list(LISTED_VMIS, { namespace });
  const those = items.filter(({ metadata }) => wanted.has(metadata.name));
  return new Map(those.map((vmi) => [vmi.metadata.name, vmi]));
}

async function readVmis(
  cluster: Reader,
  migrations: readonly Migration[],
): Promise<Map<string, VirtualMachineInstance>> {
  const reads = migrations.map(async ({ metadata: { namespace = '' }, spec: { vmiName = '' } }) => {
    const read = vmiName === '' ? undefined : await orGone(cluster.get(VMIS, { namespace, name: vmiName }));
    return read === undefined ? [] : [[vmiName, read.object] as const];
  });
  return new Map((await Promise.all(reads)).flat());
}

type KubeVirtsPart = Pick<NamespaceSnapshot, 'parallel' | 'overheadRatio' | 'autoLimits'>;

/** No size is about to be judged. */
const UNUSED: Closer & KubeVirtsPart = {
  vmis: new Map(),
  limitRanges: [],
  events: [],
  claims: [],
  parallel: {
    running: 0,
    perCluster: PER_CLUSTER,
    outbound: new Map(),
    perNode: PER_NODE,
    locks: [],
    isContended: false,
  },
  overheadRatio: ONE,
  autoLimits: true,
};

/**
 * How KubeVirt itself counts (facts/kubevirt.md §1.5), but for target pods of migrations that are still Pending; and those that
 * other namespaces are locked for, which will be next: whoever is locked for in vain only freezes a namespace.
 */
async function readKubeVirts(
  cluster: Reader,
  kubevirtNamespace: string,
  { namespace: own, now }: Pick<NamespaceSnapshot, 'namespace' | 'now'>,
): Promise<KubeVirtsPart & { toCome: readonly Migration[] }> {
  const [all, kubevirts, locked] = await Promise.all([
    cluster.list(LISTED_MIGRATIONS_TO_COME, {}),
    cluster.list(KUBEVIRTS, { namespace: kubevirtNamespace }),
    readLocked(cluster, own.metadata.name),
  ]);
  const locks = locked.flatMap((namespace) => liveLock(namespace, now) ?? []);
  const running = [...all.items.filter(isRunning), ...awaitedBy(locks, all.items)];
  const [kubevirt] = kubevirts.items;
  const configuration = kubevirt?.spec?.configuration;
  const limits = configuration?.migrations;
  const parallel: ParallelUse = {
    running: running.length,
    perCluster: limits?.parallelMigrationsPerCluster ?? PER_CLUSTER,
    outbound: outboundByNode([...(await readVmis(cluster, running)).values()]),
    perNode: limits?.parallelOutboundMigrationsPerNode ?? PER_NODE,
    locks: locks.map(({ token }) => token),
    isContended: all.items.some(
      (each) => each.metadata.namespace !== own.metadata.name && isRejectedByQuota(each),
    ),
  };
  const overheadRatio = amountOf(configuration?.additionalGuestMemoryOverheadRatio) ?? ONE;
  return { parallel, overheadRatio, autoLimits: hasAutoLimits(kubevirt), toCome: all.items };
}

/** Every locked namespace but this one. */
export async function readLocked(cluster: Reader, own: string): Promise<Namespace[]> {
  const { items } = await cluster.list(NAMESPACES, { labelSelector: `${LABEL.locked}=true` });
  return items.filter(({ metadata }) => metadata.name !== own);
}

function outboundByNode(vmis: readonly VirtualMachineInstance[]): Map<string, number> {
  const outbound = new Map<string, number>();
  for (const { status } of vmis) {
    if (status?.nodeName !== undefined) {
      outbound.set(status.nodeName, (outbound.get(status.nodeName) ?? 0) + 1);
    }
  }
  return outbound;
}

/** The target launchers of these migrations, and their attachment pods. */
export async function readTargets(
  cluster: Reader,
  namespace: string,
  migrations: readonly Reference[],
): Promise<Listed<Pod>> {
  if (migrations.length === 0) return NOT_READ;
  const uids = migrations.map(({ uid }) => uid);
  const labelSelector = `${PODS_OF_VMS},${KUBEVIRT.migrationJobUID} in (${uids.join(',')})`;
  return cluster.list(LISTED_STATES_OF_PODS, { namespace, labelSelector });
}
