import { setTimeout as delay } from 'node:timers/promises';
import type { LocalCluster } from '../../test/cluster/cluster.ts';
import type { AuditLog } from './audit.ts';
import type { Happening } from './happenings/happening.ts';
import { happeningsOf } from './happenings/of-change.ts';
import type { Traces } from './traces.ts';
import type { Watching } from './watching.ts';

/** Where scenarios run: the cluster, and every record of what happens in it. */
export interface Stage {
  readonly cluster: LocalCluster;
  readonly watching: Watching;
  readonly traces: Traces;
  readonly audit: AuditLog;
}

/** Everything in these namespaces from `since` on (milliseconds since 1970). */
export const happeningsIn = (
  { watching }: Stage,
  namespaces: readonly string[],
  since: number,
): Happening[] =>
  watching.changes
    .filter(({ at }) => at >= since)
    .flatMap(happeningsOf)
    .filter(({ namespace }) => namespaces.includes(namespace));

/** Resolves to true once the Broker has no event to deliver and no function has a process; to false when `signal` aborts. */
export async function untilAtRest({ cluster }: Stage, signal: AbortSignal): Promise<boolean> {
  const { broker, activator } = cluster.eventing;
  while (!signal.aborted) {
    await broker.idle();
    if (activator.running().length === 0) return true;
    await delay(20);
  }
  return false;
}
