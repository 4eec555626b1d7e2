import type { LiveWrite, Side } from '../run/decision.ts';
import type { Cluster, ResourceType } from '../../kubernetes/cluster.ts';
import {
  isAlreadyExists,
  isConflict,
  isInternal,
  isNotFound,
  isRejected,
  type ApiError,
} from '../../kubernetes/errors.ts';
import {
  CONFIG_MAPS,
  DATA_VOLUMES,
  INSTANCETYPES,
  JOBS,
  PREFERENCES,
  SECRETS,
  VIRTUAL_MACHINES,
  VMIMS,
  WHOLE_CLAIMS,
  WHOLE_VMIS,
} from '../../kubernetes/live-resources.ts';
import { NAMESPACES } from '../../kubernetes/resources.ts';

/** The result of a decision's writes. */
export type Applied =
  | { readonly kind: 'written' }
  /** The object has changed since it was read: the next reading decides. */
  | { readonly kind: 'changed' }
  /** The API server or a webhook refuses the write, or could not decide. `message`: its answer. */
  | { readonly kind: 'refused'; readonly message: string };

/** The kinds that runs write, on any cluster. */
const TYPES = new Map(
  [
    ...[NAMESPACES, VIRTUAL_MACHINES, WHOLE_VMIS, VMIMS, WHOLE_CLAIMS, DATA_VOLUMES],
    ...[SECRETS, CONFIG_MAPS, INSTANCETYPES, PREFERENCES, JOBS],
  ].map((type): [string, ResourceType] => [type.kind, type]),
);

/**
 * Carries out the writes in their order, up to the first that does not succeed. Each has a precondition: the version that was read, the
 * uid, or that there is no object of the name. Rejects if a write may or may not have taken effect.
 */
export async function apply(
  writes: readonly LiveWrite[],
  clusters: Readonly<Record<Side, Cluster>>,
): Promise<Applied> {
  for (const write of writes) {
    const problem = await attempt(write, clusters[write.on]);
    const isSkipped = problem?.kind === 'refused' && write.verb !== 'delete' && write.isOptional === true;
    if (problem !== undefined && !isSkipped) return problem;
  }
  return { kind: 'written' };
}

/** Carries out one write; undefined if it is done. */
async function attempt(write: LiveWrite, cluster: Cluster): Promise<Applied | undefined> {
  try {
    await send(write, cluster);
    return undefined;
  } catch (error) {
    if (isAlreadyExists(error)) return undefined;
    // The namespace or the kind of the new object is not there: no reading would change that.
    const isMissing = isNotFound(error) && write.verb === 'create';
    if (isConflict(error) || (isNotFound(error) && !isMissing)) return { kind: 'changed' };
    if (!isRefusal(error) && !isMissing) throw error;
    const { kind, metadata } = write.object;
    return {
      kind: 'refused',
      message: `${write.verb} of ${kind ?? ''} ${metadata.name} on the ${write.on} is refused: ${error.message}`,
    };
  }
}

/**
 * Whether the cluster refused the write. A webhook that is down counts too, because the cluster answers: the wait for it has an end. If the
 * write took effect all the same, the next reading shows it.
 */
const isRefusal = (error: unknown): error is ApiError => isRejected(error) || isInternal(error);

async function send(write: LiveWrite, cluster: Cluster): Promise<void> {
  const { object } = write;
  const type = TYPES.get(object.kind ?? '');
  if (type === undefined) throw new Error(`no run writes a ${object.kind ?? 'kind that is not named'}`);
  if (write.verb === 'create') {
    await cluster.create(type, object);
  } else if (write.verb === 'replace') {
    const { subresource } = write;
    await cluster.replace(type, write.object, subresource === undefined ? {} : { subresource });
  } else {
    const { name, namespace, uid, resourceVersion } = write.object.metadata;
    const at = namespace === undefined ? { name } : { namespace, name };
    const preconditions = { uid, ...(write.asRead === true ? { resourceVersion } : {}) };
    await cluster.delete(type, at, { preconditions });
  }
}
