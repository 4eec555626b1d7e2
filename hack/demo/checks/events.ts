import { shown } from '../../../functions/domain/foreign-text.ts';
import { EVENT_REASON } from '../../../functions/domain/names.ts';
import type { KubernetesEvent } from '../../../functions/domain/objects.ts';
import { EVENTS } from '../../../functions/kubernetes/resources.ts';
import { FULL_MIGRATIONS } from '../../../test/cluster/kubevirt/objects/objects.ts';
import { RUNNERS, missingEvents } from '../runners.ts';
import { unless, type Case } from './check-result.ts';
import { shortfallsOf } from './shortfall.ts';

/** Checks the Event for each station, on the migrations and on the VMMRQ. */
export async function eventsCheck(demoCase: Case): Promise<string[]> {
  const { tenant, kind, admin } = demoCase;
  const { items } = await admin.list(EVENTS, { namespace: tenant.namespace });
  const { items: migrations } = await admin.list(FULL_MIGRATIONS, { namespace: tenant.namespace });
  return [
    ...missingEvents(tenant, RUNNERS[kind], { events: items, migrations }).map((event) => `no ${event}`),
    ...(kind === 'notEnough' ? sayWhatIsShort(items, shortfallsOf(demoCase)) : []),
  ];
}

const sayWhatIsShort = (events: readonly KubernetesEvent[], shortfalls: readonly string[]): string[] =>
  events
    .filter(({ reason }) => reason === EVENT_REASON.quotaNotEnough)
    .flatMap(({ involvedObject: { name = '' }, message }) => {
      const text = shown(message);
      return shortfalls.flatMap((short) =>
        unless(text.includes(short), `the Event on ${name} does not say ${short}: ${text}`),
      );
    });
