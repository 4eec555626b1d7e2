import { ANNOTATION, FIELD_MANAGER, KIND } from '../domain/names.ts';
import type { KubernetesEvent } from '../domain/objects.ts';
import { isAboutMigration } from '../domain/progress/refused-migration.ts';
import { EVENTS } from '../kubernetes/resources.ts';
import { listed, NAMED, OBJECT } from './listed.ts';

/** Which object an Event is about, and the verdict in it. */
const VERDICT = {
  ...OBJECT,
  metadata: { ...NAMED, resourceVersion: true, annotations: { [ANNOTATION.verdict]: true } },
  involvedObject: {
    apiVersion: false,
    kind: false,
    namespace: false,
    name: false,
    uid: true,
    resourceVersion: false,
  },
  reason: false,
  type: false,
  count: false,
  firstTimestamp: false,
  lastTimestamp: false,
  source: false,
  message: false,
} as const;

/** Why KubeVirt could not create a migration for a VMI; other Events are left out. */
export const LISTED_REFUSED_MIGRATIONS = listed<KubernetesEvent>(
  EVENTS,
  {
    ...VERDICT,
    metadata: { ...NAMED, resourceVersion: true, creationTimestamp: true },
    lastTimestamp: true,
    message: true,
  },
  { maxBytes: 4 * 1024, skipIf: (whole) => !isAboutMigration(whole) },
);

/** Events that this system has written. */
export const OWN_EVENTS = { fieldSelector: `source=${FIELD_MANAGER}` } as const;

/** What they show, and since when. */
export const LISTED_OWN_EVENTS = listed<KubernetesEvent>(EVENTS, {
  ...VERDICT,
  lastTimestamp: true,
  message: true,
});

/** Selects the Events on migrations. */
export const EVENTS_WITH_VERDICTS = {
  fieldSelector: `${OWN_EVENTS.fieldSelector},involvedObject.kind=${KIND.migration.kind}`,
} as const;

/** Which migration each verdict is about; Events without a verdict are left out. */
export const LISTED_VERDICTS = listed<KubernetesEvent>(EVENTS, VERDICT, {
  maxBytes: 4 * 1024,
  skipIf: ({ metadata }) => metadata.annotations?.[ANNOTATION.verdict] === undefined,
});
