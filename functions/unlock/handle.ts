import type { Wake } from '../domain/events.ts';
import { CONDITION, EVENT, EVENT_REASON, REASON } from '../domain/names.ts';
import type { Vmmrq, VmmrqStatus } from '../domain/objects.ts';
import { aboutVmmrq, AT_REST, condition, withConditions } from '../domain/report.ts';
import { describeError } from '../kubernetes/errors.ts';
import { writeEvents, writeVmmrqStatus } from '../kubernetes/report.ts';
import { NAMESPACES, PODS, RESOURCE_QUOTAS, VMMRQS } from '../kubernetes/resources.ts';
import { orGone, readMigrations } from '../kubernetes/snapshot.ts';
import type { Outcome, Step, Tools } from '../step.ts';
import { decide, type UnlockDecision, type UnlockSnapshot } from './decide.ts';

type Unlock = Extract<UnlockDecision, { kind: 'unlock' }>;

/** Frees the namespace when the API server really enforces the originals again, and records the attempt. */
export const unlock: Step = {
  name: 'unlock',
  wakesOn: [{ type: EVENT.quotaLowered }],
  replies: [],
  handle,
};

async function handle(wake: Wake, tools: Tools): Promise<Outcome> {
  const snapshot = await gather(wake, tools);
  if (snapshot === undefined) return { reason: REASON.notOurLock, message: 'the namespace is gone' };
  const decision = decide(snapshot);
  const { kind, reason, message } = decision;
  if (kind === 'leave') return { reason, message };
  // Not an answer of 204: nothing else would wake us before the watchdog does.
  if (kind === 'notYet') throw new Error(message);
  await tools.cluster.replace(NAMESPACES, decision.namespace);
  tools.afterwards(() => tellNext(decision, tools));
  tools.afterwards(() => report(decision, snapshot, tools));
  return { reason, message };
}

/** The namespace first: what is read after it can only be newer than the precondition of the write. */
async function gather(wake: Wake, { cluster }: Tools): Promise<UnlockSnapshot | undefined> {
  const name = wake.namespace;
  const namespace = await orGone(cluster.get(NAMESPACES, { name }));
  if (namespace === undefined) return undefined;
  const where = { namespace: name };
  const [quotas, migrations, pods, vmmrqs] = await Promise.all([
    cluster.list(RESOURCE_QUOTAS, where),
    readMigrations(cluster, name),
    cluster.list(PODS, where),
    cluster.list(VMMRQS, where),
  ]);
  return {
    now: namespace.date.getTime(),
    namespace: namespace.object,
    quotas: quotas.items,
    migrations,
    pods: pods.items,
    vmmrqs: vmmrqs.items,
    token: wake.token,
  };
}

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

async function report(decision: Unlock, snapshot: UnlockSnapshot, tools: Tools): Promise<void> {
  const { strangers, lock } = decision;
  await Promise.all(
    snapshot.vmmrqs.map((vmmrq) => writeVmmrqStatus(tools, vmmrq, statusAfter(decision, snapshot.now))),
  );
  if (strangers.length === 0) return;
  const names = strangers.map(({ metadata }) => metadata.name).join(', ');
  const message = `pods came in while the namespace was locked, that were under way before: ${names}`;
  tools.log('warn', message, { namespace: decision.namespace.metadata.name, token: lock?.token });
  await writeEvents(
    tools,
    snapshot.vmmrqs.map((vmmrq) => ({
      on: aboutVmmrq(vmmrq),
      type: 'Warning',
      reason: EVENT_REASON.quotaLowered,
      message,
      key: `strangers ${lock?.token ?? ''}`,
    })),
  );
}

function statusAfter({ lock, succeeded, message }: Unlock, now: number): (vmmrq: Vmmrq) => VmmrqStatus {
  const failed = lock !== undefined && !succeeded;
  const changes = [
    ...AT_REST,
    failed
      ? condition(CONDITION.raisedButNotAdmitted, 'True', REASON.raisedButNotAdmitted, message)
      : condition(CONDITION.raisedButNotAdmitted, 'False', REASON.admitted, message),
  ];
  return (vmmrq) => ({
    ...vmmrq.status,
    originalBlockingResourceQuotas: [],
    conditions: withConditions(vmmrq.status?.conditions ?? [], changes, now),
  });
}
