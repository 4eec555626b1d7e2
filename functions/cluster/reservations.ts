import type { Lock } from '../domain/lock.ts';
import { LABEL } from '../domain/names.ts';
import type { ClusterVmmrq } from '../domain/objects.ts';
import {
  dueLocks,
  isReservationOver,
  withClosed,
  withEntries,
  withoutLocks,
  type ReservationOrder,
  type ReservedLock,
} from '../domain/total/reservation.ts';
import { totalOf } from '../domain/total/total.ts';
import type { Cluster, Read } from '../kubernetes/cluster.ts';
import { describeError, ignoreNotFound, isConflict, isNotFound } from '../kubernetes/errors.ts';
import { CLUSTER_VMMRQS, NAMESPACES, RESOURCE_QUOTAS } from '../kubernetes/resources.ts';
import type { Log } from '../runtime/log.ts';

/** Attempts after lost races: locks of other namespaces are entered in the same VMMRQ. */
const ATTEMPTS = 5;
/** Maximum number of locks that one attempt reads, to find out whether their entries are left over. */
const MAX_LOOKS = 8;

interface Writer {
  readonly cluster: Cluster;
  readonly log: Log;
}

/**
 * Enters a lock in each VMMRQ whose total it takes something of. Resolves with the name of a VMMRQ whose total is reached, and then
 * enters it in none; undefined: it is entered. Rejects where other writers were first too often; then the Broker retries.
 */
export async function addReservations(
  lock: ReservedLock,
  orders: readonly ReservationOrder[],
  writer: Writer,
): Promise<string | undefined> {
  const reserved: string[] = [];
  for (const order of orders) {
    if (!(await enter(order, writer.cluster))) {
      await removeReservations({ ...lock, reserved }, writer);
      return order.name;
    }
    reserved.push(order.name);
  }
  return undefined;
}

/** Whether it is entered. Without the VMMRQ or its total, `raise` decides whether it needs an entry. */
async function enter({ name, entries }: ReservationOrder, cluster: Cluster): Promise<boolean> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const read = await ignoreNotFound(cluster.get(CLUSTER_VMMRQS, { name }));
    if (read === undefined || totalOf(read.object) === undefined) return true;
    const added = withEntries(read.object, entries);
    const next = added ?? (await withRoom(read, cluster));
    if (next === undefined) return false;
    const isStored = await store(next, cluster);
    if (isStored && added !== undefined) return true;
  }
  throw new Error(`the status of ${CLUSTER_VMMRQS.kind} ${name} changed during each attempt to reserve`);
}

/**
 * The VMMRQ with less entries that are left over, of locks that never came or that no `unlock` removed. First it closes them, and
 * at the next attempt it reads whether they are over. undefined: none is.
 */
async function withRoom(
  { object, date }: Read<ClusterVmmrq>,
  cluster: Cluster,
): Promise<ClusterVmmrq | undefined> {
  const due = dueLocks(object, date.getTime()).slice(0, MAX_LOOKS);
  const closed = withClosed(object, due);
  if (closed !== undefined) return closed;
  const over = await Promise.all(due.map(async (lock) => ((await isLeftOver(lock, cluster)) ? [lock] : [])));
  return withoutLocks(object, over.flat());
}

/** Reads the namespace before its raised quotas (isReservationOver). */
async function isLeftOver(lock: ReservedLock, cluster: Cluster): Promise<boolean> {
  const { namespace } = lock;
  const read = await ignoreNotFound(cluster.get(NAMESPACES, { name: namespace }));
  const { items } = await cluster.list(RESOURCE_QUOTAS, { namespace, labelSelector: `${LABEL.raised}=true` });
  return isReservationOver(lock, read?.object, items);
}

/** Returns false if another writer was first. */
async function store(vmmrq: ClusterVmmrq, cluster: Cluster): Promise<boolean> {
  try {
    await cluster.replace(CLUSTER_VMMRQS, vmmrq, { subresource: 'status' });
    return true;
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return false;
    throw error;
  }
}

/** Removes the entries of a lock that no raise can follow any more. A failure is harmless: the next lock that needs the room does it. */
export async function removeReservations(
  { namespace, token, reserved = [] }: ReservedLock & Pick<Lock, 'reserved'>,
  writer: Writer,
): Promise<void> {
  await Promise.all(reserved.map((name) => remove(name, { namespace, token }, writer)));
}

async function remove(name: string, lock: ReservedLock, { cluster, log }: Writer): Promise<void> {
  try {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
      const read = await ignoreNotFound(cluster.get(CLUSTER_VMMRQS, { name }));
      const next = read && withoutLocks(read.object, [lock]);
      if (next === undefined || (await store(next, cluster))) return;
    }
  } catch (error) {
    log('warn', `a reservation was not removed: ${describeError(error)}`, { name, ...lock });
  }
}
