import { pause } from '../runtime/clock.ts';
import type { OurEvent } from '../domain/events.ts';
import type { Wake } from '../eventing/wake.ts';
import { lockOf, type Lock } from '../domain/lock.ts';
import { EVENT, REASON } from '../domain/names.ts';
import type { ResourceQuota, Vmmrq } from '../domain/objects.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { isConflict, isNotFound, isRefused, type ApiError } from '../kubernetes/errors.ts';
import { proveInTime } from '../cluster/proof.ts';
import { NAMESPACES, RESOURCE_QUOTAS, VMMRQS } from '../kubernetes/resources.ts';
import { orGone, readLocked } from '../cluster/snapshot.ts';
import type { Outcome, Step, Tools } from '../host/step.ts';
import {
  decide,
  isRaisedAlready,
  type End,
  type Raise,
  type RaiseDecision,
  type RaiseSnapshot,
} from './decide.ts';
import { report } from './report.ts';

/** Lost races are run again from the quotas' GET this often; then the Broker tries again. */
const ROUNDS = 5;

/** Raises the lock's quotas, only while the lock is held and proven. */
export const raise: Step = {
  name: 'raise',
  wakesOn: [{ type: EVENT.namespaceLocked }],
  replies: [EVENT.quotaRaised, EVENT.lockExpired],
  inTurn: true,
  handle,
};

async function handle({ namespace, token = '' }: Wake, tools: Tools): Promise<Outcome> {
  const lock = await readLock(namespace, token, tools.cluster);
  if (lock === undefined) return NOT_OURS;
  if (tools.settings.SETTLE_MS > 0) await pause(tools.clock, tools.settings.SETTLE_MS);
  for (let round = 1; round <= ROUNDS; round += 1) {
    const found = await readQuotas(namespace, lock.quotas, tools.cluster);
    if (isRaisedAlready(found, token)) return raisedAlready(namespace, token);
    const snapshot = await gather({ namespace, lock, quotas: found }, tools);
    if (snapshot === undefined) return NOT_OURS;
    const outcome = await apply(decide(snapshot), snapshot, tools);
    if (outcome !== undefined) return outcome;
  }
  throw new Error(`the quotas of ${namespace} kept changing while they were to be raised`);
}

const NOT_OURS: Outcome = { reason: REASON.notOurLock, message: 'the namespace is not locked by this token' };

/** What the lock is about; undefined when it is not this token's any more. */
async function readLock(namespace: string, token: string, cluster: Cluster): Promise<Lock | undefined> {
  const read = await orGone(cluster.get(NAMESPACES, { name: namespace }));
  const state = read === undefined ? undefined : lockOf(read.object);
  return state?.kind === 'held' && state.lock.token === token ? state.lock : undefined;
}

/** A guard that is away just now must not undo what is raised and proven. */
const raisedAlready = (namespace: string, token: string): Outcome => ({
  reason: REASON.raised,
  message: 'every quota of the lock is raised already',
  reply: nextEvent(EVENT.quotaRaised, namespace, { token }),
});

interface Subject {
  readonly namespace: string;
  readonly lock: Lock;
  readonly quotas: readonly ResourceQuota[];
}

/** The writers' rule: the quotas came first; then the proof, the namespace last. */
async function gather(
  { namespace, lock, quotas }: Subject,
  { cluster, clock, settings }: Tools,
): Promise<RaiseSnapshot | undefined> {
  const { token } = lock;
  const [proof, vmmrqs, others] = await Promise.all([
    proveInTime({ cluster, clock }, namespace, token),
    readVmmrqs(cluster, namespace, lock),
    lock.places === undefined ? [] : readLocked(cluster, namespace),
  ]);
  const read = await orGone(cluster.get(NAMESPACES, { name: namespace }));
  if (read === undefined) return undefined;
  const now = read.date.getTime();
  const { KUBEVIRT_NAMESPACE: kubevirtNamespace } = settings;
  return {
    token,
    quotas,
    vmmrqs,
    others,
    proof,
    namespace: read.object,
    kubevirtNamespace,
    now,
  };
}

/** What those that the lock names give by now; all of the namespace's where it names none. */
async function readVmmrqs(
  cluster: Cluster,
  namespace: string,
  { vmmrqs: names }: Lock,
): Promise<readonly Vmmrq[]> {
  if (names === undefined) return (await cluster.list(VMMRQS, { namespace })).items;
  const reads = names.map((name) => orGone(cluster.get(VMMRQS, { namespace, name })));
  return (await Promise.all(reads)).flatMap((read) => read?.object ?? []);
}

/** By name and uid: a quota that was deleted or made anew is nothing of this lock's. */
async function readQuotas(
  namespace: string,
  quotas: Lock['quotas'],
  cluster: Cluster,
): Promise<ResourceQuota[]> {
  const reads = quotas.map(async ({ name, uid }) => {
    const read = await orGone(cluster.get(RESOURCE_QUOTAS, { namespace, name }));
    return read?.object.metadata.uid === uid ? [read.object] : [];
  });
  return (await Promise.all(reads)).flat();
}

/** undefined: somebody else wrote first, start again at the quotas. */
async function apply(
  decision: RaiseDecision,
  snapshot: RaiseSnapshot,
  tools: Tools,
): Promise<Outcome | undefined> {
  switch (decision.kind) {
    case 'leave':
      return { reason: decision.reason, message: decision.message };
    case 'end':
      return endLock(decision, tools);
    case 'raise':
      return write(decision, snapshot, tools);
  }
}

async function endLock(
  { namespace, lock, reason, message }: End,
  { cluster }: Tools,
): Promise<Outcome | undefined> {
  try {
    await cluster.replace(NAMESPACES, namespace);
  } catch (error) {
    if (isConflict(error)) return undefined;
    throw error;
  }
  const reply = nextEvent(EVENT.lockExpired, namespace.metadata.name, { token: lock.token, reason, message });
  return { reason, message, reply };
}

async function write(decision: Raise, snapshot: RaiseSnapshot, tools: Tools): Promise<Outcome | undefined> {
  const { lock, reason, message, writes } = decision;
  // Reported before the reply, beside the writes: a later step's report never comes before this one's.
  const reported = report(decision, snapshot, tools);
  const written = await Promise.allSettled(
    writes.map((quota) => tools.cluster.replace(RESOURCE_QUOTAS, quota)),
  );
  await reported;
  const failures = written.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as unknown] : [],
  );
  const [failure] = failures;
  if (failure === undefined) {
    const reply = nextEvent(EVENT.quotaRaised, snapshot.namespace.metadata.name, { token: lock.token });
    return { reason, message, reply, migrations: lock.migrations.map(({ name }) => name) };
  }
  if (failures.every((error) => isConflict(error) || isNotFound(error))) return undefined;
  const refusal = failures.find(isRefused);
  if (refusal !== undefined) return endLock(refusedEnd(refusal, decision, snapshot), tools);
  throw new Error('a quota was not raised for now', { cause: failure });
}

/** A policy refused the raise after all: end the lock, with the policy's own words. */
function refusedEnd(error: ApiError, { lock }: Raise, snapshot: RaiseSnapshot): End {
  const why = `a write to a ResourceQuota was refused: ${error.status.message ?? error.reason}`;
  const ended = decide({ ...snapshot, proof: { proven: false, why } });
  if (ended.kind !== 'end') throw error;
  return { ...ended, lock, reason: REASON.refusedByPolicy };
}

const nextEvent = (
  type: OurEvent['type'],
  namespace: string,
  more: Pick<OurEvent, 'token' | 'reason' | 'message'>,
): OurEvent => ({ type, from: 'raise', namespace, ...more });
