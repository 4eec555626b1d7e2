import type { Cluster } from '../functions/kubernetes/cluster.ts';
import { NAMESPACES } from '../functions/kubernetes/resources.ts';
import { orGone } from '../functions/kubernetes/snapshot.ts';
import type { GuardSettings } from '../functions/settings.ts';
import type { AdmissionRequest, Decision } from './admission.ts';
import { isAboutKeys, review } from './review.ts';

type Judged = Pick<GuardSettings, 'KUBEVIRT_NAMESPACE' | 'KUBEVIRT_CONTROLLER'>;

/** What is in the namespace now decides, not what a cache says: one live GET a review. */
export function newReview(
  cluster: Cluster,
  settings: Judged,
): (request: AdmissionRequest) => Promise<Decision> {
  return async (request) => {
    const name = request.namespace ?? '';
    const read = isAboutKeys(request) ? undefined : await orGone(cluster.get(NAMESPACES, { name }));
    return review({
      request,
      namespace: read?.object,
      kubevirtNamespace: settings.KUBEVIRT_NAMESPACE,
      kubevirtController: settings.KUBEVIRT_CONTROLLER,
    });
  };
}
