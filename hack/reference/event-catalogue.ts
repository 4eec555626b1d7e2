import type * as z from 'zod';
import { EVENT_DATA, maintenanceChangedData } from '../../functions/domain/events.ts';
import { MOVE_EVENT_DATA } from '../../functions/domain/live/move-events.ts';
import { LIVE_EVENT, MOVE_EVENT } from '../../functions/domain/live/names.ts';
import { EVENT, sourceOf } from '../../functions/domain/names.ts';
import { MAINTENANCE_CHANGED, MAINTENANCE_EVENT } from '../../functions/domain/progress/names.ts';
import { liveEventData } from '../../functions/eventing/live-events.ts';
import { MAINTENANCE_EVENT_DATA } from '../../functions/progress/event-data.ts';
import { STEPS } from '../../functions/steps.ts';
import { entriesOf, sentenceOf, type Entry } from './render.ts';

/** A CloudEvent that this project sends, as docs/events says it. */
export interface SentEvent {
  readonly type: string;
  /** The sentence of its name, with a warning where subscribers must not rely on it. */
  readonly description: string;
  readonly isForSubscribers: boolean;
  readonly data: z.core.$ZodType;
  /** Each `source` that it may have. */
  readonly sources: readonly string[];
}

/** The name of our Broker (config/eventing/broker.yaml). */
export const BROKER = 'mtq';

/** The file of a type's schema. */
export const schemaFile = (type: string): string => `${type}.json`;

/**
 * The `$id` of a type's schema, from its reversed domain, as AsyncAPI recommends it for its `id`. No host serves these files, so it is a
 * name and no address.
 */
export const schemaId = (type: string): string => `urn:${type.replaceAll('.', ':')}`;

/** What each process posts to the Broker, beside the replies of the steps (functions/steps.ts). */
export const POSTED: Readonly<Record<string, readonly string[]>> = {
  unlock: [EVENT.namespaceUnlocked],
  progress: Object.values(MAINTENANCE_EVENT),
  live: [LIVE_EVENT.progressed, ...Object.values(MOVE_EVENT)],
  guard: [
    EVENT.lockExpired,
    EVENT.lockStalled,
    EVENT.migrationEnded,
    EVENT.resyncRequested,
    // Lost events that the guard resends (webhook/watchdog/missing-event.ts).
    EVENT.namespaceLocked,
    EVENT.quotaLowered,
    EVENT.quotaRaised,
    EVENT.quotaUndone,
    MAINTENANCE_CHANGED,
    LIVE_EVENT.resync,
  ],
};

/**
 * Returns every event that this project sends, those for subscribers first. The live-migration watcher's are not among them: they have the
 * types of an ApiServerSource (REFERENCE_EVENT). `textOf`: the text of a file, because the sources of the registries have the sentences.
 */
export function eventCatalogue(textOf: (file: string) => string): readonly SentEvent[] {
  const names = textOf('functions/domain/names.ts');
  const progress = textOf('functions/domain/progress/names.ts');
  const live = textOf('functions/domain/live/names.ts');
  const changed: Entry = [MAINTENANCE_CHANGED, sentenceOf(progress, 'MAINTENANCE_CHANGED')];
  const ofRuns = new Map<string, z.core.$ZodType>(
    Object.values(LIVE_EVENT).map((type) => [type, liveEventData]),
  );
  const ofSteps = new Map<string, z.core.$ZodType>([
    ...Object.entries(EVENT_DATA),
    [MAINTENANCE_CHANGED, maintenanceChangedData],
  ]);
  return [
    ...eventsOf(entriesOf(progress, 'MAINTENANCE_EVENT'), MAINTENANCE_EVENT_DATA, { isForSubscribers: true }),
    ...eventsOf(entriesOf(live, 'MOVE_EVENT'), MOVE_EVENT_DATA, { isForSubscribers: true }),
    ...eventsOf([...entriesOf(names, 'EVENT'), changed], ofSteps, { isForSubscribers: false }),
    ...eventsOf(entriesOf(live, 'LIVE_EVENT'), ofRuns, { isForSubscribers: false }),
  ];
}

const eventsOf = (
  entries: readonly Entry[],
  schemas: ReadonlyMap<string, z.core.$ZodType>,
  about: Pick<SentEvent, 'isForSubscribers'>,
): SentEvent[] =>
  entries.map(([type, sentence]) => {
    const data = schemas.get(type);
    if (data === undefined) throw new Error(`${type} has no schema`);
    const description = about.isForSubscribers
      ? sentence
      : `Internal, and may change with any version. ${sentence}`;
    return { type, description, ...about, data, sources: sourcesOf(type) };
  });

function sourcesOf(type: string): string[] {
  const replying = STEPS.filter(({ replies }) => replies.some((reply) => reply === type));
  const posting = Object.keys(POSTED).filter((process) => POSTED[process]?.includes(type));
  return [...replying.map(({ name }) => name), ...posting].map(sourceOf);
}
