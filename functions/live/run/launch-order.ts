import { type ForeignText } from '../../domain/foreign-text.ts';
import { has, saysWait } from '../../domain/live/conditions.ts';
import type { VmStatus } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION, LIVE_REASON } from '../../domain/live/names.ts';
import type { RecordedRun } from './snapshot.ts';
import { isSameVm } from './stop.ts';

/**
 * Returns the VM of the same run, among those before this one, whose launcher is about to come: a quota can only count pods that are there.
 * Returns undefined if it is this VM's turn, or if no quota counts. The waits of the other VMs are those in the status.
 */
export function launchesBefore({ hub, target: { launched } }: RecordedRun): string | undefined {
  if (launched === undefined) return undefined;
  const vms = hub.migration.status?.vms ?? [];
  const own = vms.findIndex((vm) => isSameVm(vm, hub.entry));
  const first = vms.slice(0, Math.max(0, own)).find((vm) => isAboutToLaunch(vm, launched));
  return first?.name;
}

const isAboutToLaunch = (vm: VmStatus, launched: ReadonlySet<string>): boolean =>
  vm.completed === undefined &&
  !has(vm, LIVE_CONDITION.cutOver) &&
  !launched.has(vm.targetName || (vm.name ?? '')) &&
  SHORT.includes(waitOf(vm));

/** Returns what a VM waits for by its status; undefined if the status has no wait. */
const waitOf = ({ conditions = [] }: VmStatus): ForeignText | undefined => conditions.find(saysWait)?.reason;

/** Waits that last a moment. A VM that waits for anything else, such as a quota or a hook, does not hold up the others. */
const SHORT: readonly (ForeignText | undefined)[] = [
  undefined,
  LIVE_REASON.inTurn,
  LIVE_REASON.noAddress,
  LIVE_REASON.receiverPending,
  LIVE_REASON.targetPending,
  // VMs before this one begin before it, or in this very moment.
  LIVE_REASON.waitingToStart,
];
