import { ANNOTATION } from '../domain/names.ts';
import type { ResourceQuota } from '../domain/objects.ts';
import { isConflict, isNotFound, isRejected } from '../kubernetes/errors.ts';
import { RESOURCE_QUOTAS } from '../kubernetes/resources.ts';
import { ignoreNotFound } from '../cluster/snapshot.ts';
import type { StepContext } from '../host/step.ts';
import { raiseOf, type RaiseSnapshot } from './decide.ts';

/** Attempts to write one quota where only its amounts changed: every pod that is created or ends changes its `used`. */
const ROUNDS = 5;

export type Written =
  | { readonly kind: 'done' }
  /** Something else changed: decide again. */
  | { readonly kind: 'again' }
  | { readonly kind: 'refused'; readonly reason: string };

/** PUTs the status of each quota, all at once. Rejects where one was not written for another reason. */
export async function writeAll(
  writes: readonly ResourceQuota[],
  snapshot: RaiseSnapshot,
  { cluster }: Pick<StepContext, 'cluster'>,
): Promise<Written> {
  const results = await Promise.allSettled(writes.map((quota) => write(quota, snapshot, cluster)));
  const failures = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as unknown] : [],
  );
  const rejection = failures.find(isRejected);
  if (rejection !== undefined) {
    const reason = rejection.status.message ?? rejection.reason;
    return { kind: 'refused', reason: `the API server refused a write to a ResourceQuota: ${reason}` };
  }
  const [failure] = failures;
  if (failure !== undefined) throw new Error('a ResourceQuota could not be raised', { cause: failure });
  const isDone = results.every((result) => result.status === 'fulfilled' && result.value);
  return { kind: isDone ? 'done' : 'again' };
}

/**
 * Whether it was written. After a conflict the quota is read again. Where it was not lowered since and holds no other grant,
 * the proof is still valid and only the amounts are computed again (docs/architecture.md#what-fences-a-late-writer).
 */
async function write(
  first: ResourceQuota,
  snapshot: RaiseSnapshot,
  cluster: StepContext['cluster'],
): Promise<boolean> {
  const { name, namespace = '', uid } = first.metadata;
  const before = snapshot.quotas.find(({ metadata }) => metadata.uid === uid);
  let next: ResourceQuota | undefined = first;
  for (let round = 1; next !== undefined && round <= ROUNDS; round += 1) {
    try {
      await cluster.replace(RESOURCE_QUOTAS, next, { subresource: 'status' });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      if (!isConflict(error)) throw error;
    }
    const read = await ignoreNotFound(cluster.get(RESOURCE_QUOTAS, { namespace, name }));
    if (read === undefined || before === undefined || !isSameTurn(before, read.object)) return false;
    next = raiseOf(read.object, snapshot).write;
  }
  return false;
}

/** No step wrote to it since: uid, grant and last-release are the same. */
const isSameTurn = (before: ResourceQuota, now: ResourceQuota): boolean =>
  before.metadata.uid === now.metadata.uid &&
  [ANNOTATION.grant, ANNOTATION.lastRelease].every(
    (key) => before.metadata.annotations?.[key] === now.metadata.annotations?.[key],
  );
