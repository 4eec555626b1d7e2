import { critical, type Finding } from '../../domain/live/conditions.ts';
import { LIVE_CONDITION } from '../../domain/live/names.ts';
import { requestersOf } from '../../domain/live/requester.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import type { ApiServer, Cluster } from '../../kubernetes/cluster.ts';
import { REVIEWS } from '../../kubernetes/live-resources.ts';
import { timeOf } from '../run/deadlines.ts';
import { getOrUndefined } from '../read/get.ts';
import { isHost } from '../findings/providers.ts';
import type { FoundProvider } from '../read/providers.ts';
import type { PlanProviders } from '../read/plan-view.ts';
import { missingRights } from './rights-missing.ts';
import { describeMissingRights, RIGHT_TO_LIST_VMS, type Hosts, type Right } from './rights-needed.ts';

/** Returns the finding that the requester lacks some of these rights; undefined if the requester has them all. */
export type Review = (rights: readonly Right[]) => Promise<Finding | undefined>;

/**
 * Returns the review of the requesters of these objects: each needs the rights. Nothing is read, shown or written for an object but what its
 * requester may: it would be by the rights of `live`. The finding says the same whether an object exists or not.
 */
export async function reviewOf(
  objects: readonly KubernetesObject[],
  hub: Pick<Cluster, 'get' | 'create'>,
): Promise<Review> {
  const reviews = await getOrUndefined(hub.get(REVIEWS.type, REVIEWS.at));
  const requesters = objects.every((object) => isReviewed(object, reviews))
    ? requestersOf(objects)
    : undefined;
  if (requesters === undefined) return () => Promise.resolve(NOT_KNOWN);
  return async (rights) => {
    for (const requester of requesters) {
      const missing = await missingRights(hub, requester, rights);
      if (missing.length > 0)
        return refuse(describeMissingRights(requester.user, missing), adviceOn(missing));
    }
    return undefined;
  };
}

const refuse = (message: string, suggestion: string): Finding =>
  critical(LIVE_CONDITION.notAllowed, 'Forbidden', { message, suggestion });

const NOT_KNOWN = refuse(
  'The guard has not recorded the user who wrote this object.',
  'Create it again while the guard reviews live migrations (config/components/live-migration).',
);

const adviceOn = (missing: readonly Right[]): string =>
  missing.includes(RIGHT_TO_LIST_VMS)
    ? 'Name the namespace of each VM, or give the user these rights.'
    : 'Give the user these rights, and create it again; or let a user who has them do that.';

/** Whether the object was created after the webhook. Before that its writer could name another user in its annotation. */
const isReviewed = ({ metadata }: KubernetesObject, reviews: KubernetesObject | undefined): boolean =>
  reviews !== undefined && timeOf(reviews.metadata.creationTimestamp) <= timeOf(metadata.creationTimestamp);

/** The API server of each side; undefined: there is none, or it must not be read. */
export type SideClusters = Readonly<Record<'source' | 'target', ApiServer | undefined>>;

/** Returns the clusters of the sides for which the requester has the rights: each side is asked for by itself. */
export async function clustersWithRights(
  providers: PlanProviders,
  review: Review,
  rightsOn: (hosts: Hosts) => readonly Right[],
): Promise<SideClusters> {
  const { isSource, isTarget } = hostsOf(providers);
  const isAllowed = async (hosts: Hosts): Promise<boolean> => (await review(rightsOn(hosts))) === undefined;
  return {
    source: (await isAllowed({ isSource, isTarget: false })) ? providers.source?.cluster : undefined,
    target: (await isAllowed({ isSource: false, isTarget })) ? providers.destination?.cluster : undefined,
  };
}

/** Returns which providers are the cluster of the plan. */
export const hostsOf = ({ source, destination }: PlanProviders): Hosts => {
  const isHub = (of: FoundProvider | undefined): boolean => of !== undefined && isHost(of.provider);
  return { isSource: isHub(source), isTarget: isHub(destination) };
};
