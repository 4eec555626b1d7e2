/** Plans and Migrations that `live` has to reconcile again, although no event says so. Pure. */
import type { Plan, PlanMigration } from '../../functions/domain/live/forklift.ts';
import { FORKLIFT_KIND } from '../../functions/domain/live/names.ts';
import { hasOutbox } from '../../functions/live/run/outbox.ts';
import { named } from '../../functions/domain/live/reference.ts';
import {
  hasFinalizer,
  hasMovedVms,
  isTerminating,
  isPlanBlocked,
  isOfOtherType,
  hasOpenRun,
  waitsToStart,
  vmsUnderWay,
} from '../../functions/live/run/state.ts';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import type { LiveSubject } from '../../functions/eventing/live-events.ts';

/** Milliseconds between two resyncs. */
export const EVERY_MS = {
  /** KubeVirt moves a guest: its next action may come in a lost event, or from a cluster without events. */
  synchronizing: 10_000,
  /** A run with other steps, or with leftovers, or with events that no Broker has taken. */
  underWay: 60_000,
  /**
   * A plan that cannot run, or only with some of its VMs, or whose VMs are over their quota, or a run that waits: the change that it needs
   * may have no event, such as a quota of another cluster.
   */
  waiting: 600_000,
  /** A plan whose VMs have moved: somebody may start one on the source, of which there is no event once no run is under way. */
  moved: 3_600_000,
} as const;

export interface ResyncView {
  readonly migrations: readonly PlanMigration[];
  readonly plans: readonly Plan[];
  /** Times of the last resync of each object, or when it was seen first, by uid; milliseconds of a monotonic clock. */
  readonly resyncedAt: ReadonlyMap<string, number>;
  readonly now: number;
}

export interface DueResyncs {
  readonly due: readonly LiveSubject[];
  readonly resyncedAt: ReadonlyMap<string, number>;
}

/** Returns the resyncs that are due. A new object has its own event: its first resync is one interval later. */
export function resyncsDue({ migrations, plans, resyncedAt, now }: ResyncView): DueResyncs {
  const due: LiveSubject[] = [];
  const next = new Map<string, number>();
  const look = (kind: LiveSubject['kind'], { metadata }: KubernetesObject, everyMs: number): void => {
    const before = resyncedAt.get(metadata.uid) ?? now;
    const isDue = now - before >= everyMs;
    if (isDue) due.push({ kind, namespace: metadata.namespace ?? '', name: metadata.name });
    next.set(metadata.uid, isDue ? now : before);
  };
  const planOf = byReference(plans);
  for (const migration of migrations) {
    if (isOfOtherType(migration, planOf(migration)) && !hasFinalizer(migration)) continue;
    const everyMs = intervalOf(migration);
    if (everyMs !== undefined) look(FORKLIFT_KIND.migration.kind, migration, everyMs);
  }
  for (const plan of plans) {
    if (isPlanBlocked(plan) || isTerminating(plan)) look(FORKLIFT_KIND.plan.kind, plan, EVERY_MS.waiting);
    else if (hasMovedVms(plan)) look(FORKLIFT_KIND.plan.kind, plan, EVERY_MS.moved);
  }
  return { due, resyncedAt: next };
}

/** Returns the plan of a Migration without a search: there may be very many of both. */
export function byReference(plans: readonly Plan[]): (migration: PlanMigration) => readonly Plan[] {
  const known = Map.groupBy(plans, ({ metadata }) => `${metadata.namespace ?? ''}/${metadata.name}`);
  return ({ spec, metadata }) => {
    const { namespace = metadata.namespace ?? '', name } = named(spec.plan);
    return known.get(`${namespace}/${name}`) ?? [];
  };
}

/** Returns the interval; undefined if the Migration has ended, has no finalizer, and its events were taken. */
function intervalOf(migration: PlanMigration): number | undefined {
  if (hasOpenRun(migration)) return EVERY_MS[isSynchronizing(migration) ? 'synchronizing' : 'underWay'];
  if (hasOutbox(migration)) return EVERY_MS.underWay;
  if (waitsToStart(migration)) return EVERY_MS.waiting;
  // The Migration failed before it began, and its finalizer is still to be removed.
  return hasFinalizer(migration) ? EVERY_MS.underWay : undefined;
}

/** Whether a VM of the Migration is between its VMIMs and its end. */
const isSynchronizing = (migration: PlanMigration): boolean =>
  vmsUnderWay(migration).some(({ pipeline }) =>
    pipeline.some(({ name, phase }) => name === 'Synchronization' && phase === 'Running'),
  );
