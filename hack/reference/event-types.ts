import { stringify } from 'yaml';
import { SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import { BROKER, eventCatalogue, schemaId } from './event-catalogue.ts';

/** The file of the EventTypes, from the repository's root. */
export const EVENT_TYPES = 'config/components/event-types/eventtypes.yaml';

/**
 * Returns the EventTypes of the events for subscribers, for Eventing's registry, as the YAML of EVENT_TYPES. v1beta2 is what Eventing 1.17 to
 * 1.23 store. `textOf`: the text of a file.
 */
export function eventTypes(textOf: (file: string) => string): string {
  const objects = eventCatalogue(textOf).flatMap(({ type, description, isForSubscribers, sources }) =>
    isForSubscribers ? sources.map((source) => eventType(type, description, source)) : [],
  );
  return `# Written by npm run reference.\n${objects.map((object) => stringify(object)).join('---\n')}`;
}

const eventType = (type: string, description: string, source: string): object => ({
  apiVersion: 'eventing.knative.dev/v1beta2',
  kind: 'EventType',
  metadata: { namespace: SYSTEM_NAMESPACE, name: type },
  spec: {
    type,
    source,
    schema: schemaId(type),
    description,
    reference: { apiVersion: 'eventing.knative.dev/v1', kind: 'Broker', name: BROKER },
  },
});
