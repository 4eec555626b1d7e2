import { tryRaise, type TriedRaise } from '../cluster/try-raise.ts';
import { recordIn } from '../domain/incumbent.ts';
import { lockOf, MAX_LOCKED } from '../domain/lock.ts';
import { EVENT, isReserved, REASON } from '../domain/names.ts';
import type { Namespace, Vmmrq } from '../domain/objects.ts';
import { inForce } from '../domain/policy/policy.ts';
import { withRefusals, type RaiseRefusal } from '../domain/verdict/raise-refusal.ts';
import type { StepRequest } from '../eventing/step-request.ts';
import type { Outcome, StepContext } from '../host/step.ts';
import { untilResolved } from '../kubernetes/attempts.ts';
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
export const dryRun = (request: StepRequest, context: StepContext): Promise<Outcome> =>
  untilResolved(
    ROUNDS,
    () => attempt(request, context),
    `namespace ${request.namespace} changed during each dry run of a raise`,
  );

/** undefined: another writer was first. */
async function attempt(request: StepRequest, context: StepContext): Promise<Outcome | undefined> {
  const { cluster } = context;
  const asked = context.view(request.namespace);
  const read = await ignoreNotFound(cluster.get(NAMESPACES, { name: request.namespace }));
  if (read === undefined || !mayRaiseIn(read.object, context)) return NOTHING;
  const known = await readVmmrqs(request.namespace, (request.vmmrqs ?? []).slice(0, MAX_LOCKED), context);
  const view = await asked;
  const incumbent = view?.incumbent ?? recordIn(known);
  if (incumbent !== undefined) return { reason: REASON.incumbentPresent, message: incumbent };
  const tried = await tryRaises(request, { ...read, known }, context);
  const shown = whatIsShown(tried, read);
  // Where the guard does not answer, the incumbent may be there: the next resync tries again.
  if (shown.isNews && view === undefined) return unrecorded(shown.refused);
  return conclude(request, shown, cluster);
}

/** Records what is news. undefined: another writer was first. */
async function conclude(request: StepRequest, shown: Shown, cluster: Cluster): Promise<Outcome | undefined> {
  const written = shown.isNews ? await record(shown.next, cluster) : 'done';
  if (written === 'again') return undefined;
  return written === 'done'
    ? outcomeOf(request, shown)
    : { reason: REASON.refusedByPolicy, message: written };
}

interface Shown extends Result {
  /** The namespace with what the dry runs have shown. */
  readonly next: Namespace;
}

function whatIsShown(tried: readonly TriedRaise[], { object, date }: Read<Namespace>): Shown {
  const refused = tried.flatMap(({ quota, message }): RaiseRefusal[] =>
    message === undefined ? [] : [{ quota, message }],
  );
  const passed = tried.flatMap(({ quota, message }) => (message === undefined ? quota.metadata.name : []));
  const next = withRefusals(object, { tried: tried.map(({ quota }) => quota), refused }, date.getTime());
  return { passed, refused, next, isNews: next !== object };
}

/** Whether a raise is possible here. Any client may post the event; and with a lock the raise itself shows whether it is refused. */
const mayRaiseIn = (namespace: Namespace, { settings }: StepContext): boolean =>
  !isReserved({ namespace: namespace.metadata.name, kubevirtNamespace: settings.KUBEVIRT_NAMESPACE }) &&
  lockOf(namespace).kind === 'none';

/** Tries them one after another, because a quota may be large. */
async function tryRaises(
  { namespace, quotas: names = [] }: StepRequest,
  { object, date, known }: Read<Namespace> & { readonly known: readonly Vmmrq[] },
  context: StepContext,
): Promise<TriedRaise[]> {
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

const unrecorded = ([first]: readonly RaiseRefusal[]): Outcome => ({
  reason: first === undefined ? REASON.dryRunFirst : REASON.refusedByPolicy,
  message: `the guard did not answer, so nothing is recorded: ${first?.message ?? 'no raise is refused any more'}`,
});

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
  { namespace, id, migrations, vmis, quotas = [] }: StepRequest,
  { passed, refused, isNews }: Result,
): Outcome {
  const [first] = refused;
  const said =
    first === undefined
      ? { reason: REASON.dryRunFirst, message: `a dry run raised ${passed.join(', ') || 'nothing'}` }
      : { reason: REASON.refusedByPolicy, message: first.message };
  if (passed.length === 0 && !isNews) return said;
  const refusing = new Set(refused.map(({ quota }) => quota.metadata.name));
  return {
    ...said,
    reply: {
      type: EVENT.migrationFeasible,
      from: 'raise',
      namespace,
      cause: id,
      ...(migrations === undefined ? {} : { migrations }),
      // Also one with nothing to raise: it may be gone, and `lock` would ask for it again.
      quotas: quotas.filter((name) => !refusing.has(name)),
      ...(vmis === undefined ? {} : { vmis }),
    },
  };
}
