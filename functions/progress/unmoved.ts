import { BLOCKED_BY, type BlockedReason } from '../domain/progress/names.ts';
import { REASON } from '../domain/names.ts';
import {
  hasWaited,
  isEvictedOnly,
  LONGEST_BACKOFF_MS,
  WAITS_FOR,
  type MaintenanceRules,
  type VmLeft,
  type VmState,
} from './vm-state.ts';

/**
 * A VM that nothing moves is blocked: KubeVirt may not create its migration (FailedCreate, by a quota on their number or a policy), an
 * external controller may do nothing, or the drain was given up. One tenant's eviction on a cordoned node opens a drain, too.
 */
export function unlessUnmoved(state: VmState, vm: VmLeft, rules: MaintenanceRules): VmState {
  if (isHanging(state, vm, rules)) return { ...state, blockedBy: BLOCKED_BY.stopping };
  const since = rules.before?.startedAt;
  const blockedBy = blockerOf(state, vm);
  if (blockedBy === undefined || since === undefined || !hasWaited(since, turnOf(state, rules), rules))
    return state;
  return { ...state, bucket: 'waiting', blockedBy };
}

/** Milliseconds after which the VM should have been moved: an upgrade by eviction evicts some VMs in each interval. */
function turnOf({ reason }: VmState, { kind, methods, evictionIntervalMs = 0 }: MaintenanceRules): number {
  // Of an upgrade, only one by eviction leaves VMs to external controllers.
  const isByEviction = isEvictedOnly(kind, methods) || (kind === 'Upgrade' && reason === WAITS_FOR.external);
  return LONGEST_BACKOFF_MS + (isByEviction ? evictionIntervalMs : 0);
}

/** Whether it should have stopped minutes ago: KubeVirt ends its guest after the grace period. */
function isHanging(
  { bucket, reason, since = '' }: VmState,
  { vmi }: VmLeft,
  { now }: MaintenanceRules,
): boolean {
  const graceMs = (vmi?.spec?.terminationGracePeriodSeconds ?? 0) * 1_000;
  const isStopping = bucket === 'restarted' && reason === WAITS_FOR.stopping;
  return isStopping && now - Date.parse(since) >= LONGEST_BACKOFF_MS + graceMs;
}

const BY_REASON: ReadonlyMap<string, BlockedReason> = new Map<string, BlockedReason>([
  [WAITS_FOR.noMigration, BLOCKED_BY.pending],
  [REASON.launcherLeftOver, BLOCKED_BY.pending],
  [WAITS_FOR.notEvicted, BLOCKED_BY.notEvicted],
  [WAITS_FOR.external, BLOCKED_BY.external],
]);

/** What blocks it if nothing moves it for long; undefined: it is moved, or something else blocks it. */
function blockerOf({ bucket, reason }: VmState, { isQueued }: VmLeft): BlockedReason | undefined {
  // A verdict may have any reason: it is from an Event.
  if (bucket !== 'noMigrationYet') return undefined;
  // KubeVirt creates no migration that would find no slot (facts/kubevirt.md §3).
  return isQueued && reason === WAITS_FOR.noMigration ? BLOCKED_BY.limit : BY_REASON.get(reason);
}
