import { within, type Clock } from '../runtime/clock.ts';
import { grantOf } from '../domain/quota/grant.ts';
import { lockOf, type Lock } from '../domain/lock.ts';
import type { ResourceQuota } from '../domain/objects.ts';
import { enforcesNoMore, loweredStatus } from '../domain/quota/enforced.ts';
import type { ForeignEdit } from '../domain/quota/restore.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { isConflict, isNotFound } from '../kubernetes/errors.ts';
import { NAMESPACES, RESOURCE_QUOTAS } from '../kubernetes/resources.ts';
import { orGone } from '../cluster/snapshot.ts';
import { watchQuota } from '../cluster/wait.ts';
import { nextWrite, type NextWrite } from './next-write.ts';

/** The quota controller needs about 15 ms; when it has not lowered status.hard after this, we do. */
const ENFORCE_MS = 500;
/** Writes and lost races of one quota before the whole event is tried again. */
const ROUNDS = 12;

/** What it takes to put a quota back. */
export interface Reach {
  readonly cluster: Cluster;
  readonly clock: Clock;
}

export interface Restored {
  /** Whether a write of ours was among those that put it back; else somebody else was at it, or it was back already. */
  readonly wrote: boolean;
  readonly foreignEdits: readonly ForeignEdit[];
}

/**
 * Puts one quota back, write by write, each with the resourceVersion of its read; a lost race starts again at a read.
 * Resolves when it is back, with what somebody else had changed meanwhile. Rejects when it could not be done now.
 */
export async function restore(
  { cluster, clock }: Reach,
  seen: ResourceQuota,
  lock: Lock | undefined,
): Promise<Restored> {
  let quota: ResourceQuota | undefined = seen;
  let wrote = false;
  let foreignEdits: readonly ForeignEdit[] = [];
  for (let round = 1; quota !== undefined && round <= ROUNDS; round += 1) {
    const next = nextWrite(quota, lock);
    if (next.kind === 'done') return { wrote, foreignEdits };
    if (isOthers(quota, lock) && !(await isStillSo(cluster, quota, lock))) return { wrote, foreignEdits };
    if (next.kind !== 'fence' && next.foreignEdits.length > 0) foreignEdits = next.foreignEdits;
    const written = await write({ cluster, clock }, quota, next);
    wrote ||= written.ours;
    quota = written.quota;
  }
  if (quota === undefined) return { wrote, foreignEdits };
  throw new Error(`ResourceQuota ${seen.metadata.name} kept changing while it was to be put back`);
}

interface Written {
  readonly ours: boolean;
  /** After the write, or as it is when the write lost a race; undefined: it is gone. */
  readonly quota: ResourceQuota | undefined;
}

async function write(
  { cluster, clock }: Reach,
  quota: ResourceQuota,
  next: Exclude<NextWrite, { kind: 'done' }>,
): Promise<Written> {
  try {
    if (next.kind === 'enforce') return { ours: false, quota: await enforce({ cluster, clock }, quota) };
    return { ours: true, quota: (await cluster.replace(RESOURCE_QUOTAS, next.quota)).object };
  } catch (error) {
    if (!isConflict(error) && !isNotFound(error)) throw error;
  }
  return { ours: false, quota: await reread(cluster, quota) };
}

/** Waits until status.hard is nowhere above spec.hard; when nobody lowers it, writes it: it may only go down. */
async function enforce({ cluster, clock }: Reach, quota: ResourceQuota): Promise<ResourceQuota | undefined> {
  const enforced = await within(clock, ENFORCE_MS, (signal) =>
    watchQuota(cluster, quota, { until: enforcesNoMore, signal }),
  );
  if (enforced !== undefined) return enforced;
  const newest = await reread(cluster, quota);
  if (newest === undefined || enforcesNoMore(newest)) return newest;
  const lowered = loweredStatus(newest);
  if (lowered === undefined) return newest;
  return (await cluster.replace(RESOURCE_QUOTAS, lowered, { subresource: 'status' })).object;
}

/** The quota by name, while it is the same one. */
async function reread(cluster: Cluster, { metadata }: ResourceQuota): Promise<ResourceQuota | undefined> {
  const { name, namespace = '', uid } = metadata;
  const read = await orGone(cluster.get(RESOURCE_QUOTAS, { name, namespace }));
  return read?.object.metadata.uid === uid ? read.object : undefined;
}

/** What is not this lock's own grant may be a later lock's: whoever comes late must not touch it. */
function isOthers(quota: ResourceQuota, lock: Lock | undefined): boolean {
  const state = grantOf(quota);
  return state.kind !== 'held' || state.grant.token !== lock?.token;
}

/** The writers' rule: the quota was read before, and the namespace still says this lock; or none, where there was none. */
async function isStillSo(
  cluster: Cluster,
  { metadata }: ResourceQuota,
  lock: Lock | undefined,
): Promise<boolean> {
  const read = await orGone(cluster.get(NAMESPACES, { name: metadata.namespace ?? '' }));
  const state = read === undefined ? undefined : lockOf(read.object);
  return (state?.kind === 'held' ? state.lock.token : undefined) === lock?.token;
}
