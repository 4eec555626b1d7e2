import { findingOf, type Finding } from '../../domain/live/conditions.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import type { LimitRange } from '../../domain/objects.ts';
import { IMPORTER_POD } from '../on-target/filling.ts';
import { claimsRefusal, limitRangeRefusal } from '../../domain/sizing/limit-range-refusal.ts';
import type { Candidate } from './candidates.ts';
import type { PlanView } from './plan-view.ts';
import { needsOf } from './quota.ts';

/**
 * VMs whose launcher or volumes, or CDI's pods for them, a LimitRange of the target namespace refuses. Such a VM does not keep the plan from running: the others
 * move.
 */
export function limitRangeFindings(view: PlanView, candidates: readonly Candidate[]): Finding[] {
  const { targetCluster } = view;
  const { limitRanges = [] } = targetCluster ?? {};
  if (targetCluster === undefined || limitRanges.length === 0) return [];
  const items = candidates.flatMap((candidate) => {
    const needs = needsOf(candidate, view, targetCluster);
    if (needs === undefined) return [];
    const { kept, filling } = needs;
    return limitRanges.flatMap((range) => {
      const refusals = [
        claimsRefusal(kept.claims, range),
        ...kept.pods.map((pod) => limitRangeRefusal(pod, [range])),
        ...(filling.length > 0 ? [importerRefusal(range)] : []),
      ].filter((refusal) => refusal !== undefined);
      if (refusals.length === 0) return [];
      return [`${candidate.name}: LimitRange ${range.metadata.name}: ${refusals.join('; ')}`];
    });
  });
  return findingOf(items, {
    ...{ type: LIVE_CONDITION.limitRange, category: 'Warn', reason: 'Refused' },
    message: 'A LimitRange of the target namespace refuses these VMs.',
    suggestion: 'Change the LimitRange, or the size of these VMs.',
  });
}

/** Returns why the LimitRange refuses the pod with which CDI fills a volume; undefined if it does not. An admin may have given it another size. */
function importerRefusal(range: LimitRange): string | undefined {
  const refusal = limitRangeRefusal(IMPORTER_POD, [range]);
  return refusal && `for the pod with which CDI fills its volumes, by its default size: ${refusal}`;
}
