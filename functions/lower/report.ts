import { grantOf } from '../domain/quota/grant.ts';
import { admittedPodOf } from '../domain/migration.ts';
import { EVENT_REASON, KIND, REASON, type Reason } from '../domain/names.ts';
import { aboutMigration, aboutVmmrq, type EventReport, type Subject } from '../domain/verdict/report.ts';
import type { ForeignEdit } from '../domain/quota/restore.ts';
import { writeEvents } from '../cluster/report.ts';
import { LISTED_VMMRQS } from '../cluster/listed.ts';
import type { Tools } from '../host/step.ts';
import type { Lower, LowerSnapshot } from './decide.ts';

export interface Lowered {
  readonly decision: Lower;
  readonly snapshot: LowerSnapshot;
  readonly edits: readonly ForeignEdit[];
}

/** Says on each migration that it got through; on all of them and on the VMMRQs that the quotas are back, and whose edits stand. */
export async function report({ decision, snapshot, edits }: Lowered, tools: Tools): Promise<void> {
  const { lock, quotas, reason, message } = decision;
  const namespace = snapshot.namespace.metadata.name;
  const key = lock?.token ?? reason;
  const onVmmrqs = await vmmrqsOf(decision, namespace, tools);
  const onMigrations = (lock?.migrations ?? []).map((migration) => aboutMigration(namespace, migration));
  const told = putBack({ quotas, edits, message }) ?? neverRaised(reason, message);
  const lowered =
    told === undefined ? [] : [...onVmmrqs, ...onMigrations].map((on) => ({ ...told, on, key }));
  const admitted = (lock?.migrations ?? []).flatMap((migration): EventReport[] => {
    const pod = admittedPodOf(migration, snapshot.targets)?.metadata.name;
    if (pod === undefined) return [];
    return [
      {
        on: aboutMigration(namespace, migration),
        type: 'Normal',
        reason: EVENT_REASON.migrationAdmitted,
        message: `the ${migration.lacks ?? 'target'} pod ${pod} of ${migration.name} is there`,
        key: `${key} ${migration.uid}`,
      },
    ];
  });
  await writeEvents(tools, [...lowered, ...admitted]);
}

/** The VMMRQs that the grants name; where none does (nothing was raised, say), those that are there. */
async function vmmrqsOf({ quotas }: Lower, namespace: string, { cluster }: Tools): Promise<Subject[]> {
  const states = quotas.map(grantOf);
  const named = states.flatMap((state) => (state.kind === 'held' ? state.grant.vmmrqs : []));
  if (named.length === 0) return (await cluster.list(LISTED_VMMRQS, { namespace })).items.map(aboutVmmrq);
  const each = new Map(named.map((vmmrq) => [vmmrq.uid, vmmrq]));
  return [...each.values()].map(({ name, uid }) => ({ ...KIND.vmmrq, namespace, name, uid }));
}

type Told = Pick<EventReport, 'type' | 'reason' | 'message'>;

/** Of the lock's quotas some may never have been raised: those are only fenced, and nothing is said of them. */
function putBack({
  quotas,
  edits,
  message,
}: Pick<Lower, 'quotas' | 'message'> & Pick<Lowered, 'edits'>): Told | undefined {
  const raised = quotas.filter((quota) => grantOf(quota).kind !== 'none');
  if (raised.length === 0) return undefined;
  const names = raised.map(({ metadata }) => metadata.name).join(', ');
  const kept = edits.map(({ key: of, now }) => `${of}=${now ?? 'dropped'}`).join(', ');
  const theirs = `; somebody changed raised keys meanwhile, theirs stands: ${kept}`;
  return {
    type: edits.length > 0 ? 'Warning' : 'Normal',
    reason: EVENT_REASON.quotaLowered,
    message: `${names} put back: ${message}${edits.length > 0 ? theirs : ''}`,
  };
}

/** The lock was for nothing; why, unless its migrations simply ended. */
const neverRaised = (reason: Reason, message: string): Told | undefined =>
  reason === REASON.ended
    ? undefined
    : { type: 'Warning', reason: EVENT_REASON.migrationBlocked, message: `nothing was raised: ${message}` };
