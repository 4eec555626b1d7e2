import { shown } from '../../functions/domain/foreign-text.ts';
import { EVENT_REASON } from '../../functions/domain/names.ts';
import type { KubernetesObject, Namespace } from '../../functions/domain/objects.ts';
import type { Cluster, ResourceType } from '../../functions/kubernetes/cluster.ts';
import { ApiError } from '../../functions/kubernetes/errors.ts';
import { EVENTS, NAMESPACES } from '../../functions/kubernetes/resources.ts';

/** authentication.k8s.io/v1 SelfSubjectReview: who asks, by the API server. */
interface SelfReview extends KubernetesObject {
  status?: { userInfo?: { username?: string } };
}

const SELF_REVIEWS: ResourceType<SelfReview> = {
  apiVersion: 'authentication.k8s.io/v1',
  kind: 'SelfSubjectReview',
  plural: 'selfsubjectreviews',
  namespaced: false,
};

const NAMESPACE = { apiVersion: NAMESPACES.apiVersion, kind: NAMESPACES.kind } as const;

/** Leaves an Event on the namespace that says who removed this lock. Resolves with why there is none; undefined: it is written. */
export async function recordRemoval(
  cluster: Cluster,
  { metadata: { name, uid } }: Namespace,
  token: string,
): Promise<string | undefined> {
  try {
    const { object } = await cluster.create(SELF_REVIEWS, { metadata: { name: '' } });
    const who = object.status?.userInfo?.username ?? 'a user';
    const at = new Date().toISOString();
    await cluster.create(EVENTS, {
      metadata: { namespace: name, generateName: `${name}.` },
      involvedObject: { ...NAMESPACE, namespace: name, name, uid },
      type: 'Warning',
      reason: EVENT_REASON.lockRemoved,
      count: 1,
      firstTimestamp: at,
      lastTimestamp: at,
      message: `${who} removed the lock ${shown(token)} by break-glass`,
      source: { component: 'kubectl-vmmrq' },
    });
    return undefined;
  } catch (error) {
    if (error instanceof ApiError) return error.message;
    throw error;
  }
}
