import { EVENT_REASON } from '../domain/names.ts';
import { aboutMigration, aboutVmmrq } from '../domain/verdict/report.ts';
import type { NamespaceSnapshot } from '../domain/snapshot.ts';
import { writeEvents } from '../cluster/report.ts';
import type { Outcome, Tools } from '../host/step.ts';
import type { Take } from './decide.ts';

/** Says on the migrations that the namespace is locked for them. On the VMMRQs the condition Locked says so, and QuotaRaised. */
export async function reportLocked(
  { lock: taken, message }: Take,
  snapshot: NamespaceSnapshot,
  tools: Tools,
): Promise<void> {
  const namespace = snapshot.namespace.metadata.name;
  await writeEvents(
    tools,
    taken.migrations.map((migration) => ({
      on: aboutMigration(namespace, migration),
      type: 'Normal',
      reason: EVENT_REASON.namespaceLocked,
      message: `the namespace is ${message}`,
      key: taken.token,
    })),
  );
}

/** Why the namespace may not be locked for migrations that would fit. */
export type Refusal = Required<Pick<Outcome, 'reason' | 'message'>>;

/** Says on the migrations and the VMMRQs who stands in the way: a policy of somebody else, or the incumbent. */
export async function reportRefused(
  { reason, message, migrations }: Refusal & Pick<Take['lock'], 'migrations'>,
  { namespace, quotas, vmmrqs }: NamespaceSnapshot,
  tools: Tools,
): Promise<void> {
  const uids = quotas.map(({ metadata }) => metadata.uid).join();
  const about = [
    ...migrations.map((migration) => aboutMigration(namespace.metadata.name, migration)),
    ...vmmrqs.map(aboutVmmrq),
  ];
  await writeEvents(
    tools,
    about.map((on) => ({
      on,
      type: 'Warning',
      reason: EVENT_REASON.migrationBlocked,
      message,
      key: `${reason} ${uids}`,
    })),
  );
}
