import { shown } from '../../domain/foreign-text.ts';
import { has, saysWait } from '../../domain/live/conditions.ts';
import { leftoversOf } from '../run/leftovers.ts';
import type { PlanMigration, RunProgress, VmStatus } from '../../domain/live/forklift.ts';
import { hasMoved } from '../run/state.ts';
import { LIVE_CONDITION, LIVE_REASON } from '../../domain/live/names.ts';
import type { Ended } from '../run/decision.ts';
import { percentOf } from './pipeline.ts';
import { endOf } from './vm.ts';

/** A run with all its VMs. */
export interface RunSummary extends RunProgress {
  readonly started: string | undefined;
  readonly completed: string | undefined;
  readonly end: Ended['as'] | undefined;
  readonly vms: VmStatus[];
}

interface RunStart {
  /** Whether a VM may start: then the run has started. */
  readonly mayStart: boolean;
  /** RFC 3339. */
  readonly time: string;
}

/** Returns the run's summary by its VMs. */
export function summaryOf(
  { status }: PlanMigration,
  vms: VmStatus[],
  { mayStart, time }: RunStart,
): RunSummary {
  const isOver = vms.every(({ completed }) => completed !== undefined);
  const started = status?.started ?? (mayStart || isOver ? time : undefined);
  const completed = status?.completed ?? (isOver ? time : undefined);
  const end = completed === undefined ? undefined : endOfAll(vms);
  const percents = vms.map((vm) => (endOf(vm) === 'Succeeded' ? 100 : percentOf(vm.pipeline)));
  const sum = percents.reduce((total, percent) => total + percent, 0);
  const progress = `${String(vms.length === 0 ? 100 : Math.floor(sum / vms.length))}%`;
  return { started, completed, end, vms, progress, message: runMessage(vms, end) };
}

function endOfAll(vms: readonly VmStatus[]): NonNullable<RunSummary['end']> {
  const ends = vms.map(endOf);
  if (ends.includes('Failed')) return 'Failed';
  return ends.includes('Succeeded') ? 'Succeeded' : 'Canceled';
}

const MAX_MESSAGE = 300;

/** Returns the message of the VM that needs attention first, else of the first one that is under way; at the end the results of all. */
function runMessage(vms: readonly VmStatus[], end: RunSummary['end']): string {
  const problem = vms.find((vm) => endOf(vm) === 'Failed') ?? vms.find((vm) => leftoversOf(vm).length > 0);
  const left = (problem === undefined ? [] : leftoversOf(problem)).join(', ');
  const text = [
    end === undefined ? openVmMessage(vms) : `${String(movedOf(vms))} of ${String(vms.length)} VMs moved`,
    problem === undefined ? '' : `${nameOf(problem)}: ${problem.error?.reasons[0] ?? 'canceled'}`,
    left === '' ? '' : `left over: ${left}`,
  ];
  return shown(text.filter((part) => part !== '').join('; '), MAX_MESSAGE);
}

const movedOf = (vms: readonly VmStatus[]): number =>
  vms.filter((vm) => hasMoved(vm) && !isUndecided(vm)).length;

/** Whether the VM's guest was seen on the target, and perhaps not for good. */
const isUndecided = ({ conditions = [] }: VmStatus): boolean =>
  conditions.some(({ reason }) => reason === LIVE_REASON.cutOverUndecided);

function openVmMessage(vms: readonly VmStatus[]): string {
  const open = vms.filter(({ completed }) => completed === undefined);
  const vm =
    open.find((one) => has(one, LIVE_CONDITION.blocked)) ??
    open.find(({ started }) => started !== undefined) ??
    open[0];
  if (vm === undefined) return '';
  const why = vm.conditions?.find(saysWait)?.message;
  return [nameOf(vm), vm.phase, ...(why === undefined ? [] : [shown(why)])].join(': ');
}

const nameOf = ({ name, id }: VmStatus): string => name ?? id ?? '';
