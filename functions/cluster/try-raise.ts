import type { ResourceQuota, Vmmrq } from '../domain/objects.ts';
import { dryRunRaise } from '../domain/quota/dry-run-raise.ts';
import type { TriedQuota } from '../domain/verdict/raise-refusal.ts';
import { retryOnConflict } from '../kubernetes/attempts.ts';
import { ignoreNotFound, isNotFound, isRejected, refusalOf } from '../kubernetes/errors.ts';
import type { Address, Cluster } from '../kubernetes/cluster.ts';
import { RESOURCE_QUOTAS } from '../kubernetes/resources.ts';

/** A dry run of a raise. */
export interface TriedRaise {
  readonly quota: TriedQuota;
  /** The API server's refusal; undefined: it would take the raise. */
  readonly message: string | undefined;
}

/** Attempts after lost races: every pod that is created or ends changes the quota's `used`. */
const ROUNDS = 5;

/**
 * PUTs the raise of a quota as a dry run, by all that these VMMRQs give. undefined: there is nothing to raise. Rejects where the API
 * server cannot decide, for example because a webhook does not answer.
 */
export async function tryRaise(
  cluster: Pick<Cluster, 'get' | 'replace'>,
  at: Address,
  order: { readonly vmmrqs: readonly Vmmrq[]; readonly now: number },
): Promise<TriedRaise | undefined> {
  return retryOnConflict(ROUNDS, async () => {
    const read = await ignoreNotFound(cluster.get(RESOURCE_QUOTAS, at));
    const raised = read && dryRunRaise(read.object, order);
    if (raised === undefined) return undefined;
    try {
      await cluster.replace(RESOURCE_QUOTAS, raised, { subresource: 'status', dryRun: true });
      return { quota: identityOf(raised), message: undefined };
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (isRejected(error))
        return {
          quota: identityOf(raised),
          message: refusalOf(`the raise of ResourceQuota ${at.name}`, error),
        };
      throw error;
    }
  });
}

/** A quota may be large, and only this is needed. Its label of the dry run does not count. */
const identityOf = ({
  metadata: { managedFields: _, annotations: __, ...metadata },
}: ResourceQuota): TriedQuota => ({
  metadata,
});
