import type { Wake } from '../domain/events.ts';
import { lockOf } from '../domain/lock.ts';
import { targetPodOf } from '../domain/migration.ts';
import { ANNOTATION, EVENT, EVENT_REASON, KIND, REASON, SOURCE_EVENT } from '../domain/names.ts';
import { aboutMigration, aboutVmmrq, type EventReport } from '../domain/report.ts';
import type { ForeignEdit } from '../domain/restore.ts';
import { isNotFound } from '../kubernetes/errors.ts';
import { writeEvents } from '../kubernetes/report.ts';
import { MIGRATIONS, NAMESPACES, RESOURCE_QUOTAS, VMMRQS } from '../kubernetes/resources.ts';
import { orGone, readMigrations, readTargets } from '../kubernetes/snapshot.ts';
import type { Outcome, Step, Tools } from '../step.ts';
import { decide, type LowerDecision, type LowerSnapshot } from './decide.ts';
import { restore } from './restore.ts';

type Lower = Extract<LowerDecision, { kind: 'lower' }>;
type Nudge = Extract<LowerDecision, { kind: 'nudge' }>;

const NOT_LOCKED: Outcome = { reason: REASON.notOurLock, message: 'the namespace is not locked' };

/** Puts the quotas back once every migration of the lock is settled, or nothing came of it, or its time is over. */
export const lower: Step = {
  name: 'lower',
  wakesOn: [
    { type: SOURCE_EVENT.update, kind: KIND.quota.kind },
    { type: SOURCE_EVENT.delete, kind: KIND.quota.kind },
    { type: SOURCE_EVENT.update, kind: KIND.migration.kind },
    { type: SOURCE_EVENT.delete, kind: KIND.migration.kind },
    { type: EVENT.quotaRaised },
    { type: EVENT.lockStalled },
    { type: EVENT.lockExpired },
  ],
  replies: [EVENT.quotaLowered],
  handle,
};

async function handle(wake: Wake, tools: Tools): Promise<Outcome> {
  const snapshot = await gather(wake, tools);
  if (snapshot === undefined) return NOT_LOCKED;
  const decision = decide(snapshot);
  const { kind, reason, message } = decision;
  switch (kind) {
    case 'leave':
    case 'wait':
      return { reason, message };
    case 'nudge':
      await nudge(decision, tools);
      return { reason, message };
    case 'lower':
      return lowerAll(decision, snapshot, tools);
  }
}

/** undefined after the one read that shows there is nothing to do. */
async function gather(wake: Wake, { cluster, settings }: Tools): Promise<LowerSnapshot | undefined> {
  const name = wake.namespace;
  const read = await orGone(cluster.get(NAMESPACES, { name }));
  if (read === undefined) return undefined;
  const state = lockOf(read.object);
  // An event about a migration cannot be about a grant without a lock; the others can.
  if (state.kind === 'none' && wake.kind === KIND.migration.kind) return undefined;
  const uids = state.kind === 'held' ? state.lock.migrations.map(({ uid }) => uid) : [];
  const [quotas, migrations, targets] = await Promise.all([
    cluster.list(RESOURCE_QUOTAS, { namespace: name }),
    uids.length === 0 ? [] : readMigrations(cluster, name),
    readTargets(cluster, name, uids),
  ]);
  return {
    now: read.date.getTime(),
    namespace: read.object,
    quotas: quotas.items,
    migrations,
    targets,
    stallSeconds: settings.STALL_SECONDS,
    overdueToken: wake.overdueToken,
  };
}

async function nudge({ migrations, value }: Nudge, { cluster }: Tools): Promise<void> {
  const merge = { metadata: { annotations: { [ANNOTATION.nudged]: value } } };
  await Promise.all(
    migrations.map(async ({ metadata: { name, namespace = '' } }) => {
      try {
        await cluster.patch(MIGRATIONS, { name, namespace }, { merge });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }),
  );
}

async function lowerAll(decision: Lower, snapshot: LowerSnapshot, tools: Tools): Promise<Outcome> {
  const { lock, quotas, reason, message } = decision;
  const namespace = snapshot.namespace.metadata.name;
  const edits = await Promise.all(quotas.map((quota) => restore(tools.cluster, quota, lock)));
  tools.afterwards(() => report({ decision, snapshot, edits: edits.flat() }, tools));
  const state = lockOf(snapshot.namespace);
  if (state.kind === 'none') return { reason, message };
  const token =
    lock === undefined ? { cause: snapshot.namespace.metadata.resourceVersion } : { token: lock.token };
  return {
    reason,
    message,
    ...(lock === undefined ? {} : { token: lock.token }),
    reply: { type: EVENT.quotaLowered, from: 'lower', namespace, reason, message, ...token },
  };
}

interface Lowered {
  readonly decision: Lower;
  readonly snapshot: LowerSnapshot;
  readonly edits: readonly ForeignEdit[];
}

async function report({ decision, snapshot, edits }: Lowered, tools: Tools): Promise<void> {
  const { lock, quotas, reason, message } = decision;
  const namespace = snapshot.namespace.metadata.name;
  const vmmrqs = await tools.cluster.list(VMMRQS, { namespace });
  const key = lock?.token ?? reason;
  const names = quotas.map(({ metadata }) => metadata.name).join(', ');
  const kept = edits.map(({ key: of, now }) => `${of}=${now ?? 'dropped'}`).join(', ');
  const lowered: EventReport[] = vmmrqs.items.map((vmmrq) => ({
    on: aboutVmmrq(vmmrq),
    type: edits.length > 0 ? 'Warning' : 'Normal',
    reason: EVENT_REASON.quotaLowered,
    message:
      `${names} put back: ${message}` +
      (edits.length > 0 ? `; somebody changed raised keys meanwhile, theirs stands: ${kept}` : ''),
    key,
  }));
  const admitted: EventReport[] = (lock?.migrations ?? [])
    .filter((migration) => targetPodOf(migration, snapshot.targets) !== undefined)
    .map((migration) => ({
      on: aboutMigration(namespace, migration),
      type: 'Normal',
      reason: EVENT_REASON.migrationAdmitted,
      message: `target pod ${targetPodOf(migration, snapshot.targets)?.metadata.name ?? ''} is there`,
      key,
    }));
  await writeEvents(tools, [...lowered, ...admitted]);
}
