import { grantOf } from '../domain/grant.ts';
import { targetPodOf } from '../domain/migration.ts';
import { EVENT_REASON } from '../domain/names.ts';
import { aboutMigration, aboutVmmrq, type EventReport } from '../domain/report.ts';
import type { ForeignEdit } from '../domain/restore.ts';
import { writeEvents } from '../kubernetes/report.ts';
import { VMMRQS } from '../kubernetes/resources.ts';
import type { Tools } from '../step.ts';
import type { Lower, LowerSnapshot } from './decide.ts';

export interface Lowered {
  readonly decision: Lower;
  readonly snapshot: LowerSnapshot;
  readonly edits: readonly ForeignEdit[];
}

/** Says on the migrations and on the VMMRQs who got through, that the quotas are back, and whose edits stand. */
export async function report({ decision, snapshot, edits }: Lowered, tools: Tools): Promise<void> {
  const { lock, quotas, reason, message } = decision;
  const namespace = snapshot.namespace.metadata.name;
  const vmmrqs = await tools.cluster.list(VMMRQS, { namespace });
  const key = lock?.token ?? reason;
  // Of the lock's quotas some may never have been raised: those are only fenced.
  const raised = quotas.filter((quota) => grantOf(quota).kind !== 'none');
  const names = raised.map(({ metadata }) => metadata.name).join(', ');
  const kept = edits.map(({ key: of, now }) => `${of}=${now ?? 'dropped'}`).join(', ');
  const onVmmrqs = vmmrqs.items.map(aboutVmmrq);
  const onMigrations = (lock?.migrations ?? []).map((migration) => aboutMigration(namespace, migration));
  const told = raised.length === 0 ? [] : [...onVmmrqs, ...onMigrations];
  const lowered: EventReport[] = told.map((on) => ({
    on,
    type: edits.length > 0 ? 'Warning' : 'Normal',
    reason: EVENT_REASON.quotaLowered,
    message:
      `${names} put back: ${message}` +
      (edits.length > 0 ? `; somebody changed raised keys meanwhile, theirs stands: ${kept}` : ''),
    key,
  }));
  const admitted = (lock?.migrations ?? []).flatMap((migration): EventReport[] => {
    const pod = targetPodOf(migration, snapshot.targets)?.metadata.name;
    if (pod === undefined) return [];
    return [aboutMigration(namespace, migration), ...onVmmrqs].map((on) => ({
      on,
      type: 'Normal',
      reason: EVENT_REASON.migrationAdmitted,
      message: `the target pod ${pod} of ${migration.name} is there`,
      key: `${key} ${migration.uid}`,
    }));
  });
  await writeEvents(tools, [...lowered, ...admitted]);
}
