import { REASON } from '../../functions/domain/names.ts';
import type { TimelineEvent, What } from './timeline-events/timeline-event.ts';
import type { Decision, Run, Start, Traces } from './traces.ts';

/** A line of the timeline. */
export interface Line {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** The namespace; empty for a line without one. */
  readonly namespace: string;
  readonly actor: string;
  /** The run of the function that caused it. */
  readonly run?: Run;
  readonly what: What | 'verdict' | 'start' | 'note';
  readonly text: string;
  readonly isDetail: boolean;
}

export interface Material {
  readonly events: readonly TimelineEvent[];
  readonly decisions: readonly Decision[];
  readonly starts: readonly Start[];
  readonly traces: Traces;
  /** The writer of a timeline event (audit.ts); undefined: unknown. */
  readonly writerOf: (event: TimelineEvent) => string | undefined;
  /** The last shown verdict of each namespace, kept across calls. Default: none. */
  readonly shownVerdicts?: Map<string, string>;
}

/** The lines of the timeline in order. */
export function timelineOf(material: Material): Line[] {
  const { events, decisions, starts, traces } = material;
  return [
    ...inOrder(events).map((event) => lineOf(event, material)),
    ...newVerdicts(decisions, material.shownVerdicts ?? new Map<string, string>()).map((decision) =>
      verdictLine(decision, traces),
    ),
    ...startLines(starts),
  ].toSorted((one, other) => one.at - other.at);
}

/**
 * Sorts by etcd's versions, because watches of different kinds have different delays. An event with a lower version happened at the
 * latest when a watch reported a higher one.
 */
function inOrder(events: readonly TimelineEvent[]): TimelineEvent[] {
  let latest = Infinity;
  const backwards = events.toSorted((one, other) => Number(other.version - one.version));
  return backwards
    .map((event) => {
      latest = Math.min(latest, event.at);
      return { ...event, at: latest };
    })
    .toReversed();
}

function lineOf(event: TimelineEvent, { traces, writerOf }: Material): Line {
  const { at, namespace, text, what, isDetail = false } = event;
  const actor = writerOf(event) ?? event.by;
  return withRun({ at, namespace, actor, what, text, isDetail }, traces.runAt(actor, namespace, at));
}

const withRun = (line: Line, run: Run | undefined): Line => (run === undefined ? line : { ...line, run });

/** Verdicts that feasibility repeats while other steps work. */
const NO_NEWS: readonly string[] = [REASON.nothingBlocked, REASON.alreadyLocked, REASON.grantWithoutLock];

/** Feasibility's verdicts, from its log, because no watch sees them. The timeline shows each verdict once. */
function newVerdicts(decisions: readonly Decision[], shown: Map<string, string>): Decision[] {
  const ofRuns = decisions.filter(({ verdict }) => verdict === undefined);
  return ofRuns.filter(({ step, namespace = '', reason = '', message }) => {
    if (step !== 'feasibility' || NO_NEWS.includes(reason) || shown.get(namespace) === message) return false;
    shown.set(namespace, message);
    return true;
  });
}

function verdictLine({ at, namespace = '', message, eventId }: Decision, traces: Traces): Line {
  const line = {
    at,
    namespace,
    actor: 'feasibility',
    what: 'verdict',
    text: message,
    isDetail: false,
  } as const;
  return withRun(line, traces.runFor('feasibility', eventId, at));
}

const TOGETHER_MS = 1_000;

/** Processes that start together get one line, at the time when the last one is ready. */
function startLines(starts: readonly Start[]): Line[] {
  const groups: Start[][] = [];
  for (const start of starts) {
    const group = groups.at(-1);
    const first = group?.[0];
    if (group !== undefined && first !== undefined && start.at - first.at < TOGETHER_MS) group.push(start);
    else groups.push([start]);
  }
  return groups.map((group) => {
    const names = group.map(({ service, ms }) => `${service} ${Math.round(ms)} ms`).join(', ');
    const at = group.at(-1)?.at ?? 0;
    const text = `starts from zero: ${names}`;
    return { at, namespace: '', actor: 'Knative', what: 'start', text, isDetail: false };
  });
}

/** The number of runs without a line: they found nothing to do, or another run was faster. */
export function quietRuns(lines: readonly Line[], runs: readonly Run[]): number {
  const shownRuns = new Set(lines.map(({ run }) => run));
  return runs.filter((run) => run.eventType !== undefined && !shownRuns.has(run)).length;
}

/** A period, in milliseconds since 1970. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A period with a lock, and in it the period with raised quotas. */
export interface LockWindow extends Span {
  readonly namespace: string;
  readonly raised: Span | undefined;
}

/** The lock windows, sorted by their start; an open one ends at `until`. */
export function windowsOf(lines: readonly Line[], until: number): LockWindow[] {
  return lines.flatMap(({ what, namespace, at: from }, index) => {
    if (what !== 'locked') return [];
    const after = lines.slice(index).filter((line) => line.namespace === namespace);
    const to = after.find((line) => line.what === 'unlocked')?.at ?? until;
    const inside = after.filter(({ at }) => at <= to);
    const rose = inside.find((line) => line.what === 'raised')?.at;
    const fell = inside.findLast((line) => line.what === 'lowered')?.at ?? to;
    return [{ namespace, from, to, raised: rose === undefined ? undefined : { from: rose, to: fell } }];
  });
}
