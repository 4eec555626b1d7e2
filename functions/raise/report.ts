import { CONDITION, EVENT_REASON, REASON } from '../domain/names.ts';
import type { Vmmrq, VmmrqStatus } from '../domain/objects.ts';
import { aboutMigration, aboutVmmrq, condition, withConditions } from '../domain/report.ts';
import { writeEvents, writeVmmrqStatus } from '../kubernetes/report.ts';
import type { Tools } from '../step.ts';
import type { RaiseDecision, RaiseSnapshot } from './decide.ts';

type Raise = Extract<RaiseDecision, { kind: 'raise' }>;

/** Says on the VMMRQs (status and Event) and on the migrations what is raised and from what. */
export async function report(decision: Raise, snapshot: RaiseSnapshot, tools: Tools): Promise<void> {
  tools.afterwards(() => writeRaisedEvents(decision, snapshot, tools));
  await Promise.all(
    snapshot.vmmrqs.map((vmmrq) => writeVmmrqStatus(tools, vmmrq, statusWhileRaised(decision, snapshot))),
  );
}

function statusWhileRaised(decision: Raise, { quotas, now }: RaiseSnapshot): (vmmrq: Vmmrq) => VmmrqStatus {
  const names = decision.lock.migrations.map(({ name }) => name).join(', ');
  const locked = condition(CONDITION.locked, 'True', REASON.locked, `for ${names}`);
  const raised = condition(CONDITION.raised, 'True', REASON.raised, decision.message);
  return (vmmrq) => ({
    ...vmmrq.status,
    originalBlockingResourceQuotas: quotas.map(({ metadata, spec }) => ({ name: metadata.name, spec })),
    conditions: withConditions(vmmrq.status?.conditions ?? [], [locked, raised], now),
  });
}

async function writeRaisedEvents(
  { lock, message }: Raise,
  { vmmrqs, namespace }: RaiseSnapshot,
  tools: Tools,
): Promise<void> {
  const about = [
    ...lock.migrations.map((migration) => aboutMigration(namespace.metadata.name, migration)),
    ...vmmrqs.map(aboutVmmrq),
  ];
  const names = lock.migrations.map(({ name }) => name).join(', ');
  await writeEvents(
    tools,
    about.map((on) => ({
      on,
      type: 'Normal',
      reason: EVENT_REASON.quotaRaised,
      message: `${message} for ${names}`,
      key: lock.token,
    })),
  );
}
