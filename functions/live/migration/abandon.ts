import { isGivenUp } from '../run/break-glass.ts';
import { has } from '../../domain/live/conditions.ts';
import { leftoversOf } from '../run/leftovers.ts';
import type { Plan, PlanMigration, VmStatus } from '../../domain/live/forklift.ts';
import { LIVE_CONDITION, LIVE_LABEL, LIVE_REASON, type LiveReason } from '../../domain/live/names.ts';
import { waitingSince } from '../run/waiting-since.ts';
import { describeRecord } from '../run/describe.ts';
import type { Ended, RunDecision } from '../run/decision.ts';

/** Milliseconds of silence, or of refused writes, before a given-up VM is abandoned: a cluster that only restarts is waited for. */
const UNKNOWN_MS = 60_000;

/** Reasons to wait that have no end of their own. */
const WHY: ReadonlyMap<LiveReason, string> = new Map([
  [LIVE_REASON.clusterUnknown, 'given up while a cluster did not answer'],
  [LIVE_REASON.refused, 'given up while a cluster refused its writes'],
]);

interface Unknown {
  readonly migration: PlanMigration;
  /** The Plan; undefined if it was deleted. */
  readonly plan: Plan | undefined;
  /** The Migration's status of the VM. */
  readonly shown: VmStatus;
  /** Milliseconds. */
  readonly now: number;
}

/**
 * Ends a VM of a run that a user has given up, if a cluster does not answer or refuses the writes. Any other decision stays: the reachable
 * part is canceled. Nothing is written on either cluster, so no copy of the VM is lost.
 */
export function abandon(decision: RunDecision, { migration, plan, shown, now }: Unknown): RunDecision {
  if (!isGivenUp(migration) || decision.kind !== 'wait') return decision;
  const why = WHY.get(decision.reason);
  if (why === undefined) return decision;
  // A cluster that answers only sometimes, and refuses its writes then, does not restart the time.
  const since = Math.min(...[...WHY.keys()].map((reason) => waitingSince({ status: shown, now }, reason)));
  // The status of a VM that has ended has no wait any more.
  if (shown.completed === undefined && now - since < UNKNOWN_MS) return decision;
  return abandonedEnd(shown, { migration, plan, why });
}

/** Returns the end of a VM that cannot be read. A VM that had ended before keeps its leftovers. `why`: the beginning of a sentence. */
export function abandonedEnd(
  shown: VmStatus,
  { migration, plan, why }: Pick<Unknown, 'migration' | 'plan'> & { readonly why: string },
): Ended {
  if (shown.completed !== undefined) return ended(why, withPerhapsRecord(shown));
  return ended(`${why}, and its guest was ${lastSeen(shown)}`, leftOf(shown, { migration, plan }));
}

/** Adds the record to the leftovers: whether it was removed after the end was written cannot be read. */
function withPerhapsRecord(vm: VmStatus): readonly string[] {
  const record = describeRecord(vm);
  const leftovers = leftoversOf(vm);
  return leftovers.some((one) => one.includes(record)) ? leftovers : [...leftovers, `perhaps ${record}`];
}

const ended = (message: string, leftovers: readonly string[]): Ended => ({
  ...{ kind: 'ended', as: 'Failed', reason: LIVE_REASON.givenUp, message, leftovers, recordRemoval: [] },
});

/** Describes where the newest data may be, by the last that was seen. Nothing is proved, so there is no advice. */
const lastSeen = (shown: VmStatus): string =>
  has(shown, LIVE_CONDITION.cutOver)
    ? 'perhaps on the target: the VM there may have the newest data'
    : 'not seen on the target, which proves nothing of what came after';

/** Leftovers that may be there, and how to find them. */
function leftOf(
  { id = '', namespace = '', name = '', newName = name }: VmStatus,
  { migration, plan }: Pick<Unknown, 'migration' | 'plan'>,
): string[] {
  const labels = `${LIVE_LABEL.migration}=${migration.metadata.uid},${LIVE_LABEL.vm}=${id}`;
  const target = plan === undefined ? newName : `${plan.spec.targetNamespace}/${newName}`;
  return [
    `perhaps ${describeRecord({ namespace, name })}`,
    `perhaps VirtualMachine ${target} on the target`,
    `perhaps what is labelled ${labels}, on both clusters`,
  ];
}
