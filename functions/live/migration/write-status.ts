import type { Finding } from '../../domain/live/conditions.ts';
import type { MigrationStatus, Plan, PlanMigration } from '../../domain/live/forklift.ts';
import type { MoveEvent } from '../../domain/live/move-events.ts';
import { outboxOf, waitingIn, withOutbox, withTransitions } from '../run/outbox.ts';
import { postInOrder } from '../../eventing/post-in-order.ts';
import { isConflict } from '../../kubernetes/errors.ts';
import { PLAN_MIGRATIONS, PLANS } from '../../kubernetes/live-resources.ts';
import { putStatus } from '../plan/write-findings.ts';
import type { LiveContext } from '../context.ts';
import type { Referred } from '../status/plan-status.ts';
import { problemStatus } from '../status/problem-status.ts';
import { reportRun } from '../status/report.ts';
import type { DecidedVm } from '../status/vm.ts';

/** A Migration and its Plan. */
export interface MigrationWithPlan {
  readonly migration: PlanMigration;
  readonly plan: Plan;
}

/**
 * Writes the statuses of the run, with the events of the changes. The Migration comes first: it is the log of the run, and the plan's
 * status is derived from it. Resolves with both as written; rejects with a conflict if one has changed.
 */
export async function writeRunStatus(
  { migration, plan, refers }: MigrationWithPlan & { readonly refers?: Referred | undefined },
  runs: readonly DecidedVm[],
  context: LiveContext,
): Promise<MigrationWithPlan> {
  const { hub, clock } = context;
  const now = clock.now().getTime();
  const { migrationStatus, planStatus, transitions } = reportRun({ plan, migration, runs, now, refers });
  return {
    migration: await writeMigrationStatus(migration, { status: migrationStatus, transitions }, context),
    plan: await putStatus(hub, PLANS, { object: plan, status: planStatus }),
  };
}

/**
 * Writes the status with the new events in its outbox, posts them, and writes what is left. So of several calls only the one that wrote the
 * status posts: the others have a conflict, and leave events of a moment ago to it. Events that no Broker has taken come first.
 */
export async function writeMigrationStatus(
  migration: PlanMigration,
  { status, transitions }: StatusUpdate,
  context: LiveContext,
): Promise<PlanMigration> {
  const { overdue, fresh } = waitingIn(migration, context.clock.now().getTime());
  return writeAndPost(migration, { status, fresh, events: withTransitions(overdue, transitions) }, context);
}

interface Posting {
  readonly status: MigrationStatus;
  readonly events: readonly MoveEvent[];
  /** Events that are left to another call. */
  readonly fresh: readonly MoveEvent[];
}

async function writeAndPost(
  migration: PlanMigration,
  { status, events, fresh }: Posting,
  context: LiveContext,
): Promise<PlanMigration> {
  const { hub } = context;
  const written = await putStatus(hub, PLAN_MIGRATIONS, {
    object: migration,
    status: withOutbox(status, [...fresh, ...events]),
  });
  if (events.length === 0) return written;
  return putPosted(written, events, [...(await postInOrder(events, context))], hub);
}

/** Writes that these events were posted, all but the last ones. A user, who is no other call, may have changed the Migration meanwhile. */
async function putPosted(
  written: PlanMigration,
  events: readonly MoveEvent[],
  left: readonly MoveEvent[],
  hub: LiveContext['hub'],
): Promise<PlanMigration> {
  const posted = new Set(events.slice(0, events.length - left.length).map(({ id }) => id));
  const put = (object: PlanMigration): Promise<PlanMigration> => {
    const rest = outboxOf(object).filter(({ id }) => !posted.has(id));
    return putStatus(hub, PLAN_MIGRATIONS, { object, status: withOutbox(object.status ?? {}, rest) });
  };
  try {
    return await put(written);
  } catch (error) {
    if (!isConflict(error)) throw error;
    const { namespace = '', name } = written.metadata;
    await put((await hub.get(PLAN_MIGRATIONS, { namespace, name })).object);
    // The caller has read the one before.
    throw error;
  }
}

export interface StatusUpdate {
  readonly status: MigrationStatus;
  readonly transitions: readonly MoveEvent[];
}

/** Posts the events that a run has left over after its end: it is closed by the call that wrote the last ones, after it has posted. */
export function postOutbox(migration: PlanMigration, context: LiveContext): Promise<PlanMigration> {
  const { status = {} } = migration;
  return writeAndPost(migration, { status, events: outboxOf(migration), fresh: [] }, context);
}

/** Writes why a Migration does not begin; resolves with it. */
export function writeProblem(
  migration: PlanMigration,
  finding: Finding,
  { hub, clock }: LiveContext,
): Promise<PlanMigration> {
  const status = problemStatus(migration.status, finding, clock.now().getTime());
  return putStatus(hub, PLAN_MIGRATIONS, { object: migration, status });
}
