import type { Wake } from '../eventing/wake.ts';
import { lockOf, migrationsOf, type LockState } from '../domain/lock.ts';
import { gotThrough } from '../domain/migration.ts';
import { EVENT, REASON } from '../domain/names.ts';
import type { KubernetesEvent, Pod } from '../domain/objects.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import {
  ApiError,
  describeError,
  isConflict,
  isNotFound,
  TooMuch,
  Unreachable,
} from '../kubernetes/errors.ts';
import { LISTED_MIGRATIONS, LISTED_STATES_OF_PODS } from '../cluster/listed.ts';
import { NAMESPACES, RESOURCE_QUOTAS, VMMRQS } from '../kubernetes/resources.ts';
import { NOT_READ, orGone, orNothing, readRefusals, readTargets, type Listed } from '../cluster/snapshot.ts';
import type { Outcome, Step, Tools } from '../host/step.ts';
import { decide, type Unlock, type UnlockSnapshot } from './decide.ts';
import { report } from './report.ts';

/** Others may label or annotate a namespace at any time: lost races are run again this often, then by the Broker. */
const ROUNDS = 5;

/** Frees the namespace when the API server really enforces the originals again, and records the attempt. */
export const unlock: Step = {
  name: 'unlock',
  wakesOn: [{ type: EVENT.quotaLowered }],
  replies: [],
  inTurn: true,
  handle,
};

async function handle(wake: Wake, tools: Tools): Promise<Outcome> {
  for (let round = 1; round <= ROUNDS; round += 1) {
    const outcome = await attempt(wake, tools);
    if (outcome !== undefined) return outcome;
  }
  throw new Error(`namespace ${wake.namespace} kept changing while it was to be unlocked`);
}

/** undefined: somebody else wrote to the namespace first (perhaps another unlock): look again. */
async function attempt(wake: Wake, tools: Tools): Promise<Outcome | undefined> {
  const snapshot = await gather(wake, tools);
  if (snapshot === undefined) return NOT_OURS;
  const decision = decide(snapshot);
  const { kind, reason, message } = decision;
  if (kind === 'leave') return { reason, message };
  // Not an answer of 204: nothing else would wake us before the watchdog does.
  if (kind === 'notYet') throw new Error(message);
  try {
    await tools.cluster.replace(NAMESPACES, decision.namespace);
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return undefined;
    throw error;
  }
  tools.afterwards(() => tellNext(decision, tools));
  tools.afterwards(() => report(decision, tools));
  const migrations = decision.lock?.migrations.map(({ name }) => name) ?? [];
  return { reason, message, migrations };
}

const NOT_OURS: Outcome = { reason: REASON.notOurLock, message: 'the namespace is not locked by this token' };

/**
 * The namespace first: what is read after it can only be newer than the precondition of the write. undefined after the
 * one read that shows there is nothing to do.
 */
async function gather(wake: Wake, tools: Tools): Promise<UnlockSnapshot | undefined> {
  const { cluster, log } = tools;
  const name = wake.namespace;
  const namespace = await orGone(cluster.get(NAMESPACES, { name }));
  if (namespace === undefined) return undefined;
  const state = lockOf(namespace.object);
  if (!isHeld(state, wake.token)) return undefined;
  const where = { namespace: name };
  const [quotas, pods] = await Promise.all([
    cluster.list(RESOURCE_QUOTAS, where),
    readPods(name, state, tools),
  ]);
  // Only for how it failed.
  const [migrations, vmmrqs, refusals] = isSuccess(state, pods.items)
    ? [NOT_READ, NOT_READ, []]
    : await Promise.all([
        orNothing(cluster.list(LISTED_MIGRATIONS, where), log),
        orNothing(cluster.list(VMMRQS, where), log),
        refusalsTold(cluster, name),
      ]);
  // The newest: a process that stood still between its reads must not record less than the lock really lasted (I7).
  const dates = [namespace, quotas, pods, migrations, vmmrqs].map(({ date }) => date?.getTime() ?? 0);
  return {
    now: Math.max(...dates),
    namespace: namespace.object,
    quotas: quotas.items,
    migrations: migrations.items,
    pods: pods.items,
    vmmrqs: vmmrqs.items,
    refusals,
    token: wake.token,
  };
}

/** Every pod; where there are too many to look for strangers, those that say whether the lock's migrations got through. */
async function readPods(namespace: string, state: LockState, { cluster, log }: Tools): Promise<Listed<Pod>> {
  const all = await orNothing(cluster.list(LISTED_STATES_OF_PODS, { namespace }), log);
  if (all !== NOT_READ) return all;
  return orNothing(readTargets(cluster, namespace, migrationsOf(state)), log);
}

/** undefined: nobody can say. Events may be kept in a store of their own; a namespace is not left locked for them. */
async function refusalsTold(cluster: Cluster, namespace: string): Promise<KubernetesEvent[] | undefined> {
  try {
    return await readRefusals(cluster, namespace);
  } catch (error) {
    if ([ApiError, Unreachable, TooMuch].some((kind) => error instanceof kind)) return undefined;
    throw error;
  }
}

const isSuccess = (state: LockState, pods: readonly Pod[]): boolean =>
  state.kind === 'held' && gotThrough(state.lock.migrations, pods);

/** By this token, where the event names one; or there is a lock that cannot be read. */
const isHeld = (state: LockState, token: string | undefined): boolean =>
  state.kind === 'held' ? token === undefined || state.lock.token === token : state.kind === 'malformed';

/** Posted fresh: a chain of replies would die of its TTL. When it is lost, the watchdog's sweep says the same. */
async function tellNext({ lock, namespace }: Unlock, { post, log }: Tools): Promise<void> {
  const name = namespace.metadata.name;
  const token = lock === undefined ? { cause: namespace.metadata.resourceVersion } : { token: lock.token };
  try {
    await post({ type: EVENT.namespaceUnlocked, from: 'unlock', namespace: name, ...token });
  } catch (error) {
    log('warn', `namespace.unlocked was not posted: ${describeError(error)}`, { namespace: name });
  }
}
