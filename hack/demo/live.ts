import type { AuditLog } from './audit.ts';
import { timelineEventsOf } from './timeline-events/of-change.ts';
import type { Out } from './colours.ts';
import { writerOf } from './scenario-timeline.ts';
import { describe, type RenderOptions } from './renderer.ts';
import { timelineOf } from './timeline.ts';
import type { Traces } from './traces.ts';
import { now, type Watching } from './watching.ts';

export interface LiveOptions {
  readonly watching: Watching;
  readonly traces: Traces;
  readonly audit: AuditLog;
  readonly renderOptions: RenderOptions;
  readonly out: Out;
}

const EVERY_MS = 250;
/** Younger events wait for the next round, because the audit log and the functions' logs are later than the watches. */
const YOUNG_MS = 300;

/** Prints the events of all namespaces from now on, until the returned function is called. */
export function renderLive(options: LiveOptions): () => void {
  const { watching, traces, audit, renderOptions, out } = options;
  const shownVerdicts = new Map<string, string>();
  let shownUntil = now();
  const timer = setInterval(() => {
    const [from, to] = [shownUntil, now() - YOUNG_MS];
    if (to <= from) return;
    shownUntil = to;
    const isNew = ({ at }: { readonly at: number }): boolean => from < at && at <= to;
    audit.read();
    const lines = timelineOf({
      events: watching.changes.filter(isNew).flatMap(timelineEventsOf),
      decisions: traces.decisions.filter(isNew),
      starts: traces.starts.filter(isNew),
      traces,
      shownVerdicts,
      writerOf: (event) => writerOf(event, audit),
    });
    for (const line of lines.filter(({ isDetail }) => !isDetail)) {
      const before = `${clock(line.at)}  ${line.namespace.padEnd(WIDTH)}  `;
      out.write(`${describe(line, { ...renderOptions, before })}\n`);
    }
  }, EVERY_MS);
  return () => clearInterval(timer);
}

const WIDTH = 12;

/** "06:27:16.123" */
const clock = (at: number): string =>
  new Date(at).toTimeString().slice(0, 8) + `.${new Date(at).toISOString().slice(20, 23)}`;
