import { listed, NAMED, OBJECT } from '../../functions/cluster/listed.ts';
import { LABEL } from '../../functions/domain/names.ts';
import type { Namespace } from '../../functions/domain/objects.ts';
import { assess } from '../../functions/domain/verdict/assessment.ts';
import type { Reader, Selection } from '../../functions/kubernetes/cluster.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../../functions/kubernetes/resources.ts';
import { mapAtMost } from '../cluster/map-at-most.ts';
import { readNamespace } from '../cluster/namespace.ts';
import { readState } from '../cluster/state.ts';
import { waitingNamespaces, type StatusInput } from './report.ts';

/** Maximum number of namespaces that are read at a time; each takes about eight requests. */
const AT_ONCE = 8;

/** cvmmrqs select by labels. */
const LISTED_NAMESPACES = listed<Namespace>(NAMESPACES, {
  ...OBJECT,
  metadata: { ...NAMED, labels: true },
  status: false,
});

/** Reads everything of one namespace; of all by default. Rejects as the verbs of Cluster do. */
export async function readStatus(cluster: Reader, namespace?: string): Promise<StatusInput> {
  const where: Selection = namespace === undefined ? {} : { namespace };
  const [state, namespaces, raised] = await Promise.all([
    readState(cluster),
    cluster.list(LISTED_NAMESPACES, {}),
    cluster.list(RESOURCE_QUOTAS, { ...where, labelSelector: LABEL.raised }),
  ]);
  const waiting = [...waitingNamespaces(state)].filter(
    (name) => namespace === undefined || name === namespace,
  );
  const verdicts = await mapAtMost(AT_ONCE, waiting, async (name) => {
    const snapshot = await readNamespace(cluster, state, name);
    return [name, snapshot === undefined ? [] : assess(snapshot, state.rules).verdicts] as const;
  });
  return {
    state,
    namespace,
    namespaces: namespaces.items,
    raised: raised.items,
    verdicts: new Map(verdicts),
  };
}
