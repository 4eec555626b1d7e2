import { setTimeout as delay } from 'node:timers/promises';
import type { LocalCluster } from '../../test/cluster/cluster.ts';
import type { AuditLog } from './audit.ts';
import type { TimelineEvent } from './timeline-events/timeline-event.ts';
import { timelineEventsOf } from './timeline-events/of-change.ts';
import type { Traces } from './traces.ts';
import type { Watching } from './watching.ts';

/** The environment of the scenarios: the cluster and all its records. */
export interface DemoEnvironment {
  readonly cluster: LocalCluster;
  readonly watching: Watching;
  readonly traces: Traces;
  readonly audit: AuditLog;
  /** Output of people and programs beside the cluster, in order. */
  readonly notes: Note[];
}

/** A line of the timeline that no object of the cluster shows. */
export interface Note {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly actor: string;
  readonly text: string;
  readonly isDetail: boolean;
}

/** The timeline events in these namespaces, and those of the whole cluster, from `since` on (milliseconds since 1970). */
export const timelineEventsIn = (
  { watching }: DemoEnvironment,
  namespaces: readonly string[],
  since: number,
): TimelineEvent[] =>
  watching.changes
    .filter(({ at }) => at >= since)
    .flatMap(timelineEventsOf)
    .filter(({ namespace }) => namespace === '' || namespaces.includes(namespace));

/** Resolves to true once the Broker has no event to deliver and no function has a process; to false when `signal` aborts. */
export async function untilIdle({ cluster }: DemoEnvironment, signal: AbortSignal): Promise<boolean> {
  const { broker, activator } = cluster.eventing;
  while (!signal.aborted) {
    await broker.idle();
    if (activator.running().length === 0) return true;
    await delay(20);
  }
  return false;
}
