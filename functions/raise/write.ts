import type { ResourceQuota } from '../domain/objects.ts';
import { ignoreNotFound, isConflict, isNotFound, isRejected, refusalOf } from '../kubernetes/errors.ts';
import { RESOURCE_QUOTAS } from '../kubernetes/resources.ts';
import { inTurn, isThin, thinned } from '../cluster/quotas.ts';
import type { RaiseRefusal } from '../domain/verdict/raise-refusal.ts';
import type { StepContext } from '../host/step.ts';
import { raiseOf, type RaiseSnapshot } from './decide.ts';

/** Attempts to write one quota where only its amounts changed: every pod that is created or ends changes its `used`. */
const ROUNDS = 5;

export type Written =
  /** The quotas as they were written. */
  | { readonly kind: 'done'; readonly quotas: readonly ResourceQuota[] }
  /** Something else changed: decide again. */
  | { readonly kind: 'again' }
  | { readonly kind: 'refused'; readonly refused: readonly [RaiseRefusal, ...RaiseRefusal[]] };

interface Writer extends Pick<StepContext, 'cluster'> {
  /** Whether the token holds the namespace: read after this call. */
  readonly isHeld: () => Promise<boolean>;
}

/** PUTs the status of each quota, all at once. Rejects where one was not written for another reason. */
export async function writeAll(
  writes: readonly ResourceQuota[],
  snapshot: RaiseSnapshot,
  writer: Writer,
): Promise<Written> {
  const results = await Promise.allSettled(writes.map((quota) => writeInTurn(quota, snapshot, writer)));
  const failures = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as unknown] : [],
  );
  const [refusal, ...refusals] = writes.flatMap((quota, index): RaiseRefusal[] => {
    const result = results[index];
    if (result?.status !== 'rejected' || !isRejected(result.reason)) return [];
    return [
      { quota, message: refusalOf(`the raise of ResourceQuota ${quota.metadata.name}`, result.reason) },
    ];
  });
  if (refusal !== undefined) return { kind: 'refused', refused: [refusal, ...refusals] };
  const [failure] = failures;
  if (failure !== undefined) throw new Error('a ResourceQuota could not be raised', { cause: failure });
  const quotas = results.flatMap((result) => (result.status === 'fulfilled' ? (result.value ?? []) : []));
  return quotas.length === writes.length ? { kind: 'done', quotas } : { kind: 'again' };
}

/** A thin quota is read whole first, as after a conflict, and is thin again afterwards. */
async function writeInTurn(
  first: ResourceQuota,
  snapshot: RaiseSnapshot,
  writer: Writer,
): Promise<ResourceQuota | undefined> {
  if (!isThin(first)) return write(first, snapshot, writer);
  return inTurn(async () => {
    const whole = await readAgain(first, writer);
    const next = whole && raiseOf(whole, snapshot).write;
    const written = next && (await write(next, snapshot, writer));
    return written && thinned(written).object;
  });
}

/** The quota as it was written; undefined: it was not. After a conflict only the amounts are computed again, as long as the proof is still valid. */
async function write(
  first: ResourceQuota,
  snapshot: RaiseSnapshot,
  writer: Writer,
): Promise<ResourceQuota | undefined> {
  let next: ResourceQuota | undefined = first;
  for (let round = 1; next !== undefined && round <= ROUNDS; round += 1) {
    try {
      await writer.cluster.replace(RESOURCE_QUOTAS, next, { subresource: 'status' });
      return next;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      if (!isConflict(error)) throw error;
    }
    const now = await readAgain(first, writer);
    next = now && raiseOf(now, snapshot).write;
  }
  return undefined;
}

/**
 * The quota, and then the lock: as long as that is held the proof is valid. undefined: it is over, or the quota is another one. A grant and
 * last-release on the quota would not prove that: a replacement by its manifest removes both
 * (docs/architecture.md#what-fences-a-late-writer).
 */
async function readAgain(
  { metadata: { name, namespace = '', uid } }: ResourceQuota,
  { cluster, isHeld }: Writer,
): Promise<ResourceQuota | undefined> {
  const read = await ignoreNotFound(cluster.get(RESOURCE_QUOTAS, { namespace, name }));
  if (read?.object.metadata.uid !== uid) return undefined;
  return (await isHeld()) ? read.object : undefined;
}
