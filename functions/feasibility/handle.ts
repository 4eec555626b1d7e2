import { assess, type Assessment } from '../domain/verdict/assessment.ts';
import type { StepRequest } from '../eventing/step-request.ts';
import { isPending } from '../domain/migration.ts';
import { EVENT, REASON, SOURCE_EVENT, sourceOf } from '../domain/names.ts';
import type { Migration } from '../domain/objects.ts';
import type { NamespaceSnapshot } from '../domain/snapshot.ts';
import { LISTED_MIGRATIONS } from '../cluster/listed.ts';
import { inGroups } from '../cluster/in-groups.ts';
import { nudge } from '../cluster/nudge.ts';
import { ApiError, describeError } from '../kubernetes/errors.ts';
import { MIGRATIONS, VMMRQS } from '../kubernetes/resources.ts';
import { readSnapshot } from '../cluster/snapshot.ts';
import { watchForChange } from '../cluster/watch-quota.ts';
import { pause } from '../runtime/clock.ts';
import type { Outcome, Step, StepContext } from '../host/step.ts';
import { rulesOf } from '../host/step.ts';
import { decide, type Nudge } from './decide.ts';
import { hasNothingOpen, closedBy } from './nothing-open.ts';
import { canSkip, mayHaveBeenRefused } from './can-skip.ts';
import { forwardRejection } from './forward-rejection.ts';
import { headroomDueWithin } from './headroom-wait.ts';
import { logVerdicts, report } from './report.ts';

const NOTHING: Outcome = { reason: REASON.nothingBlocked, message: 'no quota refuses a migration' };

/** Minimum time between two assessments of a run that waits. Each takes about eight requests, and a busy quota changes often. */
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
    { type: EVENT.sweepRequested },
    { type: EVENT.namespaceUnlocked },
    // Only from `lock`: feasibility must not run on its own reply.
    { type: EVENT.migrationInfeasible, source: sourceOf('lock') },
  ],
  skipOutcome: (request) => (canSkip(request) ? NOTHING : undefined),
  replies: [EVENT.migrationFeasible, EVENT.migrationInfeasible, EVENT.lockExpired],
  handle,
};

async function handle(request: StepRequest, context: StepContext): Promise<Outcome> {
  const forwarded = await forwardRejection(request, context);
  if (forwarded !== undefined) return forwarded;
  const assessed = await assessIfNeeded(request, context);
  return assessed === undefined ? NOTHING : publish(assessed, request, context);
}

/** Where the event shows no refusal, the guard's view or one list shows whether an assessment is needed. */
async function assessIfNeeded(request: StepRequest, context: StepContext): Promise<Assessed | undefined> {
  const closed = closedBy(request);
  if (closed !== undefined) {
    const view = await context.view(request.namespace);
    if (view !== undefined && hasNothingOpen(view, closed)) return undefined;
  }
  const { items } = await context.cluster.list(LISTED_MIGRATIONS, { namespace: request.namespace });
  // A migration without the condition may wait for this headroom: for its attachment pod.
  return isReportDue(request) || items.some(isPending) ? gather(request, context, items) : undefined;
}

/** Reports the verdicts and returns the reply. After `lock` has declined, it only reports, or requests a repair. */
async function publish(
  { snapshot, assessment }: Assessed,
  request: StepRequest,
  context: StepContext,
): Promise<Outcome> {
  const decision = decide(snapshot, assessment);
  logVerdicts(request, assessment, context);

  await inGroups(decision.nudges, (each) => tryToNudge(each, context));
  const isReportOnly =
    request.type === EVENT.migrationInfeasible && decision.reply?.type !== EVENT.lockExpired;
  const reply = isReportOnly ? undefined : decision.reply;
  context.inBackground(() => report(snapshot, { ...decision, reply }, context));
  if (reply?.type === EVENT.migrationFeasible) await context.prewarmNextSteps();
  const { reason, message } = decision;
  return { reason, message, ...(reply === undefined ? {} : { reply }) };
}

/** One that is refused, because its annotations are full or virt-api is away, must not keep the others from their verdicts. */
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

/** Without a blocked migration: whether the VMMRQs' status may need an update. Not for a migration that no quota ever refused. */
const isReportDue = ({ type, kind, eventObject }: StepRequest): boolean =>
  kind !== MIGRATIONS.kind || (type === SOURCE_EVENT.delete && mayHaveBeenRefused(eventObject));

interface Assessed {
  readonly snapshot: NamespaceSnapshot;
  readonly assessment: Assessment;
}

/** Assesses the namespace once, and repeatedly for a short time where headroom may return. */
async function gather(
  { namespace: name }: StepRequest,
  context: StepContext,
  listed?: readonly Migration[],
): Promise<Assessed | undefined> {
  const first = await assessNamespace(name, context, listed);
  if (first === undefined || dueWithin(first) === 0) return first;
  // Only one run per namespace waits, and the others answer at once: a tenant's many events must not occupy this process.
  return context.exclusively(`headroom of ${name}`, () => assessUntilHeadroom(name, first, context), first);
}

async function assessUntilHeadroom(
  name: string,
  first: Assessed,
  context: StepContext,
): Promise<Assessed | undefined> {
  const { clock } = context;
  const started = clock.elapsed();
  let assessed: Assessed | undefined = first;
  while (assessed !== undefined) {
    const lookedAt = clock.elapsed();
    const left = Math.floor(started + dueWithin(assessed) - lookedAt);
    if (left <= 0 || !(await watchForChange(context, assessed.snapshot.quotas, left))) break;
    await pause(clock, Math.max(0, lookedAt + LOOK_MS - clock.elapsed()));
    assessed = await assessNamespace(name, context);
  }
  return assessed;
}

const dueWithin = ({ snapshot, assessment }: Assessed): number => headroomDueWithin(snapshot, assessment);

async function assessNamespace(
  name: string,
  { cluster, settings, view }: StepContext,
  listed?: readonly Migration[],
): Promise<Assessed | undefined> {
  const rules = rulesOf(settings);
  const known = listed === undefined ? {} : { listed };
  const snapshot = await readSnapshot(cluster, { name, rules, view, ...known });
  return snapshot === undefined ? undefined : { snapshot, assessment: assess(snapshot, rules) };
}
