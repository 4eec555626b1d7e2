import { assess, type Look, type Looked } from '../domain/verdict/assessment.ts';
import type { StepRequest } from '../eventing/step-request.ts';
import { isPending } from '../domain/migration.ts';
import { EVENT, REASON, SOURCE_EVENT, sourceOf } from '../domain/names.ts';
import type { Migration, ResourceQuota } from '../domain/objects.ts';
import { LISTED_MIGRATIONS } from '../cluster/listed.ts';
import { inGroups } from '../cluster/in-groups.ts';
import { nudge } from '../cluster/nudge.ts';
import { ApiError, describeError, TooMuch } from '../kubernetes/errors.ts';
import { MIGRATIONS, VMMRQS } from '../kubernetes/resources.ts';
import { readPods, readSnapshot } from '../cluster/snapshot.ts';
import { withUncharged } from '../cluster/uncharged.ts';
import { watchForChange } from '../cluster/watch-quota.ts';
import { pause } from '../runtime/clock.ts';
import type { Serialized } from '../runtime/keyed-serializer.ts';
import { type Outcome, rulesOf, type Step, type StepContext } from '../host/step.ts';
import { decide, type FeasibilityDecision, type Nudge } from './decide.ts';
import {
  closedBy,
  hasNothingOpen,
  isLate,
  mayJoinWait,
  noteAdmitted,
  waitsForUnlock,
} from './nothing-open.ts';
import { canSkip, mayHaveBeenRefused } from './can-skip.ts';
import { forwardRejection, LOCKED } from './forward-rejection.ts';
import { headroomDueWithin } from './headroom-wait.ts';
import { logVerdicts, report } from './report.ts';

const NOTHING: Outcome = { reason: REASON.nothingBlocked, message: 'no quota refuses a migration' };

/** Minimum time between two looks of a run that waits. Each takes about eight requests, and a busy quota changes often. */
const LOOK_MS = 250;

/** Reads the namespace and gives each blocked migration a verdict. */
export const feasibility: Step = {
  name: 'feasibility',
  triggers: [
    { type: SOURCE_EVENT.add, kind: MIGRATIONS.kind },
    { type: SOURCE_EVENT.update, kind: MIGRATIONS.kind },
    { type: SOURCE_EVENT.delete, kind: MIGRATIONS.kind },
    { type: SOURCE_EVENT.add, kind: VMMRQS.kind },
    { type: SOURCE_EVENT.update, kind: VMMRQS.kind },
    { type: EVENT.resyncRequested },
    { type: EVENT.namespaceUnlocked },
    // Only from `lock`: feasibility must not run on its own reply.
    { type: EVENT.migrationInfeasible, source: sourceOf('lock') },
  ],
  skipOutcome: (request) => (canSkip(request) ? NOTHING : undefined),
  replies: [EVENT.migrationFeasible, EVENT.migrationInfeasible, EVENT.quotaUntried, EVENT.lockExpired],
  handle,
};

/** Outcome where another run of this process follows the quotas of the namespace: that looks again when they change. */
const AWAITED: Outcome = {
  reason: REASON.afterOthers,
  message: 'the namespace is looked at as soon as the headroom of a migration that has ended is back',
};

const LATE: Outcome = {
  reason: REASON.admitted,
  message: 'a lock has let it through a moment ago, and KubeVirt shows the refusal from before',
};

async function handle(request: StepRequest, context: StepContext): Promise<Outcome> {
  noteAdmitted(request, context);
  if (isLate(request, context)) return LATE;
  if (mayJoinWait(request) && (await isAwaited(request.namespace, context))) return AWAITED;
  const seen = withOneView(request, context);
  const known = (await forwardRejection(request, seen)) ?? (await knownOutcome(request, seen));
  if (known !== undefined) return known;
  const { result: first, isShared } = await look(request, context);
  if (first === 'awaited') return AWAITED;
  if (first === undefined) return NOTHING;
  return isShared
    ? outcomeOf(decide(first.snapshot, first.assessment), isReportOnly(request))
    : conclude(first, request, context);
}

/** Asks for the view once, and only where it is needed. */
function withOneView({ namespace }: StepRequest, context: StepContext): StepContext {
  let asked: ReturnType<StepContext['view']> | undefined;
  return { ...context, view: () => (asked ??= context.view(namespace)) };
}

/** The outcome where the guard's view shows that a look finds nothing: what the event ends was the last that waited, or a lock is there. */
async function knownOutcome(request: StepRequest, context: StepContext): Promise<Outcome | undefined> {
  const closed = closedBy(request);
  const mayWait = waitsForUnlock(request);
  if (closed === undefined && !mayWait) return undefined;
  const view = await context.view(request.namespace);
  if (view === undefined) return undefined;
  if (closed !== undefined && hasNothingOpen(view, closed)) return NOTHING;
  return mayWait && view.lock !== undefined ? LOCKED : undefined;
}

/**
 * Looks at a namespace one call at a time; equal events that come meanwhile share the next one. So a tenant's loop of writes
 * costs one look after another, not one for each write. Each event is answered, because any pod may be the caller of the first;
 * only the first of them nudges and reports.
 */
function look(request: StepRequest, context: StepContext): Promise<Serialized<Looked>> {
  const { namespace } = request;
  const isDue = isReportDue(request);
  const mayJoin = mayJoinWait(request);
  const dedupeKey = `${String(isDue)} ${String(isReportOnly(request))} ${String(mayJoin)}`;
  return context.looks.serialize({ key: namespace, dedupeKey }, async () => {
    const { items } = await context.cluster.list(LISTED_MIGRATIONS, { namespace });
    // KubeVirt writes the end of a migration twice: the first one's run has begun to wait by now.
    if (mayJoin && (await isAwaited(namespace, context))) return 'awaited';
    // A migration without the condition may wait for this headroom: for its attachment pod.
    return isDue || items.some(isPending) ? assessNamespace(namespace, context, items) : undefined;
  });
}

/** Waits for headroom where some is due, and publishes the verdicts. What has changed meanwhile is new to a `lock` that declined before. */
async function conclude(first: Look, request: StepRequest, context: StepContext): Promise<Outcome> {
  const last = await awaitHeadroom(first, request, context);
  if (last === undefined) return NOTHING;
  if ('reason' in last) return last;
  const charged = await tryToCharge(last, context);
  return publish(charged, { request, isReport: last === first && isReportOnly(request) }, context);
}

/** A list that is too long must not keep a migration from its verdict. */
async function tryToCharge(look: Look, { cluster, settings, log }: StepContext): Promise<Look> {
  try {
    return await withUncharged(cluster, look, rulesOf(settings));
  } catch (error) {
    if (!(error instanceof ApiError || error instanceof TooMuch)) throw error;
    log('warn', `pods not read: ${describeError(error)}`);
    return look;
  }
}

/** A mere report has no reply but the request of a repair. */
function outcomeOf({ reason, message, reply }: FeasibilityDecision, isReport: boolean): Outcome {
  const isSilent = reply === undefined || (isReport && reply.type !== EVENT.lockExpired);
  return { reason, message, ...(isSilent ? {} : { reply }) };
}

interface Publication {
  readonly request: StepRequest;
  /** `lock` has declined, and nothing has changed since. */
  readonly isReport: boolean;
}

/** Nudges, reports the verdicts and returns the reply. */
async function publish(
  { snapshot, assessment }: Look,
  { request, isReport }: Publication,
  context: StepContext,
): Promise<Outcome> {
  const decision = decide(snapshot, assessment);
  logVerdicts(request, assessment, context);

  await inGroups(decision.nudges, (each) => tryToNudge(each, context));
  const outcome = outcomeOf(decision, isReport);
  const { reply } = outcome;
  context.inBackground(() => report(snapshot, { ...decision, reply }, context));
  return outcome;
}

/**
 * Tries to nudge. A nudge that is refused, because its annotations are full or virt-api is away, must not keep other migrations
 * from their verdicts.
 */
async function tryToNudge(
  { migration, value }: Nudge,
  { cluster, log }: Pick<StepContext, 'cluster' | 'log'>,
): Promise<void> {
  try {
    await nudge(cluster, [migration], value);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    log('warn', `not nudged: ${describeError(error)}`, { migration: migration.metadata.name });
  }
}

/** Whether the VMMRQs' status may need an update without a blocked migration. False for a migration that no quota ever refused. */
const isReportDue = ({ type, kind, eventObject }: StepRequest): boolean =>
  kind !== MIGRATIONS.kind || (type === SOURCE_EVENT.delete && mayHaveBeenRefused(eventObject));

/** `lock` has declined. */
const isReportOnly = ({ type }: StepRequest): boolean => type === EVENT.migrationInfeasible;

/** How a wait ends: with its last look, or with the reply for `lock`, which looks itself. */
type Waited = Look | Outcome | undefined;

/** The first look, or the end of a short wait where headroom may return. */
async function awaitHeadroom(
  first: Look,
  { namespace: name }: StepRequest,
  context: StepContext,
): Promise<Waited> {
  if (dueWithin(first) === 0) return first;
  // Only one run per namespace waits, and the others answer at once: a tenant's many events must not occupy this process.
  return context.exclusively<Waited>(
    `headroom of ${name}`,
    () => lookUntilHeadroom(name, first, context),
    first,
  );
}

const followKey = (namespace: string): string => `quotas of ${namespace}`;

/** Whether a run of this process follows the namespace's quotas now: between two looks, so the next one sees what an event says. */
const isAwaited = (namespace: string, { exclusively }: StepContext): Promise<boolean> =>
  exclusively(followKey(namespace), () => Promise.resolve(false), true);

async function lookUntilHeadroom(name: string, first: Look, context: StepContext): Promise<Waited> {
  const { clock } = context;
  const started = clock.elapsed();
  let last: Look | undefined = first;
  while (last !== undefined) {
    const lookedAt = clock.elapsed();
    const { quotas } = last.snapshot;
    const left = Math.floor(started + dueWithin(last) - lookedAt);
    if (left <= 0) break;
    const follow = (): Promise<readonly ResourceQuota[]> => watchForChange(context, quotas, left);
    const changed = await context.exclusively(followKey(name), follow, []);
    if (changed.length === 0) break;
    const seen = await withChanged(last, changed, context);
    if (seen.assessment.migrations.length > 0)
      return outcomeOf(decide(seen.snapshot, seen.assessment), false);
    await pause(clock, Math.max(0, lookedAt + LOOK_MS - clock.elapsed()));
    last = await assessNamespace(name, context);
  }
  return last;
}

/** The last look with the quotas that have changed, and with the pods of now: enough to ask `lock`, which reads everything. */
async function withChanged(
  { snapshot }: Look,
  changed: readonly ResourceQuota[],
  { cluster, settings }: StepContext,
): Promise<Look> {
  const { items: pods } = await readPods(cluster, snapshot.namespace.metadata.name);
  const newer = new Map(changed.map((quota) => [quota.metadata.uid, quota]));
  const quotas = snapshot.quotas.map((quota) => newer.get(quota.metadata.uid) ?? quota);
  const seen = { ...snapshot, quotas, pods };
  return { snapshot: seen, assessment: assess(seen, rulesOf(settings)) };
}

const dueWithin = ({ snapshot, assessment }: Look): number => headroomDueWithin(snapshot, assessment);

async function assessNamespace(
  name: string,
  { cluster, settings, view }: StepContext,
  listed?: readonly Migration[],
): Promise<Look | undefined> {
  const rules = rulesOf(settings);
  const known = listed === undefined ? {} : { listed };
  const snapshot = await readSnapshot(cluster, { name, rules, view, ...known });
  return snapshot === undefined ? undefined : { snapshot, assessment: assess(snapshot, rules) };
}
