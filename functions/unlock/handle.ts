import type { StepRequest } from '../eventing/step-request.ts';
import { lockOf, LOCK_VERSION, type Lock } from '../domain/lock.ts';
import { EVENT, LOCK_OUTCOME, REASON } from '../domain/names.ts';
import type { Pod, ResourceQuota } from '../domain/objects.ts';
import { untilResolved } from '../kubernetes/attempts.ts';
import { describeError, ignoreNotFound, isConflict, isNotFound } from '../kubernetes/errors.ts';
import { NAMESPACES } from '../kubernetes/resources.ts';
import { LISTED_QUOTAS, readLockQuotas } from '../cluster/quotas.ts';
import { readTargets } from '../cluster/snapshot.ts';
import type { Outcome, Step, StepContext } from '../host/step.ts';
import { bestOutcome, decide, type Unlock, type UnlockSnapshot } from './decide.ts';

/** Other clients may write to a namespace at any time. Attempts after lost races; then the Broker retries. */
const ROUNDS = 5;

/** Unlocks the namespace when every quota of its lock is lowered, and records the attempt. */
export const unlock: Step = {
  name: 'unlock',
  triggers: [{ type: EVENT.quotaLowered }],
  replies: [EVENT.lockExpired],
  isSerialized: true,
  handle,
};

function handle(request: StepRequest, context: StepContext): Promise<Outcome> {
  return untilResolved(
    ROUNDS,
    () => attempt(request, context),
    `namespace ${request.namespace} changed during each attempt to unlock it`,
  );
}

/** Returns undefined if another writer was first (perhaps another unlock): the caller reads again. */
async function attempt(request: StepRequest, context: StepContext): Promise<Outcome | undefined> {
  const snapshot = await gather(request, context);
  if (snapshot === undefined) return NOT_OURS;
  const decision = decide(snapshot);
  const { kind, reason, message } = decision;
  switch (kind) {
    case 'leave':
      return { reason, message };
    case 'lowerFirst': {
      const { namespace } = request;
      const of =
        decision.token === undefined
          ? { cause: snapshot.namespace.metadata.resourceVersion }
          : { token: decision.token };
      return { reason, message, reply: { type: EVENT.lockExpired, from: 'unlock', namespace, ...of } };
    }
    case 'unlock':
      return write(decision, context);
  }
}

const NOT_OURS: Outcome = { reason: REASON.notOurLock, message: 'the namespace is not locked by this token' };

async function write(decision: Unlock, context: StepContext): Promise<Outcome | undefined> {
  try {
    await context.cluster.replace(NAMESPACES, decision.namespace);
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return undefined;
    throw error;
  }
  context.inBackground(() => postUnlocked(decision, context));
  const { reason, message, lock } = decision;
  return { reason, message, migrations: lock?.migrations.map(({ name }) => name) ?? [] };
}

/** Reads the namespace before its quotas. undefined: that one read shows that there is nothing to do. */
async function gather(request: StepRequest, context: StepContext): Promise<UnlockSnapshot | undefined> {
  const { cluster } = context;
  const name = request.namespace;
  const read = await ignoreNotFound(cluster.get(NAMESPACES, { name }));
  if (read === undefined) return undefined;
  const state = lockOf(read.object);
  if (state.kind === 'none') return undefined;
  if (state.kind === 'held' && request.token !== undefined && state.lock.token !== request.token)
    return undefined;
  const now = read.date.getTime();
  const { token } = request;
  // Only a lock of this version names its quotas.
  if (state.kind === 'malformed' || state.lock.v !== LOCK_VERSION) {
    const { items } = await cluster.list(LISTED_QUOTAS, { namespace: name });
    return { now, namespace: read.object, quotas: items, token };
  }
  const found = await readLockQuotas(name, state.lock.quotas, cluster);
  // The newest: a process that was suspended between its reads must not record less than the lock really lasted (I7).
  const newest = Math.max(now, ...found.map(({ date }) => date.getTime()));
  const quotas: ResourceQuota[] = found.map(({ object }) => object);
  const snapshot = { now: newest, namespace: read.object, quotas, token };
  if (bestOutcome(quotas, state.lock) !== LOCK_OUTCOME.charged) return snapshot;
  return { ...snapshot, targets: await targetsOf(state.lock, name, context) };
}

/** Returns undefined if the pods could not be listed. That must not keep the namespace locked. */
async function targetsOf(
  { migrations }: Lock,
  namespace: string,
  { cluster, log }: StepContext,
): Promise<Pod[] | undefined> {
  try {
    return (await readTargets(cluster, namespace, migrations)).items;
  } catch (error) {
    log('warn', `the pods of the lock were not listed: ${describeError(error)}`, { namespace });
    return undefined;
  }
}

/** Posts a new event: a chain of replies would exhaust its TTL. If the event is lost, the guard looks again. */
async function postUnlocked({ lock, namespace, outcome }: Unlock, { post, log }: StepContext): Promise<void> {
  const name = namespace.metadata.name;
  const of =
    lock === undefined
      ? { cause: namespace.metadata.resourceVersion }
      : { token: lock.token, migrations: lock.migrations.map(({ uid, name: of }) => ({ name: of, uid })) };
  const how = outcome === LOCK_OUTCOME.admitted ? { reason: REASON.admitted } : {};
  try {
    await post({ type: EVENT.namespaceUnlocked, from: 'unlock', namespace: name, ...of, ...how });
  } catch (error) {
    log('warn', `namespace.unlocked was not posted: ${describeError(error)}`, { namespace: name });
  }
}
