import { BLOCKED_BY, type BlockedReason } from '../domain/progress/names.ts';
import { REASON } from '../domain/names.ts';
import {
  LONGEST_BACKOFF_MS,
  WAITS_FOR,
  type Before,
  type MaintenanceRules,
  type VmLeft,
  type VmState,
} from './vm-state.ts';

/** Reasons to wait for something else than the next attempt. */
const ELSEWHERE: readonly string[] = [
  WAITS_FOR.notEvicted,
  WAITS_FOR.external,
  WAITS_FOR.otherMigration,
  WAITS_FOR.crossCluster,
  REASON.launcherLeftOver,
];
/** What may also hold back the next attempt. */
const HOLDING: readonly (BlockedReason | undefined)[] = [undefined, BLOCKED_BY.limit, BLOCKED_BY.pending];

/** KubeVirt migrates it again, or will. */
const isRetried = ({ bucket, reason, blockedBy }: VmState): boolean =>
  bucket !== 'restarted' && HOLDING.includes(blockedBy) && !ELSEWHERE.includes(reason);

/**
 * Reports a VM whose migration fails again and again as blocked all the time, not only between two attempts. If the target pod
 * was never ready, the VMI does not show the former attempt (facts/kubevirt.md §1.6), so the last status counts.
 */
export function afterFailure(state: VmState, vm: VmLeft, { before, now }: MaintenanceRules): VmState {
  if (before === undefined || !isRetried(state)) return state;
  const known = before.entries.get(`${vm.namespace}/${vm.name}`);
  if (known?.reason === WAITS_FOR.notReady && !isPastScheduling(vm))
    return { bucket: 'waiting', reason: known.reason, since: known.since, blockedBy: BLOCKED_BY.capacity };
  const since = known?.reason === WAITS_FOR.migrationFailed ? known.since : failedAt(vm, before);
  return since === undefined ? state : afterFailedTransfer(state, since, now);
}

/** KubeVirt tries again by itself, and most often the next attempt is enough. */
function afterFailedTransfer({ bucket }: VmState, since: string, now: number): VmState {
  const failed = { reason: WAITS_FOR.migrationFailed, since };
  if (now - Date.parse(since) >= LONGEST_BACKOFF_MS)
    return { bucket: 'failed', ...failed, blockedBy: BLOCKED_BY.migrationFailed };
  return { bucket: bucket === 'noMigrationYet' ? 'failed' : bucket, ...failed };
}

const isPastScheduling = ({ migration }: VmLeft): boolean =>
  !['', 'Pending', 'Scheduling'].includes(migration?.status?.phase ?? '');

/** Time of the VMI's last failed migration (RFC 3339); undefined: none failed during this drain or upgrade. */
function failedAt({ vmi }: VmLeft, { startedAt }: Before): string | undefined {
  const { failed, endTimestamp } = vmi?.status?.migrationState ?? {};
  if (failed !== true || typeof endTimestamp !== 'string') return undefined;
  return Date.parse(endTimestamp) >= Date.parse(startedAt) ? endTimestamp : undefined;
}
