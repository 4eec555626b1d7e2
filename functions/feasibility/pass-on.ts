import type { Wake } from '../eventing/wake.ts';
import { isFreshlyRejected } from '../domain/migration.ts';
import { EVENT, KIND, REASON, SOURCE_EVENT } from '../domain/names.ts';
import { LISTED_VMMRQS } from '../cluster/listed.ts';
import type { Outcome, Tools } from '../host/step.ts';

/**
 * A refusal of a moment ago, which the event itself tells of, in a namespace that has a VMMRQ: passed on to `lock` at once, with
 * the later steps woken beside it. Lock looks at everything before it locks; where it says no, feasibility is woken to say why. Once
 * for each migration, so that one that is refused for long gets the full look (docs/adr/0026). undefined: it is not that.
 */
export async function passOn(wake: Wake, tools: Tools): Promise<Outcome | undefined> {
  const { told, type, namespace, id } = wake;
  if (type !== SOURCE_EVENT.update || told?.kind !== KIND.migration.kind) return undefined;
  const { name, uid } = told.metadata;
  if (name === undefined || uid === undefined || !isFreshlyRejected(told, tools.clock.now().getTime()))
    return undefined;
  if (!tools.isFirst(uid)) return undefined;
  const { items, date } = await tools.cluster.list(LISTED_VMMRQS, { namespace }, { resourceVersion: '0' });
  if (items.length === 0 || !isFreshlyRejected(told, date.getTime())) return undefined;
  tools.afterwards(tools.wakeLaterSteps);
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
