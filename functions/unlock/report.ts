import { EVENT_REASON } from '../domain/names.ts';
import { aboutVmmrq } from '../domain/verdict/report.ts';
import { writeEvents } from '../cluster/report.ts';
import { LISTED_VMMRQS } from '../cluster/listed.ts';
import type { Tools } from '../host/step.ts';
import type { Unlock } from './decide.ts';

/** Says which pods nobody of ours let in. How it ended is in last-attempt, and feasibility reports it next. */
export async function report({ strangers, lock, namespace }: Unlock, tools: Tools): Promise<void> {
  if (strangers.length === 0) return;
  const vmmrqs = await tools.cluster.list(LISTED_VMMRQS, { namespace: namespace.metadata.name });
  const names = strangers.map(({ metadata }) => metadata.name).join(', ');
  const message = `pods came in while the namespace was locked, that were under way before: ${names}`;
  tools.log('warn', message, { namespace: namespace.metadata.name, token: lock?.token });
  await writeEvents(
    tools,
    vmmrqs.items.map((vmmrq) => ({
      on: aboutVmmrq(vmmrq),
      type: 'Warning',
      reason: EVENT_REASON.quotaLowered,
      message,
      key: `strangers ${lock?.token ?? ''}`,
    })),
  );
}
