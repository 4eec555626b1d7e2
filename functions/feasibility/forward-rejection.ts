import type { StepRequest } from '../eventing/step-request.ts';
import { isFreshlyRejected } from '../domain/migration.ts';
import { EVENT, KIND, REASON, SOURCE_EVENT } from '../domain/names.ts';
import { LISTED_VMMRQS } from '../cluster/listed.ts';
import type { Outcome, StepContext } from '../host/step.ts';

/** virt-controller reports one refusal by two updates at the same moment: the condition, and its Event's count (test/recorded). */
const DUPLICATE_MS = 1_000;
const DUPLICATE: Outcome = { reason: REASON.freshRefusal, message: 'its refusal was looked at a moment ago' };

/**
 * Whether the namespace has a VMMRQ. The guard's view costs no request to the API server; without it a list from the watch
 * cache answers.
 */
async function isServed(namespace: string, { view, cluster }: StepContext): Promise<boolean> {
  const seen = await view(namespace);
  if (seen !== undefined) return seen.served;
  const { items } = await cluster.list(LISTED_VMMRQS, { namespace }, { resourceVersion: '0' });
  return items.length > 0;
}

/**
 * Forwards a refusal that the event itself shows as fresh to `lock` at once, in a namespace that has a VMMRQ, and prewarms the
 * later steps. `lock` checks everything before it locks; if it declines, feasibility runs and reports why. Each migration is
 * forwarded once, so one that stays refused gets the full assessment (docs/adr/0026). A wrong clock of this process is
 * harmless: it costs a full assessment, or `lock` declines. undefined: the event shows no such refusal.
 */
export async function forwardRejection(
  request: StepRequest,
  context: StepContext,
): Promise<Outcome | undefined> {
  const { eventObject, type, namespace, id } = request;
  if (type !== SOURCE_EVENT.update || eventObject?.kind !== KIND.migration.kind) return undefined;
  const { name, uid } = eventObject.metadata;
  if (
    name === undefined ||
    uid === undefined ||
    !isFreshlyRejected(eventObject, context.clock.now().getTime())
  )
    return undefined;
  const sinceMs = context.sinceFirst(uid);
  if (sinceMs > 0) return sinceMs < DUPLICATE_MS ? DUPLICATE : undefined;
  if (!(await isServed(namespace, context))) return undefined;
  context.inBackground(context.prewarmNextSteps);
  return {
    reason: REASON.freshRefusal,
    message: `${name} was refused by a quota a moment ago: lock decides`,
    migrations: [name],
    reply: {
      type: EVENT.migrationFeasible,
      from: 'feasibility',
      namespace,
      migrations: [{ name, uid }],
      cause: id,
    },
  };
}
