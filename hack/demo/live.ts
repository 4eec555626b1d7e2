import type { AuditLog } from './audit.ts';
import { happeningsOf } from './happenings/of-change.ts';
import type { Out } from './paint.ts';
import { writerOf } from './story.ts';
import { describe, type Look } from './teller.ts';
import { timelineOf } from './timeline.ts';
import type { Traces } from './traces.ts';
import { now, type Watching } from './watching.ts';

export interface LiveOptions {
  readonly watching: Watching;
  readonly traces: Traces;
  readonly audit: AuditLog;
  readonly look: Look;
  readonly out: Out;
}

const EVERY_MS = 250;
/** What is younger is told the next time: the audit log and the functions' logs are a little later than the watches. */
const YOUNG_MS = 300;

/** Tells what happens from now on, of all namespaces, until the result is called. */
export function tellLive(options: LiveOptions): () => void {
  const { watching, traces, audit, look, out } = options;
  const shownVerdicts = new Map<string, string>();
  let shownUntil = now();
  const timer = setInterval(() => {
    const [from, to] = [shownUntil, now() - YOUNG_MS];
    if (to <= from) return;
    shownUntil = to;
    const isNew = ({ at }: { readonly at: number }): boolean => from < at && at <= to;
    audit.read();
    const lines = timelineOf({
      happenings: watching.changes.filter(isNew).flatMap(happeningsOf),
      decisions: traces.decisions.filter(isNew),
      starts: traces.starts.filter(isNew),
      traces,
      shownVerdicts,
      writerOf: (happening) => writerOf(happening, audit),
    });
    for (const line of lines.filter(({ isDetail }) => !isDetail)) {
      const before = `${clock(line.at)}  ${line.namespace.padEnd(WIDTH)}  `;
      out.write(`${describe(line, { ...look, before })}\n`);
    }
  }, EVERY_MS);
  return () => clearInterval(timer);
}

const WIDTH = 12;

/** "06:27:16.123" */
const clock = (at: number): string =>
  new Date(at).toTimeString().slice(0, 8) + `.${new Date(at).toISOString().slice(20, 23)}`;
