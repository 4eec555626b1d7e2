import { nextConditions, type Finding } from '../../domain/live/conditions.ts';
import type { LiveCondition, VmStatus } from '../../domain/live/forklift.ts';
import { isOnTargetAlone } from '../guest/has-moved.ts';
import { hasMoved } from '../run/state.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import { isPastCutOver, type RunRecord } from '../run/record.ts';
import type { RunSnapshot } from '../run/snapshot.ts';
import type { RunDecision } from '../run/decision.ts';

interface Decided {
  /** The snapshot; left out if a cluster could not be read. */
  readonly snapshot?: RunSnapshot | undefined;
  readonly decision: RunDecision;
}

/** The findings about where the VM belongs. */
export interface CutOverReport {
  readonly findings: readonly Finding[];
  /** Whether a condition of the earlier status still holds. */
  readonly stays: (condition: LiveCondition) => boolean;
}

export function cutOverOf({ snapshot, decision }: Decided, record: RunRecord | undefined): CutOverReport {
  const isPast = record !== undefined && isPastCutOver(record);
  if (isPast && isBackOnSource(record, { snapshot, decision }))
    return { findings: [], stays: ({ type }) => type !== LIVE_CONDITION.cutOver };
  const message = "The guest is on the target, or may be, so the VM's place is there.";
  const finding: Finding = { type: LIVE_CONDITION.cutOver, category: 'Advisory', durable: true, message };
  const isAlone = snapshot !== undefined && isOnTargetAlone(snapshot);
  const isThere = isPast || isAlone || (decision.kind === 'ended' && decision.as === 'Succeeded');
  return { findings: isThere ? [finding] : [], stays: () => true };
}

/**
 * Whether the place of the VM is the source again: the migration did not succeed, and a user has deleted the VM on the target, as
 * CutOverUndecided says.
 */
const isBackOnSource = ({ arrivedAt }: RunRecord, { snapshot, decision }: Decided): boolean =>
  arrivedAt === undefined &&
  snapshot?.target.vm === undefined &&
  decision.kind === 'ended' &&
  decision.recordRemoval.length > 0;

/** Returns the status of a VM that has ended, with where it belongs. */
export function withCutOver(known: VmStatus, { findings, stays }: CutOverReport, time: string): VmStatus {
  const isNew = findings.length > 0 && !hasMoved(known);
  const { conditions } = known;
  if (conditions === undefined || (!isNew && conditions.every(stays))) return known;
  return { ...known, conditions: nextConditions(conditions, isNew ? findings : [], time).filter(stays) };
}
