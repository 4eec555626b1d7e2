import { tryRaise, type TriedRaise } from '../cluster/try-raise.ts';
import { lockOf, MAX_LOCKED } from '../domain/lock.ts';
import { EVENT, isReserved, REASON } from '../domain/names.ts';
import type { Namespace } from '../domain/objects.ts';
import { inForce } from '../domain/policy/policy.ts';
import { withRefusals, type RaiseRefusal } from '../domain/verdict/raise-refusal.ts';
import type { StepRequest } from '../eventing/step-request.ts';
import type { Outcome, StepContext } from '../host/step.ts';
import type { Cluster, Read } from '../kubernetes/cluster.ts';
import { ignoreNotFound, isConflict, isNotFound, isRejected, refusalOf } from '../kubernetes/errors.ts';
import { NAMESPACES } from '../kubernetes/resources.ts';
import { readVmmrqs } from './read-vmmrqs.ts';

/** Attempts to record what the dry runs have shown; then the Broker retries. */
const ROUNDS = 3;

/**
 * Tries the raise of quotas by a dry run, before any lock, and records on the namespace which the API server refuses. The reply names
 * the others. An API server that cannot decide (a webhook does not answer) rejects: the Broker retries.
 */
export async function dryRun(request: StepRequest, context: StepContext): Promise<Outcome> {
  for (let round = 1; round <= ROUNDS; round += 1) {
    const outcome = await attempt(request, context);
    if (outcome !== undefined) return outcome;
  }
  throw new Error(`namespace ${request.namespace} changed during each dry run of a raise`);
}

/** undefined: another writer was first. */
async function attempt(request: StepRequest, context: StepContext): Promise<Outcome | undefined> {
  const { cluster } = context;
  const read = await ignoreNotFound(cluster.get(NAMESPACES, { name: request.namespace }));
  if (read === undefined || !mayRaiseIn(read.object, context)) return NOTHING;
  const tried = await tryRaises(request, read, context);
  const refused = tried.flatMap(({ quota, message }): RaiseRefusal[] =>
    message === undefined ? [] : [{ quota, message }],
  );
  const trials = { tried: tried.map(({ quota }) => quota), refused };
  const next = withRefusals(read.object, trials, read.date.getTime());
  const isNews = next !== read.object;
  const written = isNews ? await record(next, cluster) : 'done';
  if (written === 'again') return undefined;
  if (written !== 'done') return { reason: REASON.refusedByPolicy, message: written };
  const passed = tried.flatMap(({ quota, message }) => (message === undefined ? quota.metadata.name : []));
  return outcomeOf(request, { passed, refused, isNews });
}

/** Whether a raise is possible here. Any client may post the event; and with a lock the raise itself shows whether it is refused. */
const mayRaiseIn = (namespace: Namespace, { settings }: StepContext): boolean =>
  !isReserved({ namespace: namespace.metadata.name, kubevirtNamespace: settings.KUBEVIRT_NAMESPACE }) &&
  lockOf(namespace).kind === 'none';

/** Tries them one after another, because a quota may be large. */
async function tryRaises(
  { namespace, quotas: names = [], vmmrqs: givers = [] }: StepRequest,
  { object, date }: Read<Namespace>,
  context: StepContext,
): Promise<TriedRaise[]> {
  const known = await readVmmrqs(namespace, givers.slice(0, MAX_LOCKED), context);
  const order = { vmmrqs: inForce(known, object.metadata.labels), now: date.getTime() };
  const tried: TriedRaise[] = [];
  for (const name of new Set(names.slice(0, MAX_LOCKED))) {
    const result = await tryRaise(context.cluster, { namespace, name }, order);
    if (result !== undefined) tried.push(result);
  }
  return tried;
}

const NOTHING: Outcome = {
  reason: REASON.nothingBlocked,
  message: 'the namespace needs no dry run of a raise: it is locked, gone or not ours',
};

/** again: another writer was first. Any other text: the API server refuses the record too, so no lock would be possible. */
async function record(next: Namespace, cluster: Cluster): Promise<string> {
  try {
    await cluster.replace(NAMESPACES, next);
    return 'done';
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return 'again';
    if (!isRejected(error)) throw error;
    return refusalOf('a write to the namespace', error);
  }
}

interface Result {
  readonly passed: readonly string[];
  readonly refused: readonly RaiseRefusal[];
  readonly isNews: boolean;
}

/** Replies where `lock` has something to do: it locks for what passed, and reports a new refusal. */
function outcomeOf(
  { namespace, id, migrations, vmis }: StepRequest,
  { passed, refused, isNews }: Result,
): Outcome {
  const [first] = refused;
  const said =
    first === undefined
      ? { reason: REASON.dryRunFirst, message: `a dry run raised ${passed.join(', ') || 'nothing'}` }
      : { reason: REASON.refusedByPolicy, message: first.message };
  if (passed.length === 0 && !isNews) return said;
  return {
    ...said,
    reply: {
      type: EVENT.migrationFeasible,
      from: 'raise',
      namespace,
      cause: id,
      ...(migrations === undefined ? {} : { migrations }),
      quotas: passed,
      ...(vmis === undefined ? {} : { vmis }),
    },
  };
}
