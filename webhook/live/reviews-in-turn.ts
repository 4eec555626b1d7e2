import type { Clock } from '../../functions/runtime/clock.ts';
import { Turns } from '../../functions/runtime/turns.ts';
import type { AdmissionRequest, Decision } from '../admission/admission.ts';
import { DEADLINE_MS } from '../admission/review-app.ts';
import { reviewForklift, type ForkliftReview } from './forklift-review.ts';

/**
 * SubjectAccessReviews of this process at once. Each review of a Migration has twenty under way (inGroups); in turn, those of few rights pass
 * those of hundreds.
 */
const MAX_OPEN = 40;

/**
 * Reviews Forklift's objects; all reviews ask for rights in turn. One whose answer would come too late asks no more: the API server has
 * refused the request by then.
 */
export function newForkliftReviews({
  cluster,
  allowLoopback,
  clock,
}: ForkliftReview & { readonly clock: Clock }): (request: AdmissionRequest) => Promise<Decision> {
  const turns = new Turns(MAX_OPEN);
  return (request) => {
    const endsAt = clock.elapsed() + DEADLINE_MS;
    const inTurn: typeof cluster = {
      get: (type, at) => cluster.get(type, at),
      create: (type, object) =>
        turns.run(() => {
          if (clock.elapsed() >= endsAt) throw new Error('the rights were not reviewed in time');
          return cluster.create(type, object);
        }),
    };
    return reviewForklift(request, { cluster: inTurn, allowLoopback });
  };
}
