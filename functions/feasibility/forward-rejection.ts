import type { Reference } from '../domain/lock.ts';
import type { View } from '../domain/view.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import type { StepRequest } from '../eventing/step-request.ts';
import { byPriority, isFreshlyRejected, isRejectedByQuota } from '../domain/migration.ts';
import { EVENT, KIND, REASON, SOURCE_EVENT, type Reason } from '../domain/names.ts';
import { LISTED_VMMRQS } from '../cluster/listed.ts';
import type { Outcome, StepContext } from '../host/step.ts';
import { successIn } from './nothing-open.ts';

/** virt-controller reports one refusal by two updates at the same moment: the condition, and its Event's count (test/recorded). */
const DUPLICATE_MS = 1_000;
const DUPLICATE: Outcome = {
  reason: REASON.freshRefusal,
  message: 'the same refusal was handled a moment ago',
};

/** What the event says of a migration that can go on to `lock` at once. */
interface Candidate extends Reference {
  /** Names of its VMI, at most one. */
  readonly vmis?: readonly string[] | undefined;
  /** Each candidate goes on once for each key. */
  readonly key: string;
  readonly reason: Reason;
  readonly message: string;
}

/**
 * The migration that the guard has seen a migration slot for, the next one after a success, or the one that the event itself shows as refused
 * a moment ago.
 */
async function candidateOf(
  request: StepRequest,
  { view, clock }: StepContext,
): Promise<Candidate | undefined> {
  if (request.type === EVENT.resyncRequested) return awaited(request);
  const succeeded = successIn(request);
  return succeeded === undefined
    ? refused(request, clock.now().getTime())
    : nextAfter(succeeded, await view(request.namespace));
}

const awaited = ({ migrations: [migration] = [], vmis }: StepRequest): Candidate | undefined =>
  migration && slotFor(migration, vmis);

/** The next migration that waits with a slot, as the guard sees it. KubeVirt writes a success several times. */
function nextAfter(succeeded: string, view: View | undefined): Candidate | undefined {
  const waiting = (view?.migrations ?? []).filter(
    (each) => isRejectedByQuota(each) && view?.open.queued.includes(each.metadata.uid) !== true,
  );
  const [next] = waiting.toSorted(byPriority);
  if (next === undefined) return undefined;
  const { metadata, spec } = next;
  return {
    ...slotFor(metadata, spec.vmiName === undefined ? undefined : [spec.vmiName]),
    key: `after ${succeeded}`,
  };
}

const slotFor = ({ name, uid }: Reference, vmis: readonly string[] | undefined): Candidate => ({
  ...{ name, uid, vmis },
  key: `slot for ${uid}`,
  reason: REASON.slotFree,
  message: `KubeVirt has a migration slot for ${name}: lock decides`,
});

function refused({ type, eventObject }: StepRequest, now: number): Candidate | undefined {
  if (type !== SOURCE_EVENT.update || eventObject?.kind !== KIND.migration.kind) return undefined;
  const { name, uid } = eventObject.metadata;
  if (name === undefined || uid === undefined || !isFreshlyRejected(eventObject, now)) return undefined;
  const message = `a quota refused ${name} a moment ago: lock decides`;
  const { vmiName } = eventObject.spec ?? {};
  const vmis = vmiName === undefined ? undefined : [vmiName];
  return { name, uid, vmis, key: uid, reason: REASON.freshRefusal, message };
}

/**
 * Whether the namespace has a VMMRQ. The guard's view costs no request to the API server; without it a list from the watch
 * cache answers.
 */
async function isServed(namespace: string, view: View | undefined, cluster: Cluster): Promise<boolean> {
  if (view !== undefined) return view.served;
  const { items } = await cluster.list(LISTED_VMMRQS, { namespace }, { resourceVersion: '0' });
  return items.length > 0;
}

/**
 * Forwards a fresh refusal, or a migration whose turn has come, to `lock` at once, in a namespace that has a VMMRQ. `lock`
 * checks everything before it locks; if it declines, feasibility runs and reports why. Each migration is forwarded once, so a
 * migration that stays refused gets the full assessment (docs/adr/0026). A migration without a free slot waits without a
 * request until the guard has seen one. A wrong clock of this process is harmless: it costs a full assessment, or `lock`
 * declines. undefined: the event shows no such migration.
 */
export async function forwardRejection(
  request: StepRequest,
  context: StepContext,
): Promise<Outcome | undefined> {
  const { namespace, id } = request;
  const candidate = await candidateOf(request, context);
  if (candidate === undefined) return undefined;
  const { name, uid, vmis, key, reason, message } = candidate;
  const view = await context.view(namespace);
  if (view?.lock !== undefined) return LOCKED;
  if (view?.open.queued.includes(uid) === true) return queued(name);
  const isForwarded = await isServed(namespace, view, context.cluster);
  // After what can fail: the Broker's next delivery of this event must not count as a duplicate.
  const sinceMs = context.sinceFirst(key);
  if (sinceMs > 0) return sinceMs < DUPLICATE_MS ? DUPLICATE : undefined;
  if (!isForwarded) return undefined;
  return {
    reason,
    message,
    migrations: [name],
    reply: {
      type: EVENT.migrationFeasible,
      from: 'feasibility',
      namespace,
      migrations: [{ name, uid }],
      ...(vmis === undefined ? {} : { vmis }),
      cause: id,
    },
  };
}

/**
 * The guard sees a lock. When it sees that end, it posts an event for the migrations that wait, besides that of `unlock`
 * (docs/adr/0027).
 */
export const LOCKED: Outcome = {
  reason: REASON.alreadyLocked,
  message: 'the namespace is locked, and is looked at when the lock has ended',
};

const queued = (name: string): Outcome => ({
  reason: REASON.parallelLimit,
  message: `${name} waits for a migration slot of KubeVirt: the guard posts an event when one is free`,
});
