import type { ActivatorTrace, LogLine } from '../../test/cluster/eventing/activator.ts';
import type { Hop } from '../../test/cluster/eventing/broker.ts';

export type Run = Extract<ActivatorTrace, { kind: 'request' }>;
export type Start = Extract<ActivatorTrace, { kind: 'started' }>;

/** A line of a function's log (functions/runtime/log.ts). */
export interface Decision {
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly message: string;
  readonly step: string | undefined;
  readonly eventId: string | undefined;
  readonly namespace: string | undefined;
  readonly reason: string | undefined;
  /** The verdict of one migration; missing in the summary line of the run. */
  readonly verdict: string | undefined;
}

/** The records of the Broker, the activator and the functions. */
export class Traces {
  readonly hops: Hop[] = [];
  readonly runs: Run[] = [];
  readonly starts: Start[] = [];
  readonly decisions: Decision[] = [];
  readonly #lastWords = new Map<string, string>();

  readonly onHop = (hop: Hop): void => {
    this.hops.push(hop);
  };

  readonly onActivity = (trace: ActivatorTrace): void => {
    if (trace.kind === 'request') this.runs.push(trace);
    if (trace.kind === 'started') this.starts.push(trace);
  };

  readonly onLog = ({ service, text }: LogLine): void => {
    this.#lastWords.set(service, text);
    const decision = parse(text);
    if (decision !== undefined) this.decisions.push(decision);
  };

  /** The last log line of a service. */
  lastWords(service: string): string | undefined {
    return this.#lastWords.get(service);
  }

  /** The service's run for an event of this namespace that was active at that time, or ended last before it. */
  runAt(service: string, namespace: string, at: number): Run | undefined {
    const ids = new Set(this.hops.filter((hop) => hop.namespace === namespace).map(({ id }) => id));
    const runs = this.runs.filter(
      (run) => run.service === service && ids.has(run.eventId ?? '') && run.at <= at + CLOCKS_MS,
    );
    const underWay = runs.find((run) => at <= endOf(run));
    return underWay ?? runs.toSorted((one, other) => endOf(other) - endOf(one))[0];
  }

  /** The service's run for this event; of several, the run that was active at that time. */
  runFor(service: string, eventId: string | undefined, at: number): Run | undefined {
    const runs = this.runs.filter((run) => run.service === service && run.eventId === eventId);
    return runs.find((run) => run.at <= at + CLOCKS_MS && at <= endOf(run)) ?? runs[0];
  }
}

/** The error of Date.now(), which counts whole milliseconds. */
const CLOCKS_MS = 1;

const endOf = ({ at, ms }: Run): number => at + ms + CLOCKS_MS;

function parse(text: string): Decision | undefined {
  let line: unknown;
  try {
    line = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof line !== 'object' || line === null) return undefined;
  const fields = line as Readonly<Record<string, unknown>>;
  const field = (name: string): string | undefined =>
    typeof fields[name] === 'string' ? fields[name] : undefined;
  return {
    at: Date.parse(field('time') ?? ''),
    message: field('message') ?? '',
    step: field('step'),
    eventId: field('eventId'),
    namespace: field('namespace'),
    reason: field('reason'),
    verdict: field('verdict'),
  };
}
