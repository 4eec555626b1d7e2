import type { Cluster } from '../functions/kubernetes/cluster.ts';
import { NAMESPACES } from '../functions/kubernetes/resources.ts';
import { ignoreNotFound } from '../functions/kubernetes/errors.ts';
import { DNS_LABEL } from '../functions/domain/dns-name.ts';
import type { IncumbentState } from '../functions/domain/proof.ts';
import type { GuardSettings } from '../functions/runtime/settings.ts';
import type { AdmissionRequest, Decision } from './admission/admission.ts';
import type { ApiServerAddresses } from './admission/api-server-addresses.ts';
import { isAboutForklift, refuseForeign, refuseUnknown } from './live/forklift-review.ts';
import { newForkliftReviews } from './live/reviews-in-turn.ts';
import { systemClock } from '../functions/runtime/clock.ts';
import { isAboutKeys, review } from './admission/review.ts';

type Reviewing = Pick<GuardSettings, 'KUBEVIRT_NAMESPACE' | 'KUBEVIRT_CONTROLLER'> &
  Partial<Pick<GuardSettings, 'LIVE_MIGRATION'>>;

/** The clients that send reviews. */
type Senders = Pick<ApiServerAddresses, 'note' | 'isForeign'>;

const UNKNOWN_SENDERS: Senders = { note: () => undefined, isForeign: () => false };

/**
 * Each review reads the namespace by one live GET, because a cache may be stale. A review of Forklift's objects shows which rights a user has and
 * which objects exist: a client that is no API server gets none.
 */
export function newReview(
  cluster: Cluster,
  settings: Reviewing,
  incumbentOf: (namespace: string) => IncumbentState,
  senders: Senders = UNKNOWN_SENDERS,
): (request: AdmissionRequest, from?: string) => Promise<Decision> {
  const reviewForklift = forkliftReviewOf(cluster, settings);
  return async (request, from = '') => {
    senders.note(from);
    if (isAboutForklift(request))
      return senders.isForeign(from) ? refuseForeign(from) : reviewForklift(request);
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

/** Returns the review of Forklift's objects. Without the component `live-migration` no API server sends one, so forged ones cost nothing. */
function forkliftReviewOf(
  cluster: Cluster,
  { LIVE_MIGRATION = 'off' }: Pick<Reviewing, 'LIVE_MIGRATION'>,
): (request: AdmissionRequest) => Decision | Promise<Decision> {
  if (LIVE_MIGRATION === 'off') return refuseUnknown;
  const allowLoopback = LIVE_MIGRATION === 'loopback';
  return newForkliftReviews({ cluster, allowLoopback, clock: systemClock });
}
