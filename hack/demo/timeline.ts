import { REASON } from '../../functions/domain/names.ts';
import type { TimelineEvent, What } from './timeline-events/timeline-event.ts';
import type { Decision, Run, Start, Traces } from './traces.ts';

/** One line of the story. */
export interface Line {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Empty for what is of no namespace. */
  readonly namespace: string;
  readonly actor: string;
  /** The function's run that did it. */
  readonly run?: Run;
  readonly what: What | 'verdict' | 'start';
  readonly text: string;
  readonly isDetail: boolean;
}

export interface Material {
  readonly events: readonly TimelineEvent[];
  readonly decisions: readonly Decision[];
  readonly starts: readonly Start[];
  readonly traces: Traces;
  /** Who made the write that a happening is (audit.ts); undefined: not known. */
  readonly writerOf: (event: TimelineEvent) => string | undefined;
  /** The last verdict that was told of each namespace, kept here from one call to the next; left out: none was. */
  readonly shownVerdicts?: Map<string, string>;
}

/** The story as lines, in the order in which it happened. */
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
 * Watches of different kinds do not keep step. etcd's versions say what came first; and what came before something that
 * we have heard of had happened by then.
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

/** Found again and again while others are at work. */
const NO_NEWS: readonly string[] = [REASON.nothingBlocked, REASON.alreadyLocked, REASON.grantWithoutLock];

/** What feasibility found: it writes nothing that could be watched. The same verdict is told once. */
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

/** Processes that start in one go are one line, at the time when the last of them was ready. */
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

/** How many runs of functions no line tells of: they found nothing to do, or somebody else was faster. */
export function quietRuns(lines: readonly Line[], runs: readonly Run[]): number {
  const shownRuns = new Set(lines.map(({ run }) => run));
  return runs.filter((run) => run.eventType !== undefined && !shownRuns.has(run)).length;
}

/** From one time to another, milliseconds since 1970. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** A time in which a namespace was locked, and in it the time in which more than the originals was enforced. */
export interface LockWindow extends Span {
  readonly namespace: string;
  readonly raised: Span | undefined;
}

/** The lock windows, in the order in which they began; one that is open ends at `until`. */
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
