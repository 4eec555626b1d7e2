import { liveLock, type Lock, type Places, type Waiting } from '../lock.ts';
import { isFinal, isPending } from '../migration.ts';
import { CONDITION, REASON } from '../names.ts';
import type { Migration, Namespace, Vmmrq } from '../objects.ts';
import type { NamespaceSnapshot } from '../snapshot.ts';

/** What follows a migration's end (its finalizer, its clean-up) comes within this. */
const LATELY_MS = 10_000;
/** One for the place that is free, one in case that the first cannot use it. */
const AT_ONCE = 2;

/** A migration that is over no longer counts against KubeVirt's parallel limits. `now`: the API server's, milliseconds. */
export const endedLately = (migration: Migration, now: number): boolean =>
  isFinal(migration) &&
  (migration.status?.phaseTransitionTimestamps ?? []).some(
    ({ phase, phaseTransitionTimestamp: at }) =>
      phase === migration.status?.phase && Date.parse(at) > now - LATELY_MS,
  );

/** Those that these locks are for, and that have no target pod yet as far as their phase tells. */
export function awaitedBy(locks: readonly Lock[], migrations: readonly Migration[]): Migration[] {
  const uids = new Set(locks.flatMap(launchersOf));
  return migrations.filter((migration) => isPending(migration) && uids.has(migration.metadata.uid));
}

/** UIDs of the migrations that a lock gets a target launcher for: those take a place of KubeVirt's. */
const launchersOf = ({ migrations }: Lock): string[] =>
  migrations.flatMap(({ uid, lacks }) => (lacks === undefined ? [uid] : []));

/** What a lock for these migrations records of the places that are left; undefined where nobody else is after them. */
export function placesLeft(
  { parallel, migrations: all, vmis }: Pick<NamespaceSnapshot, 'parallel' | 'migrations' | 'vmis'>,
  migrations: readonly Waiting[],
): Places | undefined {
  if (!parallel.isContended) return undefined;
  const nodes = migrations.flatMap(({ uid }): [string, string][] => {
    const vmi = all.find(({ metadata }) => metadata.uid === uid)?.spec.vmiName ?? '';
    const node = vmis.get(vmi)?.status?.nodeName;
    return node === undefined ? [] : [[uid, node]];
  });
  const leftOn = (node: string): number => parallel.perNode - (parallel.outbound.get(node) ?? 0);
  return {
    counted: [...parallel.locks],
    inCluster: parallel.perCluster - parallel.running,
    onNode: Object.fromEntries(nodes.map(([, node]) => [node, leftOn(node)])),
    nodes: Object.fromEntries(nodes),
  };
}

/**
 * Why this lock gives way to locks that were taken in the same moment, none of which could know of the other: before it, in
 * an order that all of them see alike, are more than KubeVirt has places for. undefined: it goes on. `now` as above.
 */
export function givesWay(lock: Lock, locked: readonly Namespace[], now: number): string | undefined {
  const { places } = lock;
  if (places === undefined) return undefined;
  const before = locked
    .flatMap((namespace) => liveLock(namespace, now) ?? [])
    .filter((other) => !places.counted.includes(other.token) && isBefore(other, lock));
  const all = [...before, lock];
  const wanted = all.flatMap(launchersOf).length;
  if (wanted > places.inCluster) return crowded(wanted, places.inCluster, 'in the cluster');
  const nodes = all.flatMap((each) => launchersOf(each).flatMap((uid) => each.places?.nodes[uid] ?? []));
  for (const [node, left] of Object.entries(places.onNode)) {
    const leaving = nodes.filter((each) => each === node).length;
    if (leaving > left) return crowded(leaving, left, `from node ${node}`);
  }
  return undefined;
}

const crowded = (wanted: number, left: number, where: string): string =>
  `${String(wanted)} migrations were locked for at once, and KubeVirt runs ${String(left)} more ${where}: others go first`;

const isBefore = (one: Lock, other: Lock): boolean =>
  one.acquiredAt === other.acquiredAt
    ? one.token < other.token
    : Date.parse(one.acquiredAt) < Date.parse(other.acquiredAt);

/**
 * The other namespaces that have waited longest for a place among KubeVirt's parallel migrations, as far as the VMMRQs'
 * status tells: good enough to look there, and never more than that.
 */
export function waitingForAPlace(vmmrqs: readonly Vmmrq[], own: string): string[] {
  const since = new Map<string, string>();
  for (const { metadata, status } of vmmrqs) {
    const blocking = status?.conditions?.find(({ type }) => type === CONDITION.blocking);
    const { namespace = '' } = metadata;
    if (blocking?.reason !== REASON.parallelLimit || namespace === own || since.has(namespace)) continue;
    since.set(namespace, blocking.lastTransitionTime ?? '');
  }
  return [...since]
    .toSorted(([, one], [, other]) => (one < other ? -1 : 1))
    .slice(0, AT_ONCE)
    .map(([namespace]) => namespace);
}
