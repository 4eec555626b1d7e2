import { shown } from '../../../functions/domain/foreign-text.ts';
import { CONDITION, EVENT_REASON } from '../../../functions/domain/names.ts';
import type { KubernetesEvent, Vmmrq } from '../../../functions/domain/objects.ts';
import type { EventDetails, Versions } from './timeline-event.ts';

const OURS = 'managed-tenant-quota';

/** The Events of a verdict. */
const VERDICTS: readonly string[] = [EVENT_REASON.migrationBlocked, EVENT_REASON.quotaNotEnough];

/** Reports our Kubernetes Events. Most repeat another line, so they are details; the Event with the shortfall is not. */
export function ofEvent({ before, after }: Versions<KubernetesEvent>): EventDetails[] {
  if (before !== undefined || after?.source?.component !== OURS) return [];
  const { message, involvedObject } = after;
  const reason = shown(after.reason);
  const onMigration = involvedObject.kind === 'VirtualMachineInstanceMigration';
  return [
    {
      what: VERDICTS.includes(reason) ? 'evaluated' : 'reported',
      text: `reads the Event ${reason} on ${involvedObject.name ?? ''}: ${shown(message)}`,
      by: 'tenant',
      isDetail: reason !== EVENT_REASON.quotaNotEnough || !onMigration,
    },
  ];
}

/** Reports the VMMRQ's conditions that became true. */
export function ofVmmrq({ before, after }: Versions<Vmmrq>): EventDetails[] {
  const known = before?.status?.conditions ?? [];
  const turned = (after?.status?.conditions ?? []).filter(
    ({ type, status }) => status === 'True' && known.find((one) => one.type === type)?.status !== 'True',
  );
  return turned.map(({ type, message }) => ({
    what: type === CONDITION.blocking ? 'evaluated' : 'reported',
    text: `reads ${type} in the status of ${after?.metadata.name ?? ''}: ${shown(message)}`,
    by: 'tenant',
    isDetail: type !== CONDITION.notEnough,
  }));
}
