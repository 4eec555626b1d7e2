import { EVENT_REASON } from '../../../functions/domain/names.ts';
import type { KubernetesEvent } from '../../../functions/domain/objects.ts';
import { EVENTS } from '../../../functions/kubernetes/resources.ts';
import { DIRECTIONS } from '../courses.ts';
import { migrationOf, VMMRQ_NAME } from '../tenant.ts';
import { unless, type Case } from './finding.ts';
import { shortfallOf } from './shortfall.ts';

/** An Event at each station, on the migrations and on the VMMRQ. */
export async function eventsCheck(subject: Case): Promise<string[]> {
  const { tenant, course, admin } = subject;
  const { items } = await admin.list(EVENTS, { namespace: tenant.namespace });
  const { vmmrqEvents, migrationEvents } = DIRECTIONS[course];
  return [
    ...missing(items, VMMRQ_NAME, vmmrqEvents),
    ...tenant.vms.flatMap((vm) => missing(items, migrationOf(vm), migrationEvents)),
    ...(course === 'notEnough' ? sayWhatIsShort(items, shortfallOf(subject)) : []),
  ];
}

const missing = (events: readonly KubernetesEvent[], name: string, reasons: readonly string[]): string[] =>
  reasons
    .filter((reason) => !events.some((one) => one.involvedObject.name === name && one.reason === reason))
    .map((reason) => `no Event ${reason} on ${name}`);

const sayWhatIsShort = (events: readonly KubernetesEvent[], short: string): string[] =>
  events
    .filter(({ reason }) => reason === EVENT_REASON.quotaNotEnough)
    .flatMap(({ involvedObject: { name = '' }, message = '' }) =>
      unless(message.includes(short), `the Event on ${name} does not say ${short}: ${message}`),
    );
