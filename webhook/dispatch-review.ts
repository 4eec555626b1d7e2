import type { Cluster } from '../functions/kubernetes/cluster.ts';
import { NAMESPACES } from '../functions/kubernetes/resources.ts';
import { ignoreNotFound } from '../functions/kubernetes/errors.ts';
import { DNS_LABEL } from '../functions/domain/dns-name.ts';
import type { IncumbentState } from '../functions/domain/proof.ts';
import type { GuardSettings } from '../functions/runtime/settings.ts';
import type { AdmissionRequest, Decision } from './admission/admission.ts';
import { isAboutForklift, reviewForklift } from './live/forklift-review.ts';
import { isAboutKeys, review } from './admission/review.ts';

type Reviewing = Pick<GuardSettings, 'KUBEVIRT_NAMESPACE' | 'KUBEVIRT_CONTROLLER'> &
  Partial<Pick<GuardSettings, 'LIVE_MIGRATION'>>;

/** Each review reads the namespace by one live GET, because a cache may be stale. */
export function newReview(
  cluster: Cluster,
  settings: Reviewing,
  incumbentOf: (namespace: string) => IncumbentState,
): (request: AdmissionRequest) => Promise<Decision> {
  const allowLoopback = settings.LIVE_MIGRATION === 'loopback';
  return async (request) => {
    if (isAboutForklift(request)) return reviewForklift(request, { cluster, allowLoopback });
    const { namespace: name = '' } = request;
    const isRead = !isAboutKeys(request) && DNS_LABEL.test(name);
    const read = isRead ? await ignoreNotFound(cluster.get(NAMESPACES, { name })) : undefined;
    return review({
      request,
      namespace: read?.object,
      now: read?.date.getTime() ?? 0,
      incumbent: incumbentOf(name),
      kubevirtNamespace: settings.KUBEVIRT_NAMESPACE,
      kubevirtController: settings.KUBEVIRT_CONTROLLER,
    });
  };
}
