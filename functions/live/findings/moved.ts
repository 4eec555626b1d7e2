import { ADVICE_WHERE_BOTH_RUN } from '../guest/advice.ts';
import { findingOf, nextConditions, type Finding } from '../../domain/live/conditions.ts';
import type { LiveCondition, VmStatus } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION, MOVED_REASON, type LiveConditionType } from '../../domain/live/names.ts';
import { shown } from '../../domain/foreign-text.ts';
import { labelOf } from './candidates.ts';

/** A condition of VMs that have moved, as the plan shows it. */
interface AboutMoved {
  readonly type: LiveConditionType;
  readonly message: string;
  readonly suggestion: string;
}

const ABOUT_MOVED: readonly AboutMoved[] = [
  {
    type: LIVE_CONDITION.runsOnBoth,
    message: 'These VMs have moved, and run on the source again: two copies run.',
    suggestion: ADVICE_WHERE_BOTH_RUN,
  },
  {
    type: LIVE_CONDITION.nextCrashHalts,
    message:
      'KubeVirt halts these VMs on the target at their next crash or restart, because their VMIs still have the state of the move.',
    suggestion:
      'Migrate each once within the target (virtctl migrate), which clears that, as a new start does; for later moves set localMigration of ' +
      'the Provider.',
  },
  {
    type: LIVE_CONDITION.editsNotOnTarget,
    message:
      'These VMs were edited on the source during their move: the named fields are not so on the target.',
    suggestion:
      'Edit the VMs on the target too. If their guests need these fields, restart them there, those with NextCrashHalts after virtctl migrate.',
  },
];

/** The plan's findings about its VMs that have moved, by their own conditions. */
export const movedFindings = (vms: readonly VmStatus[] = []): Finding[] =>
  ABOUT_MOVED.flatMap((about) =>
    findingOf(
      vms.flatMap((vm) => itemOf(vm, about.type)),
      { ...about, category: 'Warn', reason: MOVED_REASON },
    ),
  );

function itemOf(vm: VmStatus, wanted: LiveConditionType): string[] {
  const found = vm.conditions?.find((one) => one.type === wanted && isAboutMoved(one));
  if (found === undefined) return [];
  const { items = [] } = found;
  const parts = items.map((item) => shown(item)).join(', ');
  return [items.length === 0 ? labelOf(vm) : `${labelOf(vm)}: ${parts}`];
}

/** Whether the condition is about a VM that has moved: NextCrashHalts may be about one that has not. */
const isAboutMoved = ({ type, reason }: LiveCondition): boolean =>
  reason === MOVED_REASON && ABOUT_MOVED.some((about) => about.type === type);

/** Returns the plan's conditions with the present ones about its VMs that have moved: one of each type, also where the check has the same. */
export function withMovedFindings(
  before: readonly LiveCondition[],
  vms: readonly VmStatus[],
  now: string,
): LiveCondition[] {
  const findings = movedFindings(vms);
  const others = before.filter((one) => !isAboutMoved(one));
  const isShared = ({ type }: LiveCondition): boolean => findings.some((finding) => finding.type === type);
  const shared = others.filter(isShared);
  return [
    ...others.filter((one) => !isShared(one)),
    ...nextConditions(
      [...shared, ...before.filter(isAboutMoved)],
      [...shared.map(findingIn), ...findings],
      now,
    ),
  ];
}

const findingIn = ({ status: _status, lastTransitionTime: _time, ...finding }: LiveCondition): Finding =>
  finding as Finding;
