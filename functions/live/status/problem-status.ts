import { shown } from '../../domain/foreign-text.ts';
import { isBlocking, nextConditions, type Finding } from '../../domain/live/conditions.ts';
import { LIMIT_MS, timeOf } from '../run/deadlines.ts';
import type { MigrationStatus } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import { timeText } from './vm.ts';

const FAILED: Finding = {
  ...{ type: LIVE_CONDITION.failed, category: 'Advisory', durable: true },
  message: 'The migration has FAILED.',
};

/**
 * Returns the status of a Migration that does not begin, by the finding. After too long it has failed, so that no VM moves at a time that
 * its user does not expect. A Migration that only waits for another one that moves VMs does not fail: that is expected, and may take hours.
 * `now`: milliseconds.
 */
export function problemStatus(
  status: MigrationStatus | undefined,
  finding: Finding,
  now: number,
): MigrationStatus {
  const conditions = nextConditions(status?.conditions ?? [], [finding], timeText(now));
  const since = conditions.find(({ type }) => type === finding.type)?.lastTransitionTime;
  const isLate = isBlocking(finding) && now - timeOf(since) >= LIMIT_MS.begin;
  if (status?.completed !== undefined || !isLate) return { ...status, conditions };
  return {
    ...status,
    completed: timeText(now),
    message: `too late: ${shown(finding.message)} ${shown(finding.suggestion)}`,
    conditions: nextConditions(conditions, [finding, FAILED], timeText(now)),
  };
}
