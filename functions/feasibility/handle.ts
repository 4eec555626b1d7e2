import { assess, isYesToAll, type Assessment } from '../domain/verdict/assessment.ts';
import type { Wake } from '../eventing/wake.ts';
import { blockedAmong, isPending, isRejectedByQuota, overlaps } from '../domain/migration.ts';
import { EVENT, REASON, SOURCE_EVENT } from '../domain/names.ts';
import type { Migration } from '../domain/objects.ts';
import { endedLately, waitingForAPlace } from '../domain/verdict/parallel-turn.ts';
import type { NamespaceSnapshot, Rules } from '../domain/snapshot.ts';
import { remembered, type Reader, type ReadList } from '../kubernetes/cluster.ts';
import { LISTED_MIGRATIONS, LISTED_STATES_OF_VMMRQS } from '../cluster/listed.ts';
import { nudge } from '../cluster/nudge.ts';
import { MIGRATIONS, VMMRQS } from '../kubernetes/resources.ts';
import { readSnapshot, type Subject } from '../cluster/snapshot.ts';
import { watchForChange } from '../cluster/wait.ts';
import type { Outcome, Step, Tools } from '../host/step.ts';
import { rulesOf } from '../host/step.ts';
import { decide } from './decide.ts';
import { isIdle, isRefused, mayHaveBeenRefused } from './idle.ts';
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
  idle: (wake) => (isIdle(wake) ? NOTHING : undefined),
  replies: [EVENT.migrationFeasible, EVENT.migrationInfeasible, EVENT.lockExpired],
  handle,
};

async function handle(wake: Wake, tools: Tools): Promise<Outcome> {
  const seen = isRefused(wake) ? await lookAtOnce(wake, tools) : await lookIfNeeded(wake, tools);
  return seen === undefined ? NOTHING : tell(seen, wake, tools);
}

/** Where the event tells of nothing that is refused, one read shows whether there is anything to do. */
async function lookIfNeeded(wake: Wake, tools: Tools): Promise<Seen | undefined> {
  const listed = await tools.cluster.list(LISTED_MIGRATIONS, { namespace: wake.namespace });
  const isOver = isPlaceFree(wake, listed);
  if (isOver) tools.afterwards(() => offerPlace(wake, tools));
  // The room of one that is over may be waited for by one that no condition calls refused: for its attachment pod.
  const mayBeBlocked = isOver ? isPending : isRejectedByQuota;
  const isNeeded = listed.items.some(mayBeBlocked) || isReportDue(wake);
  return isNeeded ? gather({ name: wake.namespace, listed: listed.items }, tools) : undefined;
}

/**
 * What the API server remembers is good enough for a yes to all (docs/adr/0018): lock looks at everything as it is before it
 * locks. Anything else would be told, or nudged for, and is looked at as it is.
 */
async function lookAtOnce({ namespace: name }: Wake, tools: Tools): Promise<Seen | undefined> {
  const seen = await look(remembered(tools.cluster), { name }, rulesOf(tools.settings));
  return seen !== undefined && isYesToAll(seen.assessment) ? seen : gather({ name }, tools);
}

async function tell({ snapshot, assessment }: Seen, wake: Wake, tools: Tools): Promise<Outcome> {
  const decision = decide(snapshot, assessment);
  logVerdicts(wake, assessment, tools);

  await Promise.all(decision.nudges.map(({ migration, value }) => nudge(tools.cluster, [migration], value)));
  tools.afterwards(() => report(snapshot, decision, tools));
  if (decision.reply?.type === EVENT.migrationFeasible) await tools.wakeLaterSteps();
  const { reply, reason, message } = decision;
  return { reason, message, ...(reply === undefined ? {} : { reply }) };
}

/** A migration has ended, or the lock that reckoned with it: KubeVirt may run another one. */
function isPlaceFree({ kind, type }: Wake, { items, date }: ReadList<Migration>): boolean {
  if (type === EVENT.namespaceUnlocked) return items.some(isRejectedByQuota);
  // One that was cancelled may be gone before it is read.
  const isGone = type === SOURCE_EVENT.delete;
  return kind === MIGRATIONS.kind && (isGone || items.some((each) => endedLately(each, date.getTime())));
}

/** A place among KubeVirt's parallel migrations is free, which no event tells whoever waits for it in another namespace. */
async function offerPlace({ namespace, id }: Wake, { cluster, post }: Tools): Promise<void> {
  const { items } = await cluster.list(LISTED_STATES_OF_VMMRQS, {});
  const about = { type: EVENT.sweepRequested, from: 'feasibility', cause: id } as const;
  await Promise.all(waitingForAPlace(items, namespace).map((each) => post({ ...about, namespace: each })));
}

/** Where nobody is blocked: the VMMRQs' status may have to say so; not for a migration that no quota ever refused. */
const isReportDue = ({ type, kind, told }: Wake): boolean =>
  kind !== MIGRATIONS.kind || (type === SOURCE_EVENT.delete && mayHaveBeenRefused(told));

interface Seen {
  readonly snapshot: NamespaceSnapshot;
  readonly assessment: Assessment;
}

/** Looks at everything anew where waiting a moment may bring room. */
async function gather(subject: Omit<Subject, 'rules'>, tools: Tools): Promise<Seen | undefined> {
  const { name } = subject;
  const rules = rulesOf(tools.settings);
  let seen = await look(tools.cluster, subject, rules);
  const started = tools.clock.elapsed();
  while (seen !== undefined && mayGetRoom(seen)) {
    const { migrations, pods, quotas } = seen.snapshot;
    const within = overlaps(pods, blockedAmong(migrations, pods)) ? ROOM_MS.overlap : ROOM_MS.recount;
    const left = Math.floor(started + within - tools.clock.elapsed());
    if (left <= 0 || !(await watchForChange(tools, quotas, left))) break;
    seen = await look(tools.cluster, { name }, rules);
  }
  return seen;
}

async function look(
  cluster: Reader,
  subject: Omit<Subject, 'rules'>,
  rules: Rules,
): Promise<Seen | undefined> {
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
