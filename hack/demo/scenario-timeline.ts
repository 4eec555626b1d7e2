import { actorOf, type AuditLog } from './audit.ts';
import type { Note } from './environment.ts';
import type { TimelineEvent } from './timeline-events/timeline-event.ts';
import type { ScenarioTimeline } from './renderer.ts';
import { quietRuns, timelineOf, windowsOf } from './timeline.ts';
import type { Traces } from './traces.ts';

export interface TimelineSources {
  /** The namespaces of the timeline; it omits all others. */
  readonly namespaces: readonly string[];
  /** The start, milliseconds since 1970. */
  readonly since: number;
  readonly events: readonly TimelineEvent[];
  readonly notes: readonly Note[];
  readonly traces: Traces;
  /** The audit log, which must already be read up to the last event. */
  readonly audit: AuditLog;
  /** Includes details. */
  readonly verbose: boolean;
}

/** Combines the watches, the audit log, the Broker and the functions' logs for some namespaces. */
export function scenarioTimelineOf({
  namespaces,
  since,
  events,
  notes,
  traces,
  audit,
  verbose,
}: TimelineSources): ScenarioTimeline {
  const isOurs = (namespace = ''): boolean => namespaces.includes(namespace);
  const own = timelineOf({
    events,
    traces,
    decisions: traces.decisions.filter(({ at, namespace }) => at >= since && isOurs(namespace)),
    starts: traces.starts.filter(({ at }) => at >= since),
    writerOf: (event) => writerOf(event, audit),
  });
  const noted = notes
    .filter(({ at }) => at >= since)
    .map((note) => ({ ...note, namespace: '', what: 'note' }) as const);
  const lines = [...own, ...noted].toSorted((one, other) => one.at - other.at);
  const ids = new Set(traces.hops.filter(({ namespace }) => isOurs(namespace)).map(({ id }) => id));
  const runs = traces.runs.filter(({ at, eventId = '' }) => at >= since && ids.has(eventId));
  const endedAt = lines.at(-1)?.at ?? since;
  return {
    namespaces,
    lines: lines.filter(({ isDetail }) => !isDetail || verbose),
    windows: windowsOf(lines, endedAt),
    blockedAt: lines.find(({ what }) => what === 'blocked')?.at,
    endedAt,
    quiet: quietRuns(lines, runs),
  };
}

/** The writer according to the audit log; undefined: the log has no such write. */
export function writerOf({ replaced, namespace }: TimelineEvent, audit: AuditLog): string | undefined {
  if (replaced === undefined) return undefined;
  const user = audit.writerOf({ ...replaced, namespace });
  return user === undefined ? undefined : actorOf(user);
}
