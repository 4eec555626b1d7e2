import { EVENT_REASON, REASON } from '../domain/names.ts';
import { aboutMigration, aboutVmmrq } from '../domain/report.ts';
import type { NamespaceSnapshot } from '../domain/snapshot.ts';
import { writeEvents } from '../kubernetes/report.ts';
import type { Tools } from '../step.ts';
import type { Take } from './decide.ts';

/** Says on the migrations and the VMMRQs that the namespace is locked, and for whom. */
export async function reportLocked(
  { lock: taken, message }: Take,
  snapshot: NamespaceSnapshot,
  tools: Tools,
): Promise<void> {
  const namespace = snapshot.namespace.metadata.name;
  const about = [
    ...taken.migrations.map((migration) => aboutMigration(namespace, migration)),
    ...snapshot.vmmrqs.map(aboutVmmrq),
  ];
  await writeEvents(
    tools,
    about.map((on) => ({
      on,
      type: 'Normal',
      reason: EVENT_REASON.namespaceLocked,
      message: `the namespace is ${message}`,
      key: taken.token,
    })),
  );
}

/** Says on the VMMRQs that a policy of somebody else refuses our writes to a quota. */
export async function reportRefused(
  message: string,
  snapshot: NamespaceSnapshot,
  tools: Tools,
): Promise<void> {
  const quotas = snapshot.quotas.map(({ metadata }) => metadata.uid).join();
  await writeEvents(
    tools,
    snapshot.vmmrqs.map((vmmrq) => ({
      on: aboutVmmrq(vmmrq),
      type: 'Warning',
      reason: EVENT_REASON.migrationBlocked,
      message,
      key: `${REASON.refusedByPolicy} ${quotas}`,
    })),
  );
}
