import { findingOf, type Finding } from '../../domain/live/conditions.ts';
import { movedIn } from '../guest/has-moved.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import type { PlanView } from './plan-view.ts';
import { labelOf, type Candidate } from './candidates.ts';

/** Entries that match no VM, or not exactly one. */
export function identityFindings(
  { plan, sourceCluster }: PlanView,
  candidates: readonly Candidate[],
): Finding[] {
  const entries = plan.spec.vms.map((entry, index) => ({
    label: labelOf(entry),
    found: sourceCluster?.vms[index]?.found.length ?? 0,
    // Its user may have deleted the one on the source since.
    isMoved: movedIn(plan, entry) !== undefined,
  }));
  return [
    ...findingOf(
      entries
        .filter(({ found, label, isMoved }) => found === 0 && label !== '' && !isMoved)
        .map(({ label }) => label),
      {
        type: LIVE_CONDITION.vmNotFound,
        reason: 'NotFound',
        message: 'VM not found.',
        suggestion: 'Create these VMs on the source, or take them out of the plan.',
      },
    ),
    ...findingOf(
      entries.filter(({ found }) => found > 1).map(({ label }) => label),
      {
        type: LIVE_CONDITION.duplicateVm,
        reason: 'Ambiguous',
        message: 'VM reference is ambiguous.',
        suggestion: 'Give their namespace too.',
      },
    ),
    ...findingOf(
      repeated(candidates, ({ vm }) => vm.metadata.uid),
      {
        type: LIVE_CONDITION.duplicateVm,
        reason: 'NotUnique',
        message: 'Duplicate (source) VM.',
        suggestion: 'Name each VM once.',
      },
    ),
    ...findingOf(
      repeated(distinct(candidates), ({ targetName }) => targetName),
      {
        type: LIVE_CONDITION.duplicateVm,
        reason: 'NotUnique',
        message: 'Duplicate targetName.',
        suggestion: 'Give each VM another targetName.',
      },
    ),
  ];
}

const distinct = (candidates: readonly Candidate[]): Candidate[] =>
  candidates.filter(({ name }, index) => candidates.findIndex((each) => each.name === name) === index);

/** Names of candidates that share their key with an earlier one. */
const repeated = (candidates: readonly Candidate[], keyOf: (candidate: Candidate) => string): string[] =>
  candidates
    .filter((each, index) => candidates.findIndex((other) => keyOf(other) === keyOf(each)) < index)
    .map(({ name }) => name);
