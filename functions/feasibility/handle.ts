import { assess, type Assessment } from '../domain/assessment.ts';
import type { Wake } from '../domain/events.ts';
import { isRejectedByQuota, overlaps } from '../domain/migration.ts';
import { EVENT, REASON, SOURCE_EVENT } from '../domain/names.ts';
import type { Migration } from '../domain/objects.ts';
import { endedLately, waitingForAPlace } from '../domain/parallel-turn.ts';
import type { NamespaceSnapshot } from '../domain/snapshot.ts';
import { nudge } from '../kubernetes/nudge.ts';
import { MIGRATIONS, VMMRQS } from '../kubernetes/resources.ts';
import { readSnapshot, type Subject } from '../kubernetes/snapshot.ts';
import { watchForChange } from '../kubernetes/wait.ts';
import type { Outcome, Step, Tools } from '../step.ts';
import { rulesOf } from '../step.ts';
import { decide } from './decide.ts';
import { logVerdicts, report } from './report.ts';

const NOTHING: Outcome = { reason: REASON.nothingBlocked, message: 'no migration is refused by a quota' };

/** How long room that is about to come back is waited for: a source pod that is ending, a quota being recounted. */
const ROOM_MS = { overlap: 8_000, recount: 1_000 };

/** Gathers the namespace and gives each blocked migration its verdict. */
export const feasibility: Step = {
  name: 'feasibility',
  wakesOn: [
    { type: SOURCE_EVENT.add, kind: MIGRATIONS.kind },
    { type: SOURCE_EVENT.update, kind: MIGRATIONS.kind },
    { type: SOURCE_EVENT.delete, kind: MIGRATIONS.kind },
    { type: SOURCE_EVENT.add, kind: VMMRQS.kind },
    { type: SOURCE_EVENT.update, kind: VMMRQS.kind },
    { type: EVENT.sweepRequested },
    { type: EVENT.namespaceUnlocked },
  ],
  replies: [EVENT.migrationFeasible, EVENT.migrationInfeasible, EVENT.lockExpired],
  handle,
};

async function handle(wake: Wake, tools: Tools): Promise<Outcome> {
  const { items: migrations, date } = await tools.cluster.list(MIGRATIONS, { namespace: wake.namespace });
  if (wake.kind === MIGRATIONS.kind && migrations.some((each) => endedLately(each, date.getTime()))) {
    tools.afterwards(() => offerPlace(wake, tools));
  }
  const isAboutBlocked = wake.kind === MIGRATIONS.kind && !migrations.some(isRejectedByQuota);
  if (isAboutBlocked && wake.type !== SOURCE_EVENT.delete) return NOTHING;

  const seen = await gather(wake.namespace, migrations, tools);
  if (seen === undefined) return NOTHING;
  const decision = decide(seen.snapshot, seen.assessment);
  logVerdicts(wake, seen.assessment, tools);

  await Promise.all(decision.nudges.map(({ migration, value }) => nudge(tools.cluster, [migration], value)));
  tools.afterwards(() => report(seen.snapshot, decision, tools));
  if (decision.reply?.type === EVENT.migrationFeasible) await tools.wakeLaterSteps();
  const { reply, reason, message } = decision;
  return { reason, message, ...(reply === undefined ? {} : { reply }) };
}

/** A place among KubeVirt's parallel migrations is free, which no event tells whoever waits for it in another namespace. */
async function offerPlace({ namespace, id }: Wake, { cluster, post }: Tools): Promise<void> {
  const { items } = await cluster.list(VMMRQS, {});
  const about = { type: EVENT.sweepRequested, from: 'feasibility', cause: id } as const;
  await Promise.all(waitingForAPlace(items, namespace).map((each) => post({ ...about, namespace: each })));
}

interface Seen {
  readonly snapshot: NamespaceSnapshot;
  readonly assessment: Assessment;
}

/** Starts from the migrations that have been listed; looks at everything anew where waiting a moment may bring room. */
async function gather(
  namespace: string,
  listed: readonly Migration[],
  tools: Tools,
): Promise<Seen | undefined> {
  let seen = await look({ name: namespace, listed }, tools);
  const started = tools.clock.elapsed();
  while (seen !== undefined && mayGetRoom(seen)) {
    const { launchers, quotas } = seen.snapshot;
    const within = overlaps(launchers) ? ROOM_MS.overlap : ROOM_MS.recount;
    const left = Math.floor(started + within - tools.clock.elapsed());
    if (left <= 0 || !(await watchForChange(tools, quotas, left))) break;
    seen = await look({ name: namespace }, tools);
  }
  return seen;
}

async function look(
  subject: Omit<Subject, 'rules'>,
  { cluster, settings }: Tools,
): Promise<Seen | undefined> {
  const rules = rulesOf(settings);
  const snapshot = await readSnapshot(cluster, { ...subject, rules });
  return snapshot === undefined ? undefined : { snapshot, assessment: assess(snapshot, rules) };
}

/**
 * What no event of ours announces: a quota is being recounted; or a migration is through, its source pod ends a moment
 * later, and only the quota's `used` tells. While the others are still under way, their own events will come.
 */
function mayGetRoom({ snapshot, assessment }: Seen): boolean {
  const short = assessment.verdicts.some(
    ({ verdict, reason }) => verdict === 'NoFit' || reason === REASON.afterOthers,
  );
  const lately = snapshot.migrations.some(({ status }) => status?.phase === 'Succeeded');
  const unknown = assessment.verdicts.some(({ reason }) => reason === REASON.statusUnknown);
  return assessment.migrations.length === 0 && ((short && lately) || unknown);
}
