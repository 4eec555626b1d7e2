import { named } from '../../functions/cluster/listed.ts';
import { LABEL } from '../../functions/domain/names.ts';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import type { ApiServer } from '../../functions/kubernetes/cluster.ts';
import { follow } from '../../functions/kubernetes/follow.ts';
import { MIGRATIONS, NAMESPACES, RESOURCE_QUOTAS, VMMRQS } from '../../functions/kubernetes/resources.ts';
import { pause, systemClock } from '../../functions/runtime/clock.ts';
import type { Right } from '../cluster/rights.ts';

/** Kinds whose changes change a report. Only locked namespaces and raised quotas: others change for many reasons. */
const WATCHED = [
  { type: MIGRATIONS, where: {} },
  { type: VMMRQS, where: {} },
  { type: NAMESPACES, where: { labelSelector: LABEL.locked } },
  { type: RESOURCE_QUOTAS, where: { labelSelector: LABEL.raised } },
] as const;

/** Rights that `--watch` needs besides. */
export const WATCH_RIGHTS: readonly Right[] = WATCHED.flatMap(({ type }): Right[] => [
  { verb: 'list', type },
  { verb: 'watch', type },
]);

/**
 * Milliseconds between two reports: at least `least`, and at most `most`, because a report also depends on objects that are not
 * watched.
 */
const EVERY_MS = { least: 2_000, most: 10_000 } as const;

/** Calls `look` at once, and again after each change. Ends only when `look` rejects. */
export async function whileWatching(cluster: ApiServer, look: () => Promise<void>): Promise<never> {
  const ending = new AbortController();
  let changed = new AbortController();
  const poke = (): void => changed.abort();
  const follower = { onList: poke, onChange: poke, onGone: poke, onError: poke };
  for (const { type, where } of WATCHED) {
    const followed = { type: named<KubernetesObject>(type), where, isOptional: true };
    void follow(cluster, { ...followed, signal: ending.signal }, follower);
  }
  try {
    for (;;) {
      // Before the look: a change during it counts.
      changed = new AbortController();
      await look();
      await pause(systemClock, EVERY_MS.least);
      await pause(systemClock, EVERY_MS.most - EVERY_MS.least, changed.signal);
    }
  } finally {
    ending.abort();
  }
}
