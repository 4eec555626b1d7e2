import type { OurEvent } from '../domain/events.ts';
import { isUnfenced } from '../domain/lock.ts';
import { isInUse } from '../domain/quota/raise.ts';
import type { StepRequest } from '../eventing/step-request.ts';
import { EVENT, KIND, LOCK_OUTCOME, REASON, SOURCE_EVENT } from '../domain/names.ts';
import type { ResourceQuota } from '../domain/objects.ts';
import { ApiError, describeError } from '../kubernetes/errors.ts';
import { readFenceToken } from '../cluster/fence-token.ts';
import { nudge } from '../cluster/nudge.ts';
import type { Outcome, Step, StepContext } from '../host/step.ts';
import { decide, nudgeValue } from './decide.ts';
import {
  decideSeen,
  grantShownBy,
  isForAttachment,
  missingIn,
  nextToGo,
  type SeenDecision,
  type SeenSnapshot,
} from './decide-seen.ts';
import { canSkip } from './can-skip.ts';
import { readLocked, readSeen, readStoredTargets } from './read.ts';
import { report } from './report.ts';
import { mayBeOfLaterLock, writeBack, type LowerTask, type Lowering } from './write.ts';

const STILL_WAITING: Outcome = {
  reason: REASON.stillWaiting,
  message: 'the event itself shows that there is nothing to lower',
};
const NOT_LOCKED: Outcome = { reason: REASON.notOurLock, message: 'the namespace is not locked' };
/** Rounds after lost races, each with a new decision; then the Broker retries. */
const ROUNDS = 5;

/** Lowers the quotas once every migration of the lock is settled, the raise had no effect, or the lock is over. */
export const lower: Step = {
  name: 'lower',
  triggers: [
    { type: SOURCE_EVENT.add, kind: KIND.quota.kind },
    { type: SOURCE_EVENT.update, kind: KIND.quota.kind },
    { type: SOURCE_EVENT.delete, kind: KIND.migration.kind },
    { type: EVENT.quotaRaised },
    { type: EVENT.lockStalled },
    { type: EVENT.lockExpired },
    { type: EVENT.migrationEnded },
  ],
  skipOutcome: (request) => (canSkip(request) ? STILL_WAITING : undefined),
  replies: [EVENT.quotaLowered, EVENT.quotaUndone],
  isSerialized: true,
  handle,
};

async function handle(request: StepRequest, context: StepContext): Promise<Outcome> {
  // Two runs that write at the same time may each win one quota, and then neither finds any: a run that wrote says so.
  let written: Outcome | undefined;
  for (let round = 1; round <= ROUNDS; round += 1) {
    const outcome = (await attemptFromQuotas(request, context)) ?? (await attemptFromLock(request, context));
    if (!('lostRace' in outcome))
      return outcome.reply === undefined && written !== undefined ? written : outcome;
    written ??= outcome.written;
  }
  throw new Error(`the quotas of namespace ${request.namespace} changed during each attempt to lower them`);
}

interface LostRace {
  readonly lostRace: true;
  /** What this round has lowered before. */
  readonly written: Outcome | undefined;
}

/** Decides by the raised quotas alone; undefined: only the namespace's lock shows enough. */
async function attemptFromQuotas(
  request: StepRequest,
  context: StepContext,
): Promise<Outcome | LostRace | undefined> {
  const seen = await readSeen(request, context);
  if (seen === undefined || seen === 'over') return seen === 'over' ? NOT_LOCKED : undefined;
  const decision = await decided(seen, request, context);
  const { token } = seen.grant;
  const { namespace } = request;
  switch (decision.kind) {
    case 'lookFurther':
      return undefined;
    case 'wait':
      // Only a nudge makes virt-controller try an attachment pod again.
      if (seen.quotas.some(isForAttachment)) return undefined;
      await tryToNudge(seen, namespace, context);
      return { reason: decision.reason, message: decision.message };
    case 'undone': {
      const { reason, message, quota } = decision;
      const cause = quota.metadata.resourceVersion;
      const names = { quotas: seen.grant.quotas.map(({ name }) => name) };
      const vmmrqs = seen.grant.vmmrqs.map(({ name }) => name);
      const about = { namespace, token, ...names, vmmrqs };
      return { reason, message, reply: { type: EVENT.quotaUndone, from: 'lower', cause, ...about } };
    }
    case 'lower': {
      const target = { token, outcome: decision.outcome, lock: undefined };
      const task = await taskFor(target, { namespace, quotas: seen.quotas }, context);
      return lowerAll(request, { ...seen, ...decision, task }, context);
    }
  }
}

/**
 * Decides by the stored pods where raised headroom is in use and the watch cache lacks one pod. A pod may be smaller than was
 * estimated, so that the quotas never count all that they were raised for. Where they do, the pods decide whether the lock was
 * for nothing. Where several are missing, each of them changes the quotas again.
 */
async function decided(
  seen: SeenSnapshot,
  { namespace }: StepRequest,
  context: StepContext,
): Promise<SeenDecision> {
  const decision = decideSeen(seen);
  const isCharged = decision.kind === 'lower' && decision.outcome === LOCK_OUTCOME.charged;
  const isUnseen = decision.kind === 'wait' && seen.quotas.some(isRaiseInUse) && missingIn(seen).length < 2;
  if (!(isCharged || isUnseen) || seen.quotas.some(isForAttachment)) return decision;
  const stored = await readStoredTargets(namespace, seen, context);
  return stored === undefined ? decision : decideSeen({ ...seen, targets: stored });
}

const isRaiseInUse = (quota: ResourceQuota): boolean => isInUse(quota, grantShownBy(quota) ?? { raised: {} });

/** A nudge that is refused, because its annotations are full or virt-api is away, costs the lock a second at most. */
async function tryToNudge(
  seen: SeenSnapshot,
  namespace: string,
  { cluster, log }: StepContext,
): Promise<void> {
  const next = nextToGo(seen);
  if (next === undefined) return;
  // The API server's clock has whole seconds: with each pod the value is another one, or the write would change nothing.
  const value = `${nudgeValue(seen.grant.token, seen.now)} ${missingIn(seen).length}`;
  try {
    await nudge(cluster, [{ metadata: { name: next.name, namespace } }], value);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    log('warn', `not nudged: ${describeError(error)}`, { namespace, migration: next.name });
  }
}

/** Decides by the namespace's lock, which is read before its quotas. */
async function attemptFromLock(request: StepRequest, context: StepContext): Promise<Outcome | LostRace> {
  const snapshot = await readLocked(request, context);
  if (snapshot === undefined) return NOT_LOCKED;
  const decision = decide(snapshot);
  const { reason, message } = decision;
  switch (decision.kind) {
    case 'leave':
    case 'wait':
      return { reason, message };
    case 'nudge':
      await nudge(context.cluster, decision.migrations, decision.value);
      return { reason, message };
    case 'lower': {
      const { token, outcome, lock } = decision;
      const read = { namespace: request.namespace, quotas: snapshot.quotas };
      const task = await taskFor({ token, outcome, lock }, read, context);
      return lowerAll(request, { ...snapshot, ...decision, task }, context);
    }
  }
}

/** Reads the namespace where a quota may be of a later lock. The version of each quota, read before, is its write's precondition. */
async function taskFor(
  target: Omit<LowerTask, 'isLockCurrent'>,
  { namespace, quotas }: { readonly namespace: string; readonly quotas: readonly ResourceQuota[] },
  { cluster }: StepContext,
): Promise<LowerTask> {
  const { token } = target;
  const isLockCurrent =
    !mayBeOfLaterLock(quotas, token) || (await readFenceToken(namespace, cluster)) === token;
  return { ...target, isLockCurrent };
}

async function lowerAll(
  request: StepRequest,
  lowering: Lowering,
  context: StepContext,
): Promise<Outcome | LostRace> {
  const { task, quotas, reason, message } = lowering;
  const written = await writeBack(quotas, task, context.cluster);
  if (written.quotas.length > 0 || isUnfenced(task.lock)) {
    context.inBackground(() => report({ ...lowering, quotas: written.quotas }, request.namespace, context));
  }
  const token = task.token === undefined ? {} : { token: task.token };
  const announced = { reason, message, ...token, reply: loweredEvent(request.namespace, lowering) };
  const hasWritten = task.token !== undefined && written.quotas.length > 0;
  if (written.lostRace) return { lostRace: true, written: hasWritten ? announced : undefined };
  // Without a lock there is nothing to unlock. Where the quotas were lowered already, their writer has replied. Only our own
  // events make `lower` repeat that reply.
  const isAnnounced = task.token === undefined || (written.quotas.length === 0 && request.kind !== undefined);
  return isAnnounced ? { reason, message, ...token } : announced;
}

const loweredEvent = (namespace: string, { task: { token }, reason, message }: Lowering): OurEvent => ({
  type: EVENT.quotaLowered,
  from: 'lower',
  namespace,
  reason,
  message,
  ...(token === undefined ? {} : { token }),
});
