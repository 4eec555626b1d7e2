import { CONDITION, EVENT_REASON } from '../../../functions/domain/names.ts';
import type { KubernetesEvent, Vmmrq } from '../../../functions/domain/objects.ts';
import type { EventDetails, Versions } from './timeline-event.ts';

const OURS = 'managed-tenant-quota';

/** Events by which feasibility tells its verdict. */
const VERDICTS: readonly string[] = [EVENT_REASON.migrationBlocked, EVENT_REASON.quotaNotEnough];

/** An Event of ours. Most are about what is told already; the one that says what is missing is the tenant's answer. */
export function ofEvent({ before, after }: Versions<KubernetesEvent>): EventDetails[] {
  if (before !== undefined || after?.source?.component !== OURS) return [];
  const { reason = '', message = '', involvedObject } = after;
  const onMigration = involvedObject.kind === 'VirtualMachineInstanceMigration';
  return [
    {
      what: VERDICTS.includes(reason) ? 'judged' : 'told',
      text: `reads the Event ${reason} on ${involvedObject.name ?? ''}: ${message}`,
      by: 'tenant',
      isDetail: reason !== EVENT_REASON.quotaNotEnough || !onMigration,
    },
  ];
}

/** Conditions of the VMMRQ that have become true. */
export function ofVmmrq({ before, after }: Versions<Vmmrq>): EventDetails[] {
  const known = before?.status?.conditions ?? [];
  const turned = (after?.status?.conditions ?? []).filter(
    ({ type, status }) => status === 'True' && known.find((one) => one.type === type)?.status !== 'True',
  );
  return turned.map(({ type, message = '' }) => ({
    what: type === CONDITION.blocking ? 'judged' : 'told',
    text: `reads ${type} in the status of ${after?.metadata.name ?? ''}: ${message.replaceAll('\n', '; ')}`,
    by: 'tenant',
    isDetail: type !== CONDITION.notEnough,
  }));
}
