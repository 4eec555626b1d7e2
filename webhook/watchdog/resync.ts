import { pause, type Clock } from '../../functions/runtime/clock.ts';
import type { OurEvent } from '../../functions/domain/events.ts';
import { fingerprint } from '../../functions/domain/fingerprint.ts';
import { isPending, isRejectedByQuota } from '../../functions/domain/migration.ts';
import { CONDITION, EVENT } from '../../functions/domain/names.ts';
import { isPendingForMaintenance } from '../../functions/progress/vm-state.ts';
import type { KubernetesObject, Migration, Vmmrq } from '../../functions/domain/objects.ts';
import type { Cluster } from '../../functions/kubernetes/cluster.ts';
import { describeError } from '../../functions/kubernetes/errors.ts';
import { LISTED_HIDDEN_GRANTS } from '../../functions/cluster/listed.ts';
import { WINDOW_MS } from '../../functions/domain/verdict/attempt.ts';
import { removeOldRecords } from './old-records.ts';
import type { Log } from '../../functions/runtime/log.ts';

export interface ResyncOptions {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly log: Log;
  readonly post: (event: OurEvent) => Promise<void>;
  /** Lowers and unlocks in the guard's process; `token`: the lock that the watchdog has watched for its whole lifetime. */
  readonly repair: (namespace: string, token: string | undefined) => Promise<unknown>;
  /** The objects in the watches; undefined: the watches have not listed every kind yet. */
  readonly seen: () => SeenObjects | undefined;
  /** Aborts when the next resync must not wait. */
  readonly hurry: () => AbortSignal;
  /** Returns a number from 0 to 1, which spreads the resyncs of several replicas. */
  readonly random: () => number;
}

/** The objects of the whole cluster. */
export interface SeenObjects {
  readonly vmmrqs: readonly Vmmrq[];
  /** Cluster-wide VMMRQs, which may select any namespace. */
  readonly clusterVmmrqs: readonly Vmmrq[];
  /** Migrations that have not ended. */
  readonly migrations: readonly Migration[];
  /** A number for each namespace, which is new after each lock. */
  readonly unlocks: ReadonlyMap<string, number>;
  /** Locks that have ended since the guard's start. */
  readonly unlockCount: number;
  /** What shows the incumbent; undefined: nothing. */
  readonly incumbent: string | undefined;
}

/** The interval until the watches have listed every kind. */
const LISTING_MS = 200;
/** Between two lists of a kind in all namespaces. */
const LISTS_EVERY_MS = 3_600_000;
/**
 * Maximum intervals between requests for an unchanged namespace. It gets one at resyncs 1, 2, 4, … and then at every 20th; at every
 * 4th while a quota refuses a migration, because no component gets an event of what ends that (an edited quota, pods that end, a
 * label).
 */
const MAX_INTERVALS = { refused: 4, other: 20 } as const;

/** The known state of a namespace. */
interface Concern {
  /** Texts that change with the namespace's state. */
  readonly news: string[];
  isRefused: boolean;
  /** Whether a VMMRQ may give to it. */
  readonly isServed: boolean;
}

interface NamespaceState {
  readonly of: string;
  readonly seen: number;
  readonly nextAt: number;
}

/**
 * Makes up for lost events. At start and every `seconds` it looks for Pending migrations in namespaces with a VMMRQ; at start and
 * every hour, for quotas with a grant but without the label, and for records on namespaces that no step uses any more: for these also
 * when a record of which it knows is over. Runs until `signal` aborts.
 */
export async function resync(seconds: number, options: ResyncOptions, signal: AbortSignal): Promise<void> {
  let known: ReadonlyMap<string, NamespaceState> = new Map();
  let grantsAt = 0;
  let records: RecordsState = { nextAt: 0, unlockCount: 0 };
  const failed = (error: unknown): void => options.log('warn', `a resync failed: ${describeError(error)}`);
  while (!signal.aborted) {
    // The signal is from before the resync: changes during it must not wait either.
    const until = AbortSignal.any([signal, options.hurry()]);
    // The two run independently: a Broker that is down must not prevent a repair.
    await resyncMigrations(options, known).then((next) => (known = next), failed);
    if (options.clock.elapsed() >= grantsAt) {
      const next = options.clock.elapsed() + LISTS_EVERY_MS;
      await resyncGrants(options).then(() => (grantsAt = next), failed);
    }
    const seen = options.seen();
    // Beside the incumbent nothing is written but what ends our own locks and grants.
    if (seen !== undefined && seen.incumbent === undefined)
      records = await resyncRecords(options, seen, records);
    const betweenMs = seconds * 1_000 * (0.8 + 0.4 * options.random());
    await pause(options.clock, seen === undefined ? LISTING_MS : betweenMs, until);
  }
}

async function resyncMigrations(
  options: ResyncOptions,
  known: ReadonlyMap<string, NamespaceState>,
): Promise<ReadonlyMap<string, NamespaceState>> {
  const seen = options.seen();
  if (seen === undefined) return known;
  const next = new Map<string, NamespaceState>();
  let isBrokerAway = false;
  for (const [namespace, { news, isRefused, isServed }] of namespacesToResync(seen)) {
    const of = fingerprint(news.toSorted().join());
    const before = known.get(namespace);
    // Most migrations that KubeVirt shows no refusal of have their target, or wait for a slot, within an interval.
    const now = before?.of === of ? before : { of, seen: 0, nextAt: isServed || isRefused ? 1 : 2 };
    const maxIntervals = isRefused ? MAX_INTERVALS.refused : MAX_INTERVALS.other;
    const asked = { ...now, seen: now.seen + 1, maxIntervals };
    const after: NamespaceState | undefined = isBrokerAway
      ? undefined
      : await requestResync(options, namespace, asked);
    isBrokerAway = after === undefined;
    next.set(namespace, after ?? now);
  }
  return next;
}

/**
 * Namespaces with a VMMRQ (any, where cluster-wide ones exist) and a Pending migration, or with a VMMRQ that still reports one. The
 * texts of each change with its state: the migrations' UIDs, the transition times of the VMMRQs' conditions, the cluster-wide VMMRQs'
 * generations, and a number that is new after each lock. KubeVirt's condition is not enough: it does not report a refused attachment
 * pod, nor what else than a quota refuses a target (facts/kubevirt.md §1.3). A Pending migration of a drain or an upgrade counts without
 * a VMMRQ too: its verdict is in the MaintenanceProgress.
 */
function namespacesToResync({
  vmmrqs,
  clusterVmmrqs,
  migrations,
  unlocks,
}: SeenObjects): Map<string, Concern> {
  const pending = migrations.filter(isPending);
  const isConcerned = new Set([...pending, ...vmmrqs.filter(isMarkedBusy)].map(namespaceOf));
  const isServed = new Set(vmmrqs.map(namespaceOf));
  const found = new Map<string, Concern>();
  const everywhere = clusterVmmrqs.map(({ metadata }) => `${metadata.uid} ${String(metadata.generation)}`);
  const note = (object: KubernetesObject, texts: readonly string[], isRefused = false): void => {
    const namespace = namespaceOf(object);
    const concern = found.get(namespace) ?? {
      news: [String(unlocks.get(namespace) ?? 0), ...everywhere],
      isRefused,
      isServed: isServed.has(namespace) || clusterVmmrqs.length > 0,
    };
    // The texts are not copied: a tenant may have very many migrations.
    concern.news.push(...texts);
    concern.isRefused ||= isRefused;
    found.set(namespace, concern);
  };
  for (const vmmrq of vmmrqs) if (isConcerned.has(namespaceOf(vmmrq))) note(vmmrq, changesOf(vmmrq));
  for (const migration of pending) {
    const { uid } = migration.metadata;
    const isRefused = isRejectedByQuota(migration);
    if (clusterVmmrqs.length > 0 || isServed.has(namespaceOf(migration))) note(migration, [uid], isRefused);
    else if (isPendingForMaintenance(migration)) note(migration, [`${uid} ${String(isRefused)}`], isRefused);
  }
  return found;
}

const changesOf = ({ status }: Vmmrq): string[] =>
  (status?.conditions ?? []).map(({ type, lastTransitionTime }) => `${type} ${lastTransitionTime ?? ''}`);

const namespaceOf = ({ metadata }: KubernetesObject): string => metadata.namespace ?? '';

/** Whether the VMMRQ's status reports a state that may be over: the resync replaces a lost report. */
function isMarkedBusy({ status }: Vmmrq): boolean {
  const transientConditions: readonly string[] = [CONDITION.blocking, CONDITION.locked, CONDITION.raised];
  return (status?.conditions ?? []).some(
    ({ type, status: is }) => transientConditions.includes(type) && is === 'True',
  );
}

/** Requests a resync if one is due; returns undefined if the Broker did not take it. */
async function requestResync(
  { post, log }: ResyncOptions,
  namespace: string,
  { maxIntervals, ...known }: NamespaceState & { readonly maxIntervals: number },
): Promise<NamespaceState | undefined> {
  if (known.seen < known.nextAt) return known;
  const cause = `${known.of}-${String(known.seen)}`;
  try {
    await post({ type: EVENT.resyncRequested, from: 'guard', namespace, cause });
  } catch (error) {
    log('warn', `a resync failed: ${describeError(error)}`, { namespace });
    return undefined;
  }
  return { ...known, nextAt: known.seen + Math.min(known.seen, maxIntervals) };
}

/** When the records are listed next, milliseconds of the clock; and the locks that had ended when that was decided. */
interface RecordsState {
  readonly nextAt: number;
  readonly unlockCount: number;
}

/** A lock that has ended may have left a record, which is over after a window at the earliest. */
async function resyncRecords(
  { cluster, clock, log }: ResyncOptions,
  { unlockCount }: SeenObjects,
  known: RecordsState,
): Promise<RecordsState> {
  const hasNews = unlockCount > known.unlockCount;
  const nextAt = hasNews ? Math.min(known.nextAt, clock.elapsed() + WINDOW_MS) : known.nextAt;
  if (clock.elapsed() < nextAt) return { nextAt, unlockCount };
  const nextMs = await removeOldRecords(cluster, log).catch((error: unknown) => {
    log('warn', `a resync failed: ${describeError(error)}`);
    return LISTS_EVERY_MS;
  });
  return { nextAt: clock.elapsed() + Math.min(nextMs, LISTS_EVERY_MS), unlockCount };
}

/** Repairs grants without the raised label. Our steps leave none: another writer has removed the label. */
async function resyncGrants({ cluster, repair, log }: ResyncOptions): Promise<void> {
  const { items } = await cluster.list(LISTED_HIDDEN_GRANTS, {});
  const repairs = [...new Set(items.map(namespaceOf))].map((namespace) => {
    log('warn', 'a ResourceQuota holds a grant without the label, and is repaired', { namespace });
    return repair(namespace, undefined);
  });
  const failure = (await Promise.allSettled(repairs)).find(({ status }) => status === 'rejected');
  if (failure?.status === 'rejected') throw failure.reason;
}
