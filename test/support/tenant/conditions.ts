import { VMMRQS } from '../../../functions/kubernetes/resources.ts';
import type { Vmmrq } from '../../../functions/domain/objects.ts';
import type { History } from './history.ts';

/** The latest conditions of a namespace's VMMRQ: `{ Ready: 'True', … }`. */
export const conditionsOf = (history: History): Record<string, string> =>
  conditionsIn(history.latest(VMMRQS));

/**
 * Whether the VMMRQ reports nothing locked, raised or blocked. That write follows the unlock, so it may come after the migration's end
 * and a Broker that is idle.
 */
export function isReportedToTheEnd(history: History): boolean {
  const { Blocking, Locked, Raised } = conditionsOf(history);
  return [Blocking, Locked, Raised].every((status) => status === 'False');
}

const conditionsIn = (vmmrq: Vmmrq | undefined): Record<string, string> =>
  Object.fromEntries((vmmrq?.status?.conditions ?? []).map(({ type, status }) => [type, status]));
