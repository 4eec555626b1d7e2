import { pause } from '../runtime/clock.ts';
import type { StepRequest } from '../eventing/step-request.ts';
import type { ApiServers } from '../domain/api-servers.ts';
import { grantBy } from '../domain/quota/grant.ts';
import { isLockExpired, lockOf, LOCK_VERSION, type Lock } from '../domain/lock.ts';
import { ANNOTATION, EVENT, REASON } from '../domain/names.ts';
import type { Namespace, ResourceQuota } from '../domain/objects.ts';
import type { ProvenLock } from '../domain/proof.ts';
import { readApiServers } from '../cluster/api-servers.ts';
import { proveAtEach, type ProofResult } from '../cluster/proof.ts';
import type { Read } from '../kubernetes/cluster.ts';
import { NAMESPACES } from '../kubernetes/resources.ts';
import { getQuota } from '../cluster/quotas.ts';
import { ignoreNotFound } from '../kubernetes/errors.ts';
import type { Outcome, Step, StepContext } from '../host/step.ts';
import { decide, isRaisedAlready, type RaiseSnapshot } from './decide.ts';
import { dryRun } from './dry-run.ts';
import { endLock, type Ending } from './end-lock.ts';
import { readEach, readVmmrqs } from './read-vmmrqs.ts';
import { report } from './report.ts';
import { writeAll } from './write.ts';

/** Rounds after lost races, each from the quotas' GET; then the Broker retries. */
const ROUNDS = 5;

/** Raises the lock's quotas, only while the lock is held and proven; again where a recount undid the raise. Before a lock: by a dry run. */
export const raise: Step = {
  name: 'raise',
  triggers: [{ type: EVENT.namespaceLocked }, { type: EVENT.quotaUndone }, { type: EVENT.quotaUntried }],
  replies: [EVENT.quotaRaised, EVENT.migrationFeasible, EVENT.lockExpired],
  isSerialized: true,
  handle: (request, context) =>
    request.type === EVENT.quotaUntried ? dryRun(request, context) : handle(request, context),
};

async function handle(
  { namespace, token = '', type, ...request }: StepRequest,
  context: StepContext,
): Promise<Outcome> {
  const { clock, settings } = context;
  const servers: Servers = { hasWaitedForHidden: settings.SETTLE_MS === 0, unreachable: new Set() };
  let hint: Hint | undefined = request;
  for (let round = 1; round <= ROUNDS; round += 1) {
    // The names in an event are only a hint. Where they are missing or differ from the lock's, the lock is read.
    const names = isComplete(hint) ? hint : await readNames(namespace, token, context);
    if (names === undefined) return NOT_OURS;
    if (names === 'late') return late({ namespace, token });
    const isAgain = type === EVENT.quotaUndone;
    const outcome = await attempt({ namespace, token, names, servers, isAgain }, context);
    if (typeof outcome === 'object') return outcome;
    if (outcome === 'settle') {
      await pause(clock, settings.SETTLE_MS);
      servers.hasWaitedForHidden = true;
    } else hint = undefined;
  }
  throw new Error(`the quotas of namespace ${namespace} changed during each attempt to raise them`);
}

/**
 * Why to read the quotas again. again: a conflict, or the event named other quotas than the lock. settle: a hidden API server
 * may not know the lock yet, so wait SETTLE_MS first.
 */
type Retry = 'again' | 'settle';

/** What one run knows about the API servers. */
interface Servers {
  /** SETTLE_MS has passed, or is 0. */
  hasWaitedForHidden: boolean;
  /** Addresses that a process outside the cluster cannot reach. They count as hidden servers. */
  readonly unreachable: Set<string>;
}

type Hint = Pick<StepRequest, 'quotas' | 'vmmrqs'>;
type Names = Required<Hint>;

/**
 * Each name in an event costs a request, and any client may post one: with more quotas or VMMRQs than most locks have, the lock
 * is read first.
 */
const MAX_HINTS = 4;

const isComplete = (hint: Hint | undefined): hint is Names =>
  [hint?.quotas, hint?.vmmrqs].every(
    (names) => names !== undefined && names.length > 0 && names.length <= MAX_HINTS,
  );

const NOT_OURS: Outcome = { reason: REASON.notOurLock, message: 'the namespace is not locked by this token' };

async function readNames(
  namespace: string,
  token: string,
  { cluster }: StepContext,
): Promise<Names | 'late' | undefined> {
  const lock = heldBy(token, await ignoreNotFound(cluster.get(NAMESPACES, { name: namespace })));
  if (typeof lock !== 'object') return lock;
  return { quotas: lock.quotas.map(({ name }) => name), vmmrqs: lock.vmmrqs };
}

const isHeld = async ({ namespace, token }: About, context: StepContext): Promise<boolean> =>
  typeof (await readNames(namespace, token, context)) === 'object';

/** The live lock of this token and of this version; late: it is past its time. */
function heldBy(token: string, read: Read<Namespace> | undefined): Lock | 'late' | undefined {
  const state = read && lockOf(read.object);
  if (read === undefined || state?.kind !== 'held') return undefined;
  const { lock } = state;
  if (lock.token !== token || lock.v !== LOCK_VERSION) return undefined;
  return isLockExpired(lock, read.date.getTime()) ? 'late' : lock;
}

type About = Pick<RaiseRequest, 'namespace' | 'token'>;

interface RaiseRequest {
  readonly namespace: string;
  readonly token: string;
  readonly names: Names;
}

interface RaiseAttempt extends RaiseRequest {
  readonly servers: Servers;
  /** The event says that a raise of this token was undone. */
  readonly isAgain: boolean;
}

async function attempt(raiseAttempt: RaiseAttempt, context: StepContext): Promise<Outcome | Retry> {
  const { namespace, token, names } = raiseAttempt;
  const gathered = await gather(raiseAttempt, context);
  if (typeof gathered === 'string' || 'reason' in gathered) return gathered;
  const about = { namespace, token };
  const decision = decide(gathered);
  if (decision.kind === 'end') return end({ ...about, ...decision }, context);
  const written = await writeAll(decision.writes, gathered, {
    cluster: context.cluster,
    isHeld: () => isHeld(about, context),
  });
  if (written.kind === 'refused') {
    const [{ message }] = written.refused;
    return end({ ...about, reason: REASON.refusedByPolicy, message, refused: written.refused }, context);
  }
  if (written.kind === 'again') return 'again';
  context.inBackground(() => report(gathered, written.quotas, context));
  return {
    reason: decision.reason,
    message: decision.message,
    migrations: gathered.lock.migrations.map(({ name }) => name),
    reply: { type: EVENT.quotaRaised, from: 'raise', namespace, token, quotas: names.quotas },
  };
}

/** Reads by the writers' rule: the quotas and VMMRQs first, then the proof, or the lock that was proven before. */
async function gather(
  raiseAttempt: RaiseAttempt,
  context: StepContext,
): Promise<RaiseSnapshot | Outcome | Retry> {
  const { namespace, token, names, servers, isAgain } = raiseAttempt;
  const { cluster, settings } = context;
  const asked = context.view(namespace);
  const [quotas, vmmrqs, apiServers] = await Promise.all([
    readEach(names.quotas, (name) => getQuota(cluster, { namespace, name })),
    readVmmrqs(namespace, names.vmmrqs, context),
    isAgain ? undefined : readServers(servers, context),
  ]);
  if (isRaisedAlready(quotas, token)) return raisedAlready({ namespace, token, names });
  const proven =
    (await provenBefore(quotas, raiseAttempt, context)) ?? (await prove(raiseAttempt, apiServers, context));
  if (typeof proven === 'string' || 'reason' in proven) return proven;
  const { lock, now } = proven;
  const known = new Map(quotas.map((quota) => [quota.metadata.name, quota]));
  // Any client may post an event: it must name every quota of the lock, and exactly the lock's VMMRQs.
  if (!lock.quotas.every(({ name }) => names.quotas.includes(name))) return 'again';
  if (!isSameSet(names.vmmrqs, lock.vmmrqs)) return 'again';
  const own = lock.quotas.flatMap(({ name, uid }): ResourceQuota[] => {
    const quota = known.get(name);
    return quota?.metadata.uid === uid ? [quota] : [];
  });
  const { KUBEVIRT_NAMESPACE: kubevirtNamespace } = settings;
  const slotless = (await asked)?.open.slotless;
  const clock = context.clock.now().getTime();
  return { namespace, token, quotas: own, vmmrqs, lock, kubevirtNamespace, slotless, now, clock };
}

/**
 * The live lock, where a quota has a grant of its token: only a proof of the token can have led to that. As after a conflict, the proof is
 * valid while the token holds the namespace, which is read after the quotas. undefined: it takes a proof.
 */
async function provenBefore(
  quotas: readonly ResourceQuota[],
  { isAgain, ...about }: About & Pick<RaiseAttempt, 'isAgain'>,
  context: StepContext,
): Promise<Pick<RaiseSnapshot, 'lock' | 'now'> | undefined> {
  if (!isAgain || !quotas.some((quota) => grantBy(quota, about.token) !== undefined)) return undefined;
  return readLock(about, context, { needsView: true });
}

const readServers = (
  { unreachable, hasWaitedForHidden }: Servers,
  context: StepContext,
): Promise<ApiServers | string> => readApiServers(context, { unreachable, needsLeases: !hasWaitedForHidden });

/** Returns the proven live lock. Without a proof, ends the lock or asks for a retry. `known`: the API servers, where they are read already. */
async function prove(
  { namespace, token, servers }: About & Pick<RaiseAttempt, 'servers'>,
  known: ApiServers | string | undefined,
  context: StepContext,
): Promise<Pick<RaiseSnapshot, 'lock' | 'now'> | Outcome | Retry> {
  const about = { namespace, token };
  const noProof = (message: string): Promise<Outcome | Retry> =>
    end({ ...about, reason: REASON.noProof, message }, context);
  const apiServers = known ?? (await readServers(servers, context));
  if (typeof apiServers === 'string') return noProof(apiServers);
  if (apiServers.mayHide && !servers.hasWaitedForHidden) return 'settle';
  const proof = await proveAtEach(context, apiServers, { ...about, isHeld: () => isHeld(about, context) });
  if (!proof.proven) {
    // A pod can reach every API server. A process outside the cluster may not.
    if (context.settings.KUBECONFIG === undefined || proof.unreachable === undefined)
      return noProof(proof.reason);
    for (const address of proof.unreachable) servers.unreachable.add(address);
    return 'settle';
  }
  const lock = await lockOfProof(proof, about, context);
  if (lock === undefined) return end({ ...about, ...LATE }, context);
  return { lock, now: proof.now };
}

const isSameSet = (one: readonly string[], other: readonly string[]): boolean =>
  one.every((name) => other.includes(name)) && other.every((name) => one.includes(name));

const end = async (ending: Ending, context: StepContext): Promise<Outcome | Retry> =>
  (await endLock(ending, context)) ?? 'again';

const LATE = { reason: REASON.lockExpired, message: 'the lock has expired' };

/** Replies that the lock has expired: otherwise the namespace would stay frozen until the guard asks. */
const late = (about: About): Outcome => ({
  ...LATE,
  reply: { ...about, ...LATE, type: EVENT.lockExpired, from: 'raise' },
});

/** Needs no proof: a guard that is absent now must not undo a proven raise. */
const raisedAlready = ({ namespace, token, names }: RaiseRequest): Outcome => ({
  reason: REASON.raised,
  message: 'every quota of the lock is raised already',
  reply: { type: EVENT.quotaRaised, from: 'raise', namespace, token, quotas: names.quotas },
});

/**
 * The guard's refusal carries the lock. A policy's refusal comes from a cache: then the namespace shows the lock, and the
 * guard's view shows whether the incumbent is there. undefined: the lock is over.
 */
async function lockOfProof(
  proof: Extract<ProofResult, { proven: true }>,
  about: About,
  context: StepContext,
): Promise<ProvenLock | undefined> {
  if (proof.lock !== undefined) return proof.lock;
  return (await readLock(about, context, { needsView: false }))?.lock;
}

/** The live lock by the namespace, and by the guard's view whether the incumbent is there. undefined: it is over, or the guard is silent. */
async function readLock(
  { namespace, token }: About,
  { cluster, view: viewOf }: StepContext,
  { needsView }: { readonly needsView: boolean },
): Promise<Pick<RaiseSnapshot, 'lock' | 'now'> | undefined> {
  const [read, view] = await Promise.all([
    ignoreNotFound(cluster.get(NAMESPACES, { name: namespace })),
    viewOf(namespace),
  ]);
  const lock = heldBy(token, read);
  if (read === undefined || typeof lock !== 'object' || (needsView && view === undefined)) return undefined;
  const { labels = {}, annotations } = read.object.metadata;
  const isSkipped = annotations?.[ANNOTATION.skip] === 'true';
  const incumbent = view?.incumbent;
  const stated = {
    ...(isSkipped ? { skip: true as const } : {}),
    ...(incumbent === undefined ? {} : { incumbent }),
  };
  return { lock: { ...lock, labels, ...stated }, now: read.date.getTime() };
}
