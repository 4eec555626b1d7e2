import { describeShortfalls, shortfallTexts } from '../../functions/domain/quota/charged.ts';
import { describeQuantity, formatAmount } from '../../functions/domain/quantity.ts';
import { UPGRADE_OVERHEAD } from '../../functions/domain/sizing/growth.ts';
import { BLOCKED_BY } from '../../functions/domain/progress/names.ts';
import { renderTable, type Cell, type Sheet, type Style } from '../terminal/table.ts';
import { describeWaiting, isGiveable, OUTCOMES, type OutcomeName, type VmOutcome } from './outcome.ts';
import type { Report } from './preflight.ts';
import { argumentsOf, describeTask } from './task.ts';

/** The text about one VM; `all`: about several, where it is another. */
const LOOK: Readonly<
  Record<OutcomeName, { readonly text: string; readonly all?: string; readonly style: Style }>
> = {
  Passes: { text: 'passes', all: 'pass', style: 'green' },
  PassesInTurn: { text: 'passes in turn', all: 'pass in turn', style: 'green' },
  Restarted: { text: 'restarted', style: 'yellow' },
  Stuck: { text: 'stuck', style: 'red' },
  NotMigratable: { text: 'not migratable', style: 'red' },
  CannotTell: { text: 'cannot tell', style: 'yellow' },
};

/** Renders a row for each VM, then the summary and the next command, for people; pure. */
export function table(report: Report, sheet: Sheet): string[] {
  const { isWide } = sheet;
  const one = oneForAll(report);
  if (one !== undefined) return [one];
  const headers = ['NAMESPACE', 'VM', 'NODE', 'OUTCOME', ...(isWide ? ['REASON'] : []), 'WHY'];
  const rows = report.vms.map((vm): Cell[] => [
    ...[vm.namespace, vm.name, vm.node, LOOK[vm.outcome]],
    ...(isWide ? [vm.reason, vm.message] : [whyOf(vm)]),
  ]);
  const lines = rows.length === 0 ? [] : [...renderTable(headers, rows, sheet), ''];
  return [...lines, ...summary(report), ...notAutomated(report), ...nextCommand(report)];
}

/** The line in place of the table where an upgrade migrates no VM, for one reason. */
function oneForAll(report: Report): string | undefined {
  const { task, vms } = report;
  const [why] = vms.every(isNotAutomated) ? notAutomated(report) : [];
  const of = vms.length === 1 ? 'VM' : 'VMs';
  return why && `${describeTask(task)}: it migrates none of ${String(vms.length)} ${of}. ${why}`;
}

const isNotAutomated = ({ reason }: VmOutcome): boolean => reason === BLOCKED_BY.notAutomated;

/** Why an upgrade migrates no VM, and the command that changes that; none where it does. */
export const notAutomated = ({ vms }: Report): string[] =>
  vms
    .filter(isNotAutomated)
    .slice(0, 1)
    .map(({ message }) => message);

/** The command that comes next; none where what is in the way is no quota. */
function nextCommand({ task, vms }: Report): string[] {
  if (vms.some(isGiveable)) return [`Next: kubectl vmmrq preflight ${argumentsOf(task)} --suggest`];
  const passes = vms.length > 0 && vms.every(({ outcome }) => PASSES.includes(outcome));
  if (!passes || task.kind !== 'node') return [];
  const [node = ''] = task.nodes;
  return [
    `Next: kubectl drain ${task.nodes.join(' ')} --ignore-daemonsets --delete-emptydir-data, and kubectl vmmrq progress ${node}`,
  ];
}

const PASSES: readonly OutcomeName[] = ['Passes', 'PassesInTurn', 'Restarted'];

/** The reason in few words: the VMMRQs by which the VM passes, the missing amounts, or the reason of the verdict. */
function whyOf(vm: VmOutcome): string {
  const { outcome, reason, by, missing, message, waiting } = vm;
  if (outcome === 'Passes' || outcome === 'PassesInTurn')
    return by.length === 0 ? '' : `by ${by.map(asKind).join(', ')}`;
  if (reason === BLOCKED_BY.notAutomated) return 'no workloadUpdateMethods';
  if (missing.length === 0 || !isGiveable(vm)) return message;
  const lacks = missing.map(({ quota, shortfalls }) => `${quota} lacks ${describeShortfalls(shortfalls)}`);
  return [...lacks, ...(waiting === undefined ? [] : [`for ${describeWaiting(waiting)}`])].join('; ');
}

/** The name of a VMMRQ as kubectl takes it. */
const asKind = (name: string): string => (name.includes('/') ? name : `vmmrq/${name}`);

/** The summary of the rows, one sentence a line. */
export function summary({ task, limits, atOnce, onlyOutdated, isUntried, vms }: Report): string[] {
  const counts = countsOf(vms);
  const parts = OUTCOMES.filter((name) => counts[name] > 0).map((name) => {
    const { text, all = text } = LOOK[name];
    return `${String(counts[name])} ${counts[name] === 1 ? text : all}`;
  });
  const what = vms.length === 0 ? 'no running VM' : parts.join(', ');
  return [
    `${describeTask(task)}: ${what}.`,
    ...(onlyOutdated ? ['Only the VMs that are outdated already; --all looks at every VM.'] : []),
    ...(vms.length === 0
      ? []
      : [
          `At most ${String(atOnce)} at once: KubeVirt migrates ${String(limits.cluster)}, and ${String(limits.node)} from one node.`,
        ]),
    ...(task.kind === 'upgrade' && vms.length > 0 ? [marginOf(task.overhead)] : []),
    ...(isUntried === true ? [UNTRIED] : []),
  ];
}

const UNTRIED =
  'Whether a webhook or policy refuses a pod or a raise was not tried: that needs the right to impersonate ' +
  "virt-controller's service account, and mtq-lock and mtq-raise in mtq-system.";

const marginOf = (overhead = UPGRADE_OVERHEAD): string =>
  `Each new launcher is taken to need ${describeQuantity('memory', overhead)} more beside the guest, ` +
  "times KubeVirt's additionalGuestMemoryOverheadRatio (--overhead).";

const countsOf = (vms: readonly VmOutcome[]): Record<OutcomeName, number> => {
  const counts = { Passes: 0, PassesInTurn: 0, Restarted: 0, Stuck: 0, NotMigratable: 0, CannotTell: 0 };
  for (const { outcome } of vms) counts[outcome] += 1;
  return counts;
};

/** The report for programs, with amounts as texts. */
export const structure = ({ task, limits, atOnce, onlyOutdated, isUntried, vms }: Report): object => ({
  task: { ...task, ...('overhead' in task ? { overhead: formatAmount('memory', task.overhead) } : {}) },
  limits,
  atOnce,
  ...(onlyOutdated ? { onlyOutdated } : {}),
  ...(isUntried === true ? { isUntried } : {}),
  counts: countsOf(vms),
  vms: vms.map(({ missing, ...vm }) => ({
    ...vm,
    missing: missing.map(({ quota, shortfalls }) => ({
      quota,
      amounts: shortfallTexts(shortfalls),
    })),
  })),
});
