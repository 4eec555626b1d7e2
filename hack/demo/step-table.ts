import { EVENT, SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import type { CycleStepName } from '../../functions/runtime/settings.ts';
import { STEPS } from '../../functions/steps.ts';
import type { StepTrigger } from '../../functions/host/step.ts';
import type { Hop } from '../../test/cluster/eventing/broker.ts';
import type { TimelineEvent, What } from './timeline-events/timeline-event.ts';
import type { Traces } from './traces.ts';

/** A station of a migration: one of our five steps, or KubeVirt's work between them. */
export type Milestone = CycleStepName | 'refusal' | 'admission' | 'migration';

/** The timeline event of each station, in the order of a successful migration. */
const EVENT_OF: Readonly<Record<Milestone, What>> = {
  refusal: 'blocked',
  feasibility: 'evaluated',
  lock: 'locked',
  raise: 'raised',
  admission: 'admitted',
  lower: 'lowered',
  unlock: 'unlocked',
  migration: 'succeeded',
};

/** Every station of a successful migration. Feasibility is none: it only forwards a refusal, and writes nothing. */
export const ALL_MILESTONES = (Object.keys(EVENT_OF) as readonly Milestone[]).filter(
  (milestone) => milestone !== 'feasibility',
);

/** The first missing station of a scenario. */
export interface StoppedAt {
  /** 'report': every station happened, but Events or conditions are missing. */
  readonly milestone: Milestone | 'report';
  readonly namespace: string;
  /** The expected cause of the station and the actual events, as text. */
  readonly message: string;
}

export interface ObservedRun {
  readonly milestones: readonly Milestone[];
  readonly namespaces: readonly string[];
  readonly events: readonly TimelineEvent[];
  /** The start, milliseconds since 1970. */
  readonly since: number;
  readonly traces: Traces;
  /** The missing Events and conditions. */
  readonly missingReports: readonly string[];
}

/** The first missing station of the namespace that got least far. */
export function stoppedAt(run: ObservedRun): StoppedAt {
  const { milestones, namespaces, events, missingReports } = run;
  const stops = namespaces.flatMap((namespace) => {
    const own = events.filter((event) => event.namespace === namespace);
    const milestone = milestones.find((one) => !own.some(({ what }) => what === EVENT_OF[one]));
    return milestone === undefined ? [] : [{ milestone, namespace }];
  });
  const [first] = stops.toSorted(
    (one, other) => milestones.indexOf(one.milestone) - milestones.indexOf(other.milestone),
  );
  if (first === undefined) {
    const missing = missingReports.join(', ') || 'the end';
    const message = `Every step happened at least once, but these reports are missing: ${missing}.`;
    return { milestone: 'report', namespace: namespaces.join(', '), message };
  }
  return { ...first, message: whyMissing(first, run) };
}

/** The expected cause of a station, and the known reason why it did not happen. */
function whyMissing(
  { milestone, namespace }: { milestone: Milestone; namespace: string },
  { traces, since }: ObservedRun,
): string {
  const step = STEPS.find(({ name }) => name === milestone);
  if (step === undefined) return OTHERS[milestone] ?? '';
  const triggers = step.triggers.map(textOf).join(', ');
  const host = `http://${step.name}.${SYSTEM_NAMESPACE}.svc.`;
  const hops = traces.hops.filter(
    ({ at, subscriber, ...hop }) => at >= since && subscriber.startsWith(host) && hop.namespace === namespace,
  );
  const wanted = `Trigger mtq-${step.name} delivers ${triggers} to Service ${step.name}.`;
  return `${wanted} ${whatCame(hops, traces.lastWords(step.name))}`;
}

const OTHERS: Partial<Record<Milestone, string>> = {
  refusal:
    'KubeVirt sets the condition migrationRejectedByResourceQuota when a quota refuses the target pod.',
  admission: 'KubeVirt creates the target pod again when a ResourceQuota of the namespace changes.',
  migration: 'KubeVirt runs the migration once it has its target pod.',
};

/** "VirtualMachineInstanceMigration update" for an event of the source, the type for one of our events. */
function textOf({ type, kind }: StepTrigger): string {
  const isOurs = (Object.values(EVENT) as string[]).includes(type);
  return isOurs ? type : `${kind ?? ''} ${type.split('.').at(-1) ?? ''}`;
}

function whatCame(hops: readonly Hop[], lastWords = 'none'): string {
  if (hops.length === 0) return 'The Broker delivered no event of this namespace to it.';
  const failed = hops.filter(({ outcome }) => outcome !== 'ack' && outcome !== 'reply');
  const logged = `The last line of its log: ${lastWords}`;
  if (failed.length === 0) return `It ran ${String(hops.length)} times. ${logged}`;
  const counts = new Map<string, number>();
  for (const text of failed.map(describeHop)) counts.set(text, (counts.get(text) ?? 0) + 1);
  const tries = [...counts].map(([text, count]) => (count === 1 ? text : `${text} × ${String(count)}`));
  return `The Broker tried: ${tries.join(', ')}. ${logged}`;
}

const describeHop = ({ eventType, status, outcome }: Hop): string =>
  `${eventType} (${status === undefined ? 'no answer' : `answered ${String(status)}`}, ${outcome})`;
