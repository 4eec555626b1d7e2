import { isFinal } from './migration.ts';
import { CONDITION, REASON } from './names.ts';
import type { Migration, Vmmrq } from './objects.ts';

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
