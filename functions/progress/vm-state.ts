import { shown } from '../domain/foreign-text.ts';
import {
  CLOCKS_APART_MS,
  enteredAt,
  isFinal,
  isPending,
  isRejectedByQuota,
  isRunning,
  isUnexplained,
} from '../domain/migration.ts';
import { KUBEVIRT, REASON } from '../domain/names.ts';
import { BLOCKED_BY, type BlockedReason } from '../domain/progress/names.ts';
import type { Condition, KubeVirt, Migration, VirtualMachineInstance } from '../domain/objects.ts';
import type { KnownVerdict } from '../domain/progress/known-verdict.ts';
import type { RefusedMigration } from '../domain/progress/refused-migration.ts';
import {
  MAINTENANCE_KINDS,
  type BlockingQuota,
  type BucketEntry,
  type BucketName,
  type MaintenanceKind,
} from '../domain/progress/progress-object.ts';

/** A VM that a drain still has to move, or an upgrade to update. */
export interface VmLeft {
  readonly namespace: string;
  readonly name: string;
  /** The VMI; left out if only the migration is known. */
  readonly vmi?: VirtualMachineInstance;
  /** The VM's migration that has not ended. */
  readonly migration?: Migration;
  /** No migration slot is left for it, by KubeVirt's parallel limits. KubeVirt then creates no migration either. */
  readonly isQueued: boolean;
  /** The VM's namespace is locked for it. */
  readonly isLocked: boolean;
  readonly verdict?: KnownVerdict | undefined;
  /** The last refusal of a migration that KubeVirt wanted to create for it; left out: none is known. */
  readonly refused?: RefusedMigration | undefined;
}

export interface MaintenanceRules {
  readonly kind: MaintenanceKind;
  /** KubeVirt's workloadUpdateMethods. */
  readonly methods: readonly string[];
  /** KubeVirt's batchEvictionInterval (milliseconds): it evicts the next VMs after so long. Left out: 0. */
  readonly evictionIntervalMs?: number;
  /** The cluster's evictionStrategy, for VMIs that have none. */
  readonly evictionStrategy: string | undefined;
  /** KubeVirt drains the node by its taint: nothing evicts the VMs that it cannot migrate. Left out: no. */
  readonly isByTaint?: boolean;
  /** What the status of the open object says; left out: there is none. */
  readonly before?: Before | undefined;
  /** Milliseconds. */
  readonly now: number;
}

/** What a report knows from its last status. */
export interface Before {
  /** RFC 3339. */
  readonly startedAt: string;
  /** Milliseconds of the last migration of a VM of this drain or upgrade; undefined: none was migrated. */
  readonly movedAt: number | undefined;
  /** Upgrade: when KubeVirt's own components were seen to be updated, milliseconds; left out: they have not been. */
  readonly deployedAt?: number | undefined;
  /** The VMs that it names, by `namespace/name`. */
  readonly entries: ReadonlyMap<string, BucketEntry>;
}

export interface VmState {
  readonly bucket: BucketName;
  readonly reason: string;
  readonly message?: string | undefined;
  readonly since?: string | undefined;
  readonly quotas?: readonly BlockingQuota[] | undefined;
  /** What holds the VM back; left out if it gets on by itself. */
  readonly blockedBy?: BlockedReason;
}

/** Reasons that are no verdicts of feasibility. */
export const WAITS_FOR = {
  unexamined: 'Unexamined',
  running: 'Running',
  pending: 'Pending',
  notReady: 'TargetPodNotReady',
  noMigration: 'NoMigration',
  notEvicted: 'NotEvicted',
  otherMigration: 'OtherMigration',
  crossCluster: 'CrossClusterMigration',
  external: 'ExternalEviction',
  migrationFailed: 'MigrationFailed',
  stopping: 'Stopping',
} as const;

/** Verdicts after which the functions go on by themselves. */
const TEMPORARY: readonly string[] = [
  REASON.parallelLimit,
  REASON.backOff,
  REASON.afterOthers,
  REASON.alreadyLocked,
  REASON.statusUnknown,
  REASON.notRecounted,
  REASON.viewUnavailable,
  REASON.kubevirtAway,
];

/** A refusal without a verdict for so long is reported; the functions take one at once (milliseconds). */
const UNEXAMINED_MS = 10_000;
/** A target pod that is not ready, a slot that is not free, or a second launcher that does not end, for so long, is reported. */
const WAITED_MS = 60_000;
/** KubeVirt waits at most 320 s after failed migrations (facts/kubevirt.md §1.5). */
export const LONGEST_BACKOFF_MS = 360_000;

/** What a VM waits for, in the words of facts/kubevirt.md §3. */
export function vmStateOf(vm: VmLeft, rules: MaintenanceRules): VmState {
  const { vmi, migration } = vm;
  const stopping = vmi?.metadata.deletionTimestamp;
  // KubeVirt deletes its migration, and neither evicts nor updates it.
  if (stopping !== undefined) return { bucket: 'restarted', reason: WAITS_FOR.stopping, since: stopping };
  if (migration === undefined || isFinal(migration)) return ifEvicted(withoutMigration(vm, rules), vm, rules);
  const other = otherMigration(migration, rules, isRefused(vm, migration));
  if (other !== undefined) return whileOther(vm, migration, { ...rules, reason: other });
  return isRunning(migration) ? whileRunning(migration, rules) : whilePending(vm, migration, rules);
}

/** Whether its target is refused: by KubeVirt's condition, or by the verdict, which also knows other refusals than a quota's. */
const isRefused = ({ verdict }: VmLeft, migration: Migration): boolean =>
  isRejectedByQuota(migration) || (isUnexplained(migration) && verdict !== undefined);

/** Why the migration is not of this drain or upgrade; undefined: it is, or its target is refused. */
function otherMigration(migration: Migration, rules: MaintenanceRules, refused: boolean): string | undefined {
  const { sendTo, receive } = migration.spec;
  if (sendTo !== undefined || receive !== undefined) return WAITS_FOR.crossCluster;
  // KubeVirt creates no other one until it ends, and a refused one never does.
  const counts = isForThis(migration, rules) || refused;
  return counts ? undefined : WAITS_FOR.otherMigration;
}

function whileOther(
  { isQueued }: VmLeft,
  migration: Migration,
  { reason, ...rules }: MaintenanceRules & { readonly reason: string },
): VmState {
  const since = migration.metadata.creationTimestamp;
  if (isRunning(migration) || !hasWaited(since, LONGEST_BACKOFF_MS, rules))
    return { bucket: 'noMigrationYet', reason, since };
  return { bucket: 'waiting', reason, since, blockedBy: isQueued ? BLOCKED_BY.limit : BLOCKED_BY.pending };
}

/** Whether a VM has waited for so long, and no other one of this drain or upgrade was moved for minutes. */
export function hasWaited(since: string, ms: number, rules: MaintenanceRules): boolean {
  const { before, now } = rules;
  const movedAt = before?.movedAt ?? -Infinity;
  const isLong = now - Math.max(Date.parse(since), beginOf(rules)) >= ms;
  return isLong && now - movedAt >= Math.max(ms, LONGEST_BACKOFF_MS);
}

/** Milliseconds from which KubeVirt moves VMs. It updates none before its own components (facts/kubevirt.md §3.1). */
const beginOf = ({ kind, before }: MaintenanceRules): number =>
  kind === 'Drain' ? -Infinity : (before?.deployedAt ?? Infinity);

/** Whether KubeVirt created the migration for this kind of maintenance. A user's own migration is for none. */
export const isFor = ({ metadata: { annotations } }: Migration, kind: MaintenanceKind): boolean =>
  annotations?.[kind === 'Drain' ? KUBEVIRT.evacuation : KUBEVIRT.workloadUpdate] !== undefined;

/** Whether a migration that KubeVirt created for a drain or an upgrade is Pending; something may refuse its target. */
export const isPendingForMaintenance = (migration: Migration): boolean =>
  isPending(migration) && MAINTENANCE_KINDS.some((kind) => isFor(migration, kind));

/** Whether it updates the VM: an evacuation does, where an upgrade evicts every VM. */
const isForThis = (migration: Migration, { kind, methods }: MaintenanceRules): boolean =>
  isFor(migration, kind) || (isEvictedOnly(kind, methods) && isFor(migration, 'Drain'));

/** How KubeVirt updates VMs after an upgrade; empty: not at all. */
export const methodsOf = (kubevirt: KubeVirt | undefined): readonly string[] =>
  kubevirt?.spec?.workloadUpdateStrategy?.workloadUpdateMethods ?? [];

/** Milliseconds after which KubeVirt evicts the next VMs; its default is a minute. */
export const evictionIntervalOf = (kubevirt: KubeVirt | undefined): number =>
  goDurationMs(kubevirt?.spec?.workloadUpdateStrategy?.batchEvictionInterval ?? '1m');

const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** A duration as Go writes it, "1h30m0s"; what is shorter than a millisecond counts 0. */
const goDurationMs = (text: string): number =>
  [...text.matchAll(/([\d.]+)(ms|[hms])/g)].reduce(
    (sum, [, count, unit = '']) => sum + Number(count) * (UNIT_MS[unit] ?? 0),
    0,
  );

/** An upgrade that evicts VMs, and migrates none by itself (facts/kubevirt.md §3.1). */
export const isEvictedOnly = (kind: MaintenanceKind, methods: readonly string[]): boolean =>
  kind === 'Upgrade' && methods.includes('Evict') && !methods.includes('LiveMigrate');

function withoutMigration(vm: VmLeft, rules: MaintenanceRules): VmState {
  const { vmi } = vm;
  const { kind, methods, evictionStrategy } = rules;
  if (kind === 'Upgrade' && methods.length === 0) return NOT_AUTOMATED;
  const notLive = vmi?.status?.conditions?.find(isNotLive);
  const isMigrated = kind === 'Upgrade' && methods.includes('LiveMigrate') && notLive === undefined;
  const evicted = isMigrated ? undefined : whenEvicted(strategyOf(vmi, evictionStrategy), notLive, rules);
  return evicted ?? notCreated(vm, rules);
}

/** The state of a VM that KubeVirt is to migrate, and has created no migration for. */
const notCreated = (vm: VmLeft, rules: MaintenanceRules): VmState =>
  besideLeftOver(vm, rules) ?? whileRefused(vm, rules);

/**
 * Whether a launcher is left over beside the VM's own: the evacuation controller then creates no migration, and writes no Event
 * (facts/kubevirt.md §3.2). undefined: none is, or it is about to end after the last migration.
 */
function besideLeftOver({ vmi }: VmLeft, { kind, methods, now }: MaintenanceRules): VmState | undefined {
  if (kind === 'Upgrade' && !isEvictedOnly(kind, methods)) return undefined;
  const { activePods = {}, migrationState } = vmi?.status ?? {};
  const nodes = Object.values(activePods);
  const isGoing = now - Date.parse(migrationState?.endTimestamp ?? '') < WAITED_MS;
  if (nodes.length < 2 || isGoing) return undefined;
  const on = nodes.toSorted().map((node) => node || 'no node');
  const message = `it has ${String(nodes.length)} launchers (on ${on.join(', ')}), and KubeVirt creates no migration beside them`;
  return { bucket: 'noMigrationYet', reason: REASON.launcherLeftOver, message };
}

/** KubeVirt tries to create its migration again and again: its last Event says why that fails (facts/kubevirt.md §3). */
function whileRefused(vm: VmLeft, rules: MaintenanceRules): VmState {
  const { refused } = vm;
  const state: VmState = { bucket: 'noMigrationYet', reason: WAITS_FOR.noMigration };
  if (refused === undefined || !isOfThis(refused, vm, rules)) return state;
  const message = `KubeVirt cannot create its migration: ${refused.text}`;
  if (!refused.isByQuota) return { ...state, message };
  const reason = REASON.migrationQuota;
  const known = rules.before?.entries.get(`${vm.namespace}/${vm.name}`);
  const at = new Date(Math.min(refused.at, rules.now)).toISOString();
  const since = (known?.reason === reason ? known.since : undefined) ?? at;
  return { bucket: 'blocked', reason, message, since, blockedBy: BLOCKED_BY.quota };
}

/** An Event stays for an hour: it may be of an earlier drain, or of before the VM's last migration. */
function isOfThis({ at }: RefusedMigration, { vmi }: VmLeft, { before }: MaintenanceRules): boolean {
  if (before === undefined) return false;
  const { endTimestamp } = vmi?.status?.migrationState ?? {};
  const isAfterLast = typeof endTimestamp !== 'string' || at >= Date.parse(endTimestamp);
  return isAfterLast && at >= Date.parse(before.startedAt) - CLOCKS_APART_MS;
}

/** Reads KubeVirt's mark on the VMI: without one, and without the drain taint, nothing evicts it (facts/kubevirt.md §3.2). */
function ifEvicted(state: VmState, { vmi }: VmLeft, { kind, isByTaint }: MaintenanceRules): VmState {
  if (kind === 'Upgrade' || isByTaint === true || state.bucket !== 'noMigrationYet') return state;
  const { nodeName, evacuationNodeName } = vmi?.status ?? {};
  const isMarked = evacuationNodeName !== undefined && evacuationNodeName === nodeName;
  return isMarked ? state : { ...state, reason: WAITS_FOR.notEvicted };
}

/** A VMI without a strategy has the cluster's; undefined: none. */
const strategyOf = (
  vmi: VirtualMachineInstance | undefined,
  ofCluster: string | undefined,
): string | undefined => vmi?.spec?.evictionStrategy ?? ofCluster;

/** A drain waits for VMs with such a strategy; it stops others (facts/kubevirt.md §3.3). */
const PROTECTING: readonly (string | undefined)[] = ['LiveMigrate', 'LiveMigrateIfPossible', 'External'];

/** Whether a drain waits for the VM. */
export const isProtected = (vmi: VirtualMachineInstance, ofCluster: string | undefined): boolean =>
  PROTECTING.includes(strategyOf(vmi, ofCluster));

const isNotLive = ({ type, status }: Condition): boolean => type === 'LiveMigratable' && status === 'False';

const NOT_AUTOMATED: VmState = {
  bucket: 'notAutomated',
  reason: BLOCKED_BY.notAutomated,
  blockedBy: BLOCKED_BY.notAutomated,
};

/** The state by the answer of KubeVirt's eviction webhook (facts/kubevirt.md §3.3); undefined: it migrates the VM. */
function whenEvicted(
  strategy: string | undefined,
  notLive: Condition | undefined,
  rules: MaintenanceRules,
): VmState | undefined {
  if (rules.kind === 'Drain' || rules.methods.includes('Evict')) {
    if (strategy === 'External') return { bucket: 'noMigrationYet', reason: WAITS_FOR.external };
    if (isRestarted(strategy, notLive, rules)) return { bucket: 'restarted', ...whyOf(notLive) };
  }
  return notLive === undefined ? undefined : notMigratable(notLive);
}

/** A drain does not wait for a VM without a strategy, and is not about it. */
function isRestarted(
  strategy: string | undefined,
  notLive: Condition | undefined,
  { kind, isByTaint = false }: MaintenanceRules,
): boolean {
  if (!PROTECTING.includes(strategy)) return kind === 'Upgrade';
  return notLive !== undefined && strategy === 'LiveMigrateIfPossible' && !isByTaint;
}

const notMigratable = (notLive: Condition): VmState => ({
  bucket: 'notMigratable',
  ...whyOf(notLive),
  blockedBy: BLOCKED_BY.notMigratable,
});

const whyOf = (notLive: Condition | undefined): Pick<VmState, 'reason' | 'message'> => {
  if (notLive === undefined) return { reason: 'Evict' };
  const { message } = notLive;
  const reason = shown(notLive.reason);
  return message === undefined ? { reason } : { reason, message: shown(message) };
};

function whileRunning(migration: Migration, { now }: MaintenanceRules): VmState {
  const since = notReadySince(migration, now);
  if (since !== undefined)
    return { bucket: 'waiting', reason: WAITS_FOR.notReady, since, blockedBy: BLOCKED_BY.capacity };
  // Without its phase: each one would be a write.
  return { bucket: 'running', reason: WAITS_FOR.running, since: migration.metadata.creationTimestamp };
}

/**
 * Time since which the target pod is not ready (RFC 3339); undefined: it is, or has not waited for long. Most often it finds no
 * node, but an image may be pulled, too (facts/kubevirt.md §1.1). `now`: milliseconds.
 */
export function notReadySince(migration: Migration, now: number): string | undefined {
  if (migration.status?.phase !== 'Scheduling') return undefined;
  const since = enteredAt(migration) ?? migration.metadata.creationTimestamp;
  return now - Date.parse(since) < WAITED_MS ? undefined : since;
}

/** A refused attachment pod leaves no condition: only the verdict shows it (facts/kubevirt.md §1.3). */
function whilePending(vm: VmLeft, migration: Migration, rules: MaintenanceRules): VmState {
  const verdict = verdictOf(vm);
  const since = migration.metadata.creationTimestamp;
  // A lock that a policy refuses helps no migration, and is over within the moment or until the guard ends it.
  if (vm.isLocked && verdict?.reason !== REASON.refusedByPolicy)
    return { bucket: 'waiting', reason: REASON.locked, since };
  if (verdict !== undefined) return afterVerdict(verdict, migration, rules);
  if (vm.isQueued)
    return {
      bucket: 'waiting',
      reason: REASON.parallelLimit,
      since,
      ...(hasWaited(since, WAITED_MS, rules) ? { blockedBy: BLOCKED_BY.limit } : {}),
    };
  if (isRejectedByQuota(migration)) return unexamined(migration, rules.now);
  // What else refuses its pod leaves no condition (facts/kubevirt.md §1.3), and feasibility has not looked at its Events yet.
  return { bucket: 'waiting', reason: WAITS_FOR.pending, since, ...ifStuck(since, rules) };
}

const ifStuck = (since: string, rules: MaintenanceRules): Pick<VmState, 'blockedBy'> =>
  hasWaited(since, LONGEST_BACKOFF_MS, rules) ? { blockedBy: BLOCKED_BY.pending } : {};

/** Whether a slot is left, the guard knows itself. */
const verdictOf = ({ isQueued, verdict }: VmLeft): KnownVerdict | undefined =>
  isQueued && verdict?.reason === REASON.parallelLimit ? undefined : verdict;

/** A temporary verdict does not hide a VM for long: where a tenant deletes the Event of the last one, an older one counts. */
function afterVerdict(verdict: KnownVerdict, migration: Migration, rules: MaintenanceRules): VmState {
  const since = refusedAt(migration);
  if (!TEMPORARY.includes(verdict.reason))
    return { bucket: 'blocked', ...verdict, since, blockedBy: BLOCKED_BY.quota };
  const { creationTimestamp } = migration.metadata;
  return { bucket: 'waiting', ...verdict, since: creationTimestamp, ...ifStuck(since, rules) };
}

function unexamined(migration: Migration, now: number): VmState {
  const since = refusedAt(migration);
  const isLate = now - Date.parse(since) >= UNEXAMINED_MS;
  const by = isLate ? { blockedBy: BLOCKED_BY.quota } : {};
  return { bucket: 'blocked', reason: WAITS_FOR.unexamined, since, ...by };
}

/** KubeVirt writes the time once, at the first refusal (facts/kubevirt.md §1.3). */
const refusedAt = ({ metadata, status }: Migration): string =>
  status?.conditions?.find(({ type }) => type === KUBEVIRT.rejectedByQuota)?.lastProbeTime ??
  metadata.creationTimestamp;
