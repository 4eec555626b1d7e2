import type { StepRequest } from '../eventing/step-request.ts';
import { isFreshlyRejected } from '../domain/migration.ts';
import { EVENT, KIND, REASON, SOURCE_EVENT } from '../domain/names.ts';
import { LISTED_VMMRQS } from '../cluster/listed.ts';
import type { Outcome, StepContext } from '../host/step.ts';

/** virt-controller writes a refusal's condition and its Event's count by two updates of one moment (test/recorded). */
const DUPLICATE_MS = 1_000;
const DUPLICATE: Outcome = { reason: REASON.freshRefusal, message: 'its refusal was looked at a moment ago' };

/** The namespace has a VMMRQ: by the guard's view, which costs no request; else by a list that may be remembered. */
async function isServed(namespace: string, { view, cluster }: StepContext): Promise<boolean> {
  const seen = await view(namespace);
  if (seen !== undefined) return seen.served;
  const { items } = await cluster.list(LISTED_VMMRQS, { namespace }, { resourceVersion: '0' });
  return items.length > 0;
}

/**
 * A refusal of a moment ago, which the event itself tells of, in a namespace that has a VMMRQ: passed on to `lock` at once, with
 * the later steps woken beside it. Lock looks at everything before it locks; where it says no, feasibility is woken to say why. Once
 * for each migration, so that one that is refused for long gets the full look (docs/adr/0026). The function's own clock is good enough:
 * where it is wrong, the full look is taken, or lock finds the same. undefined: it is not that.
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
