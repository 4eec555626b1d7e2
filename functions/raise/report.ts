import { grantOf } from '../domain/quota/grant.ts';
import { CONDITION, EVENT_REASON, REASON } from '../domain/names.ts';
import type { ResourceQuota, Vmmrq, VmmrqStatus } from '../domain/objects.ts';
import { aboutMigration, aboutVmmrq, condition, withConditions } from '../domain/verdict/report.ts';
import { writeEvents, writeVmmrqStatus } from '../cluster/report.ts';
import type { Tools } from '../host/step.ts';
import type { Raise, RaiseSnapshot } from './decide.ts';

/** Says on the VMMRQs (status and Event) and on the migrations what is raised and from what. */
export async function report(decision: Raise, snapshot: RaiseSnapshot, tools: Tools): Promise<void> {
  tools.afterwards(() => writeRaisedEvents(decision, snapshot, tools));
  await Promise.all(
    snapshot.vmmrqs.map((vmmrq) => writeVmmrqStatus(tools, vmmrq, statusWhileRaised(decision, snapshot))),
  );
}

function statusWhileRaised(
  { lock, message }: Raise,
  { quotas, now }: RaiseSnapshot,
): (vmmrq: Vmmrq) => VmmrqStatus {
  const names = lock.migrations.map(({ name }) => name);
  const blocking = quotas.map(({ metadata }) => metadata.name);
  const changes = [
    condition(CONDITION.blocking, 'True', REASON.fitsWithRaise, `${names.join(', ')}: ${message}`),
    condition(CONDITION.locked, 'True', REASON.locked, `for ${names.join(', ')}`),
    condition(CONDITION.raised, 'True', REASON.raised, message),
  ];
  return (vmmrq) => ({
    ...vmmrq.status,
    creationTime: vmmrq.metadata.creationTimestamp,
    additionalMigrationResources: vmmrq.spec.additionalMigrationResources ?? {},
    migrationsToBlockingResourceQuotas: Object.fromEntries(names.map((name) => [name, blocking])),
    originalBlockingResourceQuotas: quotas.map((quota) => ({
      name: quota.metadata.name,
      spec: originalSpec(quota),
    })),
    conditions: withConditions(vmmrq.status?.conditions ?? [], changes, now),
  });
}

/** A retried raise reads quotas that it has raised already: what they were is in their grant. */
function originalSpec(quota: ResourceQuota): ResourceQuota['spec'] {
  const state = grantOf(quota);
  const original = state.kind === 'held' ? state.grant.original : {};
  return { ...quota.spec, hard: { ...quota.spec.hard, ...original } };
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
