import { findingOf, nextConditions, type Finding } from '../../domain/live/conditions.ts';
import { allLeftovers } from '../run/leftovers.ts';
import type { MigrationStatus, PlanMigration, VmReference, VmStatus } from '../../domain/live/forklift.ts';
import { labelOf } from '../findings/candidates.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import { isAmbiguous, isSameVm } from '../run/stop.ts';
import { defined } from './defined.ts';
import type { RunSummary } from './run.ts';

/** Returns the status of a Migration with this run, without the problem that keeps it from starting. `time`: RFC 3339. */
export function migrationStatusOf(
  { status, spec, metadata }: PlanMigration,
  run: RunSummary,
  time: string,
): MigrationStatus {
  const { started, completed, vms, progress, message } = run;
  const { leftovers: _, ...before } = status ?? {};
  const leftovers = allLeftovers({ vms });
  const conditions = before.conditions ?? [];
  const findings = [...runFindings(run), ...cancelFindings(spec.cancel ?? [], vms)];
  return {
    ...before,
    ...defined({ observedGeneration: metadata.generation, started, completed, progress, message }),
    conditions: started === undefined ? conditions : nextConditions(conditions, findings, time),
    vms,
    ...(leftovers.length === 0 ? {} : { leftovers }),
  };
}

/** Findings about the run, with Forklift's texts. */
function runFindings({ end }: RunSummary): Finding[] {
  const ready: Finding = {
    type: LIVE_CONDITION.ready,
    category: 'Required',
    message: 'The migration is ready.',
  };
  if (end === undefined)
    return [
      ready,
      { type: LIVE_CONDITION.running, category: 'Advisory', message: 'The migration is RUNNING.' },
    ];
  return [
    ready,
    { type: END[end], category: 'Advisory', durable: true, message: `The migration has ${END_TEXT[end]}.` },
  ];
}

const END = {
  Succeeded: LIVE_CONDITION.succeeded,
  Failed: LIVE_CONDITION.failed,
  Canceled: LIVE_CONDITION.canceled,
} as const;

const END_TEXT = { Succeeded: 'SUCCEEDED', Failed: 'FAILED', Canceled: 'been CANCELED' } as const;

/** Findings about cancels of entries that are no VM of the run, or no single one. */
const cancelFindings = (cancel: readonly VmReference[], vms: readonly VmStatus[]): Finding[] => [
  ...findingOf(cancel.filter((one) => !vms.some((vm) => isSameVm(vm, one))).map(labelOf), {
    ...{ type: LIVE_CONDITION.vmNotFound, category: 'Warn', reason: 'NotFound' },
    ...{ message: 'VM not found.', suggestion: 'Name a VM of the plan in spec.cancel, as in the plan.' },
  }),
  ...findingOf(cancel.filter((one) => isAmbiguous(one, vms)).map(labelOf), {
    ...{ type: LIVE_CONDITION.vmNotUnique, category: 'Warn', reason: 'Ambiguous' },
    ...{ message: 'VM reference is ambiguous.', suggestion: 'Give the namespace too in spec.cancel.' },
  }),
];
