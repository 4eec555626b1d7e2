import { assess } from '../domain/verdict/assessment.ts';
import { lastAttemptOf } from '../domain/verdict/attempt.ts';
import type { OurEvent } from '../domain/events.ts';
import type { StepRequest } from '../eventing/step-request.ts';
import { liveLock, type Lock } from '../domain/lock.ts';
import { EVENT, LOCK_OUTCOME, REASON, type Reason } from '../domain/names.ts';
import type { Namespace } from '../domain/objects.ts';
import { allWaitForSlot } from '../domain/view/slots.ts';
import { untilResolved } from '../kubernetes/attempts.ts';
import type { Read } from '../kubernetes/cluster.ts';
import {
  type ApiError,
  ignoreNotFound,
  isConflict,
  isRejected,
  refusalOf,
  Unreachable,
} from '../kubernetes/errors.ts';
import { NAMESPACES } from '../kubernetes/resources.ts';
import { writeEvents } from '../cluster/report.ts';
import { readSnapshot } from '../cluster/snapshot.ts';
import { NotYet, rulesOf, type Outcome, type Step, type StepContext } from '../host/step.ts';
import {
  continueWith,
  decide,
  leaveWithoutSlot,
  reportsOfRefusal,
  type AcquireDecision,
  type LockDecision,
} from './decide.ts';

/** Attempts after lost races; then the Broker delivers the event again. */
const ROUNDS = 3;

/** Locks the namespace for the migrations that fit with a raise. */
export const lock: Step = {
  name: 'lock',
  triggers: [{ type: EVENT.migrationFeasible }],
  replies: [EVENT.namespaceLocked, EVENT.quotaUntried, EVENT.migrationInfeasible, EVENT.lockExpired],
  isSerialized: true,
  handle,
};

/** Rejects after its attempts: no other lock is there, so no other run goes on with this event. */
function handle(request: StepRequest, context: StepContext): Promise<Outcome> {
  return untilResolved(
    ROUNDS,
    () => attempt(request, context),
    `namespace ${request.namespace} changed, or its API server was silent, at each attempt to lock it`,
  );
}

/** Reasons found in the namespace alone, which is always read live. */
const OF_NAMESPACE: readonly Reason[] = [
  REASON.lockExpired,
  REASON.reservedNamespace,
  REASON.namespaceTerminating,
];

/** A refusal may stem from lists or a view that lag. It would end the chain of events, so live lists must confirm it. */
const mayBeStale = ({ kind, reason }: LockDecision): boolean =>
  (kind === 'leave' || kind === 'repair') && !OF_NAMESPACE.includes(reason);

/** A look that took longer may have missed that others got the migration slots, milliseconds. */
const OLD_MS = 1_000;

/** Whether the guard's view has no slot left for the lock. If it does not answer, `raise` asks it again. */
async function isSlotGone(namespace: string, { migrations }: Lock, { view }: StepContext): Promise<boolean> {
  const seen = await view(namespace);
  return seen !== undefined && allWaitForSlot(migrations, seen.open.queued);
}

/** Returns undefined after a conflict, or if the result of the write is unknown: the caller reads again. */
async function attempt(request: StepRequest, context: StepContext): Promise<Outcome | undefined> {
  const lookedAt = context.clock.elapsed();
  const decision = await decideFor(request, { mayLag: true }, context);
  if (decision === undefined) return GONE;
  if (decision.kind !== 'acquire') return answer(request, decision);
  const { namespace } = request;
  const { lock: acquired } = decision;
  const isOld = context.clock.elapsed() - lookedAt > OLD_MS;
  if (isOld && (await isSlotGone(namespace, acquired, context)))
    return answer(request, leaveWithoutSlot(acquired));
  // `raise` names the quotas that a dry run has raised. A forged name only costs a lock that raises nothing.
  const isTried = decision.untried.every((name) => request.quotas?.includes(name) === true);
  if (!isTried) return dryRunFirst(request, decision);
  return (await hasWaitedLong(context)) ? undefined : acquire(decision, context);
}

/**
 * Waits for the functions that are to raise, lower and unlock: no namespace is locked while one of them starts. Returns whether that
 * took so long that the reads are old. Throws NotYet.
 */
async function hasWaitedLong({ silentSteps, clock }: StepContext): Promise<boolean> {
  const since = clock.elapsed();
  const silent = await silentSteps();
  if (silent.length === 0) return clock.elapsed() - since > OLD_MS;
  const message = `nothing is locked, because these functions do not answer yet: ${silent.join(', ')}`;
  throw new NotYet(REASON.functionsSilent, message);
}

/**
 * Reads the namespace live. `raise` detects quotas that have changed since, but not migrations that ended: after a lock that admitted
 * nothing, so that a guard that hears nothing any more does not cause the next one too, nothing may lag.
 */
async function decideFor(
  request: StepRequest,
  how: { readonly mayLag: boolean },
  context: StepContext,
): Promise<LockDecision | undefined> {
  const { namespace: name, id, vmis: expected = [] } = request;
  const rules = rulesOf(context.settings);
  const known = await ignoreNotFound(context.cluster.get(NAMESPACES, { name }));
  if (known === undefined) return undefined;
  // An existing lock needs no further reads: the events of one cycle arrive in twos and threes, and those of a burst in dozens.
  const live = liveLock(known.object, known.date.getTime());
  if (live !== undefined) return continueWith(live, id);
  const { cluster, view } = context;
  const mayLag = how.mayLag && !admittedNothing(known);
  const snapshot = await readSnapshot(cluster, { name, rules, known, expected, view, mayLag });
  if (snapshot === undefined) return undefined;
  const decision = decide(snapshot, assess(snapshot, rules), {
    ...{ id, lockSeconds: rules.lockSeconds },
    // A new token in each round: the last write may have succeeded, and a user may have removed that lock since (I6).
    token: context.newToken(),
  });
  return mayLag && mayBeStale(decision) ? decideFor(request, { mayLag: false }, context) : decision;
}

/** The last lock of the namespace admitted nothing. */
function admittedNothing({ object, date }: Read<Namespace>): boolean {
  const last = lastAttemptOf(object, date.getTime());
  return last !== undefined && last.outcome !== LOCK_OUTCOME.admitted;
}

const GONE: Outcome = { reason: REASON.nothingBlocked, message: 'the namespace is gone' };

function answer({ namespace, id }: StepRequest, decision: Exclude<LockDecision, AcquireDecision>): Outcome {
  const { kind, reason, message } = decision;
  const about = { from: 'lock', namespace } as const;
  switch (kind) {
    case 'locked':
      return { reason, message };
    case 'leave':
      // feasibility runs the full assessment and reports it.
      return {
        reason,
        message,
        reply: { ...about, type: EVENT.migrationInfeasible, cause: id, reason, message },
      };
    case 'repair': {
      const token = decision.token === undefined ? { cause: reason } : { token: decision.token };
      return { reason, message, reply: { ...about, type: EVENT.lockExpired, ...token } };
    }
    case 'goOn':
      return { reason, message, reply: lockedEvent(namespace, decision.lock) };
  }
}

/**
 * Asks `raise` to try the raise by a dry run: no lock is taken only to learn that a webhook or policy refuses it. It asks for all quotas at
 * once: the answer is the only record of what was tried.
 */
function dryRunFirst(
  { namespace, id, vmis }: StepRequest,
  { untried: quotas, lock: { migrations, vmmrqs } }: AcquireDecision,
): Outcome {
  return {
    reason: REASON.dryRunFirst,
    message: `a dry run shows first whether the raise of ${quotas.join(', ')} is refused`,
    reply: {
      type: EVENT.quotaUntried,
      from: 'lock',
      namespace,
      cause: id,
      migrations: migrations.map(({ name, uid }) => ({ name, uid })),
      quotas,
      vmmrqs,
      ...(vmis === undefined ? {} : { vmis }),
    },
  };
}

/** Names what `raise` reads first, so that `raise` need not read the namespace for it. */
const lockedEvent = (namespace: string, { token, migrations, quotas, vmmrqs }: Lock): OurEvent => ({
  type: EVENT.namespaceLocked,
  from: 'lock',
  namespace,
  token,
  migrations: migrations.map(({ name, uid }) => ({ name, uid })),
  quotas: quotas.map(({ name }) => name),
  vmmrqs,
});

/**
 * Reports the refusal here, because the namespace, where a failed attempt is recorded, cannot be written. The guard's resync
 * tries again.
 */
async function refused(
  acquired: Lock,
  { namespace, error }: { readonly namespace: Namespace; readonly error: ApiError },
  context: StepContext,
): Promise<Outcome> {
  const message = refusalOf('the lock of the namespace', error);
  await writeEvents(context, reportsOfRefusal(acquired, namespace.metadata.name, message));
  return { reason: REASON.refusedByPolicy, message };
}

async function acquire(
  { namespace, lock: acquired, reason, message }: AcquireDecision,
  context: StepContext,
): Promise<Outcome | undefined> {
  try {
    await context.cluster.replace(NAMESPACES, namespace);
  } catch (error) {
    if (isRejected(error)) return refused(acquired, { namespace, error }, context);
    if (isConflict(error) || error instanceof Unreachable) return undefined;
    throw error;
  }
  return { reason, message, token: acquired.token, reply: lockedEvent(namespace.metadata.name, acquired) };
}
