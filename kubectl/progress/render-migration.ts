import { cutText, shown } from '../../functions/domain/foreign-text.ts';
import { has, isBlocking } from '../../functions/domain/live/conditions.ts';
import type { PlanMigration, VmStatus } from '../../functions/domain/live/forklift.ts';
import { LIVE_CONDITION } from '../../functions/domain/live/names.ts';
import type { Style } from '../terminal/table.ts';
import { barOf, MAX_NAMED, subjectOf } from './bar.ts';
import type { ScreenWidth } from './kind.ts';

const STYLE = {
  Waiting: 'dim',
  Running: 'cyan',
  Blocked: 'red',
  Succeeded: 'green',
  Failed: 'red',
  Canceled: 'red',
} as const satisfies Record<string, Style>;
type State = keyof typeof STYLE;

/** Renders the migration for a terminal like a drain: a bar, what the VMs do, and those that are blocked. */
export function renderMigration(migration: PlanMigration, { paint, columns }: ScreenWidth): string[] {
  const { metadata, spec, status: { vms = [], progress = '0%' } = {} } = migration;
  const state = stateOf(migration);
  const what = subjectOf(`${spec.plan.name ?? ''} (${metadata.name})`, columns);
  const stuck = vms.flatMap((vm) => stuckText(vm) ?? []);
  const hidden = stuck.length - MAX_NAMED;
  return [
    `Migration of plan ${what}  ${barOf(Number.parseInt(progress, 10), 100)} ${progress}  ${paint(STYLE[state], state)}`,
    ...[
      stuck.length === 0 ? messageOf(migration) : '',
      countsOf(vms),
      ...stuck.slice(0, MAX_NAMED).map((text) => `- ${text}`),
      hidden > 0 ? `  and ${String(hidden)} more` : '',
    ]
      .filter((line) => line !== '')
      .map((line) => cutText(`  ${line}`, columns)),
  ];
}

/** Renders a line for each change, for a pipe. */
export function migrationLine(migration: PlanMigration): string {
  const { metadata, status: { progress = '0%' } = {} } = migration;
  return `${metadata.name} ${stateOf(migration)} ${progress}: ${messageOf(migration)}`;
}

function stateOf({ status = {} }: PlanMigration): State {
  if (status.completed === undefined) {
    if (status.started === undefined) return 'Waiting';
    return (status.vms ?? []).some((vm) => has(vm, LIVE_CONDITION.blocked)) ? 'Blocked' : 'Running';
  }
  if (has(status, LIVE_CONDITION.succeeded)) return 'Succeeded';
  return has(status, LIVE_CONDITION.canceled) ? 'Canceled' : 'Failed';
}

/** The message; before the Migration has begun, the reason why it has not. */
function messageOf({ status = {} }: PlanMigration): string {
  if (status.started !== undefined) return status.message ?? '';
  const problem = status.conditions?.find(isBlocking);
  if (problem === undefined) return 'it has not begun';
  return [shown(problem.message), shown(problem.suggestion)].filter((text) => text !== '').join(' ');
}

const DOING = ['moved', 'moving', 'waiting', 'failed', 'canceled'] as const;

function doingOf(vm: VmStatus): (typeof DOING)[number] {
  if (vm.completed === undefined) return vm.started === undefined ? 'waiting' : 'moving';
  if (has(vm, LIVE_CONDITION.succeeded)) return 'moved';
  return has(vm, LIVE_CONDITION.canceled) ? 'canceled' : 'failed';
}

const countsOf = (vms: readonly VmStatus[]): string =>
  DOING.flatMap((wanted) => {
    const count = vms.filter((vm) => doingOf(vm) === wanted).length;
    return count === 0 ? [] : [`${wanted} ${String(count)}`];
  }).join(', ');

/** A VM that does not get on, or failed, with the reason. */
function stuckText(vm: VmStatus): string | undefined {
  const type = doingOf(vm) === 'failed' ? LIVE_CONDITION.failed : LIVE_CONDITION.blocked;
  const why = vm.conditions?.find((condition) => condition.type === type);
  if (why === undefined) return undefined;
  return `${nameOf(vm)} (${shown(why.reason)}: ${shown(vm.error?.reasons[0] ?? why.message)})`;
}

const nameOf = ({ namespace = '', name, id = '' }: VmStatus): string => `${namespace}/${name ?? id}`;
