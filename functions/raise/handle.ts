import { pause } from '../runtime/clock.ts';
import type { Wake } from '../eventing/wake.ts';
import { liveLock, LOCK_VERSION } from '../domain/lock.ts';
import { ANNOTATION, EVENT, REASON } from '../domain/names.ts';
import type { ResourceQuota, Vmmrq } from '../domain/objects.ts';
import type { ProvenLock } from '../domain/proof.ts';
import { proveInTime, type Proof } from '../cluster/proof.ts';
import { NAMESPACES, RESOURCE_QUOTAS, VMMRQS } from '../kubernetes/resources.ts';
import { orGone } from '../cluster/snapshot.ts';
import type { Outcome, Step, Tools } from '../host/step.ts';
import { decide, isRaisedAlready, type RaiseSnapshot } from './decide.ts';
import { endLock } from './end-lock.ts';
import { writeAll } from './write.ts';

/** Lost races are run again from the quotas' GET this often; then the Broker tries again. */
const ROUNDS = 5;

/** Raises the lock's quotas, only while the lock is held and proven; again where a recount undid that. */
export const raise: Step = {
  name: 'raise',
  wakesOn: [{ type: EVENT.namespaceLocked }, { type: EVENT.quotaUndone }],
  replies: [EVENT.quotaRaised, EVENT.lockExpired],
  inTurn: true,
  handle,
};

async function handle({ namespace, token = '', ...wake }: Wake, tools: Tools): Promise<Outcome> {
  if (tools.settings.SETTLE_MS > 0) await pause(tools.clock, tools.settings.SETTLE_MS);
  let hint: Hint | undefined = wake;
  for (let round = 1; round <= ROUNDS; round += 1) {
    // What an event names is only a hint: where it names nothing, or something else than the lock does, the lock is asked.
    const names: Names | undefined = isComplete(hint) ? hint : await readNames(namespace, token, tools);
    if (names === undefined) return NOT_OURS;
    const outcome = await attempt({ namespace, token, names }, tools);
    if (outcome !== undefined) return outcome;
    hint = undefined;
  }
  throw new Error(`the quotas of ${namespace} kept changing while they were to be raised`);
}

type Hint = Pick<Wake, 'quotas' | 'vmmrqs'>;
type Names = Required<Hint>;

const isComplete = (hint: Hint | undefined): hint is Names =>
  hint?.quotas !== undefined && hint.quotas.length > 0 && hint.vmmrqs !== undefined && hint.vmmrqs.length > 0;

const NOT_OURS: Outcome = { reason: REASON.notOurLock, message: 'the namespace is not locked by this token' };

async function readNames(namespace: string, token: string, { cluster }: Tools): Promise<Names | undefined> {
  const read = await orGone(cluster.get(NAMESPACES, { name: namespace }));
  const lock = read === undefined ? undefined : liveLock(read.object, read.date.getTime());
  if (lock?.token !== token || lock.v !== LOCK_VERSION) return undefined;
  return { quotas: lock.quotas.map(({ name }) => name), vmmrqs: lock.vmmrqs };
}

interface Subject {
  readonly namespace: string;
  readonly token: string;
  readonly names: Names;
}

/** undefined: somebody else wrote first, or the event named other quotas than the lock: start again at the quotas. */
async function attempt({ namespace, token, names }: Subject, tools: Tools): Promise<Outcome | undefined> {
  const { cluster, settings } = tools;
  const [quotas, vmmrqs] = await Promise.all([
    readEach(names.quotas, (name) => cluster.get(RESOURCE_QUOTAS, { namespace, name })),
    readVmmrqs(namespace, names.vmmrqs, tools),
  ]);
  if (isRaisedAlready(quotas, token)) return raisedAlready({ namespace, token, names });
  const proof = await proveInTime(tools, namespace, token);
  const why = { namespace, token };
  if (!proof.proven) return endLock({ ...why, reason: REASON.noProof, message: proof.why }, tools);
  const lock = await lockOfProof(proof, why, tools);
  if (lock === undefined) return endLock({ ...why, reason: REASON.lockExpired, message: LATE }, tools);
  const known = new Map(quotas.map((quota) => [quota.metadata.name, quota]));
  if (!lock.quotas.every(({ name }) => names.quotas.includes(name))) return undefined;
  const own = lock.quotas.flatMap(({ name, uid }): ResourceQuota[] => {
    const quota = known.get(name);
    return quota?.metadata.uid === uid ? [quota] : [];
  });
  const { KUBEVIRT_NAMESPACE: kubevirtNamespace } = settings;
  const snapshot: RaiseSnapshot = {
    ...{ namespace, token, quotas: own, vmmrqs, lock, kubevirtNamespace },
    now: proof.now,
  };
  const decision = decide(snapshot);
  if (decision.kind === 'end') return endLock({ ...why, ...decision }, tools);
  const written = await writeAll(decision.writes, snapshot, tools);
  if (written.kind === 'refused') {
    return endLock({ ...why, reason: REASON.refusedByPolicy, message: written.why }, tools);
  }
  if (written.kind === 'again') return undefined;
  return {
    reason: decision.reason,
    message: decision.message,
    migrations: lock.migrations.map(({ name }) => name),
    reply: { type: EVENT.quotaRaised, from: 'raise', namespace, token, quotas: names.quotas },
  };
}

const LATE = 'the lock is past its time';

/** A guard that is away just now must not undo what is raised and proven. */
const raisedAlready = ({ namespace, token, names }: Subject): Outcome => ({
  reason: REASON.raised,
  message: 'every quota of the lock is raised already',
  reply: { type: EVENT.quotaRaised, from: 'raise', namespace, token, quotas: names.quotas },
});

/** The guard's refusal carries the lock; a policy's comes from a cache: then the namespace says it. undefined: it is over. */
async function lockOfProof(
  proof: Extract<Proof, { proven: true }>,
  { namespace, token }: Pick<Subject, 'namespace' | 'token'>,
  { cluster }: Tools,
): Promise<ProvenLock | undefined> {
  if (proof.lock !== undefined) return proof.lock;
  const read = await orGone(cluster.get(NAMESPACES, { name: namespace }));
  const lock = read === undefined ? undefined : liveLock(read.object, read.date.getTime());
  if (lock?.token !== token || lock.v !== LOCK_VERSION) return undefined;
  const isSkipped = read?.object.metadata.annotations?.[ANNOTATION.skip] === 'true';
  return { ...lock, ...(isSkipped ? { skip: true } : {}) };
}

/** As many are read one by one, all at once: a list waits for the API server's cache, a GET never does. */
const FEW = 3;

/** What those that the lock names give by now; where they are many, or it names none, all of the namespace's. */
async function readVmmrqs(
  namespace: string,
  names: readonly string[],
  { cluster }: Tools,
): Promise<readonly Vmmrq[]> {
  if (names.length === 0 || names.length > FEW) return (await cluster.list(VMMRQS, { namespace })).items;
  return readEach(names, (name) => cluster.get(VMMRQS, { namespace, name }));
}

async function readEach<T>(
  names: readonly string[],
  read: (name: string) => Promise<{ readonly object: T }>,
): Promise<T[]> {
  const found = await Promise.all(names.map((name) => orGone(read(name))));
  return found.flatMap((each) => (each === undefined ? [] : [each.object]));
}
