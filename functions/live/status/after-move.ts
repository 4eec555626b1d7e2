import { shown } from '../../domain/foreign-text.ts';
import { nextConditions, type Finding } from '../../domain/live/conditions.ts';
import type { LiveCondition, Plan, VmStatus } from '../../domain/live/forklift.ts';
import type { VirtualMachine, Vmi } from '../../domain/live/kubevirt.ts';
import { KUBEVIRT_MANAGER, LIVE_CONDITION, LIVE_LABEL, MOVED_REASON } from '../../domain/live/names.ts';
import { runsOnTarget } from '../guest/cut-over.ts';
import { isDownByNextCrashThere, isHaltedByManager, isUp } from '../guest/proofs.ts';
import { pathsNotOnTarget } from '../on-target/edits.ts';
import { foreignRecordOf, LOST_VMI } from '../run/record.ts';
import { hasNothingLeft } from '../run/state.ts';

/** One side of a VM that has moved. */
export interface MovedSide {
  readonly vm: VirtualMachine | undefined;
  readonly vmi: Vmi | undefined;
}

/** A VM that has moved, as read after its run. A part that could not be read is left out. */
export interface MovedVm {
  readonly source?: MovedSide | undefined;
  readonly target?: MovedSide | undefined;
  /** The excess of the target namespace over its quotas, in words. */
  readonly over?: string | undefined;
}

/** The finding of a VM that is over its quota; `over`: the amounts (L8). */
export const overFinding = (over: string): Finding => ({
  ...{ type: LIVE_CONDITION.restartWouldBeRefused, category: 'Warn', durable: true },
  message: `The namespace of the VM is over its quota, so that the VM would not start again: ${over}.`,
  suggestion: 'Increase the quota, or free some of it.',
});

const NEXT_CRASH =
  'KubeVirt halts the VM on the target at its next crash or restart, because its VMI still has the state of this migration.';
const AFTER_NEXT_CRASH =
  'Migrate it once within its cluster (virtctl migrate), which clears that. A new start of the VM clears it too.';

/** The annotation of a VM whose VMI on the target still has both sides of its migration. */
export const NEXT_CRASH_TEXT = `${NEXT_CRASH} ${AFTER_NEXT_CRASH}`;

/** The finding of the same VM. */
export const NEXT_CRASH_THERE: Finding = {
  ...{ type: LIVE_CONDITION.nextCrashHalts, category: 'Warn', durable: true, reason: MOVED_REASON },
  message: NEXT_CRASH,
  suggestion: AFTER_NEXT_CRASH,
};

/** The finding of edits of the source VM during its move. */
export const editsFinding = (paths: readonly string[]): Finding[] =>
  paths.length === 0
    ? []
    : [
        {
          ...{ type: LIVE_CONDITION.editsNotOnTarget, category: 'Warn', durable: true, reason: MOVED_REASON },
          message: 'The VM was edited on the source during its move: these fields are not so on the target.',
          suggestion:
            'Edit the VM on the target too. If its guest needs them, restart it there, with NextCrashHalts after virtctl migrate.',
          items: [...paths],
        },
      ];

const RUNS_ON_BOTH: Finding = {
  ...{ type: LIVE_CONDITION.runsOnBoth, category: 'Warn', durable: true, reason: MOVED_REASON },
  message: 'The VM has moved, and runs on the source again: two copies run.',
};

interface Look {
  readonly vm: VmStatus;
  readonly seen: MovedVm;
  readonly plan: Plan;
}

interface Check {
  readonly type: string;
  /** Returns the findings; undefined if they are not known now. `was`: the condition that the status has. */
  readonly findingsOf: (look: Look, was: LiveCondition | undefined) => readonly Finding[] | undefined;
}

/** Conditions of a VM that may end, or begin, after its move. */
const CHECKS: readonly Check[] = [
  {
    type: LIVE_CONDITION.restartWouldBeRefused,
    findingsOf: ({ seen: { target, over } }, was) => {
      if (was === undefined) return [];
      if (target === undefined || over === undefined) return undefined;
      return target.vm === undefined || over === '' ? [] : [overFinding(over)];
    },
  },
  {
    type: LIVE_CONDITION.nextCrashHalts,
    findingsOf: ({ seen: { target }, plan }, was) => {
      if (target === undefined || (was !== undefined && was.reason !== MOVED_REASON)) return undefined;
      // A VM of another strategy may be set to Always long after its move.
      const halts =
        was === undefined
          ? isMadeBy(plan, target.vm) && isDownByNextCrashThere(target)
          : isHaltedThere(target);
      return halts ? [NEXT_CRASH_THERE] : [];
    },
  },
  {
    type: LIVE_CONDITION.editsNotOnTarget,
    findingsOf: ({ seen: { source, target }, plan }, was) => {
      if (was === undefined) return [];
      if (source === undefined || target === undefined) return undefined;
      if (source.vm === undefined || target.vm === undefined) return [];
      const items = (was.items ?? []).map((item) => shown(item));
      const paths = pathsNotOnTarget(source.vm, target.vm, plan);
      return editsFinding(paths.filter((path) => items.includes(shown(path))));
    },
  },
  {
    type: LIVE_CONDITION.runsOnBoth,
    findingsOf: ({ vm, seen: { source, target } }) => {
      if (source === undefined) return undefined;
      // The VMI of a guest that has left may be Running for long, until its run has ended.
      if (!isUp(source.vmi) || !(hasNothingLeft(vm) || isStartedSince(source))) return [];
      if (target === undefined) return undefined;
      return runsOnTarget(target) ? [RUNS_ON_BOTH] : [];
    },
  },
];

/** Whether a run of the plan has made the VM on the target. */
export const isMadeBy = ({ metadata: { uid } }: Plan, vm: VirtualMachine | undefined): boolean =>
  vm?.metadata.labels?.[LIVE_LABEL.plan] === uid;

/** Whether the VMI is another one than the run moved, by the record that stays where the run was given up. */
function isStartedSince({ vm, vmi }: MovedSide): boolean {
  const moved = vm === undefined ? undefined : foreignRecordOf(vm)?.record?.vmi;
  return moved !== undefined && moved !== LOST_VMI && vmi !== undefined && vmi.metadata.uid !== moved;
}

/** Whether KubeVirt halts the VM at its next crash, or has done so: then no VMI is there to show why. */
const isHaltedThere = (target: MovedSide): boolean =>
  isDownByNextCrashThere(target) || isHaltedByKubeVirt(target);

const isHaltedByKubeVirt = ({ vm, vmi }: MovedSide): boolean =>
  vm !== undefined && vmi === undefined && isHaltedByManager(vm, KUBEVIRT_MANAGER);

/** Returns the status with what is so of the VM now. The condition of its end stays the last one. */
export function lookedAt(
  vm: VmStatus,
  seen: MovedVm,
  { plan, time }: Pick<Look, 'plan'> & { readonly time: string },
): VmStatus {
  const { conditions = [] } = vm;
  const now = CHECKS.flatMap(({ type, findingsOf }) => {
    const was = conditions.filter((one) => one.type === type);
    const findings = findingsOf({ vm, seen, plan }, was[0]);
    return findings === undefined ? was : nextConditions(was.map(ended), findings, time);
  });
  const others = conditions.filter((one) => !isAfterMove(one));
  return { ...vm, conditions: [...others.slice(0, -1), ...now, ...others.slice(-1)] };
}

/** The condition as one that goes when it is not found again. */
const ended = (condition: LiveCondition): LiveCondition => ({ ...condition, durable: false });

/** Whether the condition may end after the move of its VM. */
const isAfterMove = ({ type }: Pick<LiveCondition, 'type'>): boolean =>
  CHECKS.some((check) => check.type === type);
