import { z } from 'zod';

/**
 * The objects of config/ and sources/ that Knative acts on, as far as the stand-ins model them. A spec field that is
 * not listed here is an error: no part of a manifest may be ignored here.
 */
const text = z.string().min(1);
const metadata = z.looseObject({
  name: text,
  namespace: text,
  annotations: z.record(z.string(), z.string()).optional(),
});

const destination = z.strictObject({
  ref: z.strictObject({ apiVersion: text, kind: text, name: text, namespace: text.optional() }).optional(),
  uri: text.optional(),
});

const delivery = z.strictObject({
  retry: z.int().min(0).optional(),
  backoffPolicy: z.enum(['linear', 'exponential']).optional(),
  backoffDelay: text.optional(),
  timeout: text.optional(),
  deadLetterSink: destination.optional(),
});

const reference = z.looseObject({ apiVersion: text, kind: text, name: text });

const broker = z.looseObject({
  apiVersion: z.literal('eventing.knative.dev/v1'),
  kind: z.literal('Broker'),
  metadata,
  spec: z.strictObject({ config: reference.optional(), delivery: delivery.optional() }).optional(),
});

const attributes = z.record(z.string(), z.string());

const trigger = z.looseObject({
  apiVersion: z.literal('eventing.knative.dev/v1'),
  kind: z.literal('Trigger'),
  metadata,
  spec: z.strictObject({
    broker: text,
    filter: z.strictObject({ attributes: attributes.optional() }).optional(),
    filters: z.array(z.record(z.string(), z.unknown())).optional(),
    subscriber: destination,
    delivery: delivery.optional(),
  }),
});

const labelSelector = z.strictObject({
  matchLabels: z.record(z.string(), z.string()).optional(),
  matchExpressions: z
    .array(
      z.strictObject({
        key: text,
        operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
        values: z.array(z.string()).optional(),
      }),
    )
    .optional(),
});

const apiServerSource = z.looseObject({
  apiVersion: z.literal('sources.knative.dev/v1'),
  kind: z.literal('ApiServerSource'),
  metadata,
  spec: z.strictObject({
    serviceAccountName: text.default('default'),
    mode: z.enum(['Reference', 'Resource']).default('Reference'),
    resources: z
      .array(z.strictObject({ apiVersion: text, kind: text, selector: labelSelector.optional() }))
      .min(1),
    namespaceSelector: labelSelector.optional(),
    sink: destination,
    ceOverrides: z.strictObject({ extensions: attributes.optional() }).optional(),
  }),
});

const httpGet = z.looseObject({ path: z.string().optional() });

const container = z.looseObject({
  image: text,
  env: z
    .array(z.looseObject({ name: text, value: z.string().optional(), valueFrom: z.unknown().optional() }))
    .default([]),
  readinessProbe: z.looseObject({ httpGet: httpGet.optional() }).optional(),
});

const service = z.looseObject({
  apiVersion: z.literal('serving.knative.dev/v1'),
  kind: z.literal('Service'),
  metadata,
  spec: z.looseObject({
    template: z.looseObject({
      metadata: z.looseObject({ annotations: attributes.optional() }).optional(),
      spec: z.looseObject({
        serviceAccountName: text.default('default'),
        containerConcurrency: z.int().min(0).default(0),
        timeoutSeconds: z.int().min(1).default(300),
        containers: z.array(container).length(1),
      }),
    }),
  }),
});

export type Destination = z.infer<typeof destination>;
export type Delivery = z.infer<typeof delivery>;
export type LabelSelector = z.infer<typeof labelSelector>;
export type Broker = z.infer<typeof broker>;
export type Trigger = z.infer<typeof trigger>;
export type ApiServerSource = z.infer<typeof apiServerSource>;
export type KnativeService = z.infer<typeof service>;

const SCHEMAS = {
  'eventing.knative.dev/v1 Broker': broker,
  'eventing.knative.dev/v1 Trigger': trigger,
  'sources.knative.dev/v1 ApiServerSource': apiServerSource,
  'serving.knative.dev/v1 Service': service,
} as const;

type Kind = keyof typeof SCHEMAS;

/** A rendered manifest, of any kind. */
export interface Manifest {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
}

const parse = <K extends Kind>(kind: K, manifest: unknown): z.infer<(typeof SCHEMAS)[K]> => {
  const result = SCHEMAS[kind].safeParse(manifest);
  if (result.success) return result.data as z.infer<(typeof SCHEMAS)[K]>;
  throw new Error(`${describe(manifest)}: ${z.prettifyError(result.error)}`);
};

/** Each throws an error that names the object and what is wrong in it. */
export const parseBroker = (manifest: unknown): Broker => parse('eventing.knative.dev/v1 Broker', manifest);
export const parseTrigger = (manifest: unknown): Trigger =>
  parse('eventing.knative.dev/v1 Trigger', manifest);
export const parseApiServerSource = (manifest: unknown): ApiServerSource =>
  parse('sources.knative.dev/v1 ApiServerSource', manifest);
export const parseService = (manifest: unknown): KnativeService =>
  parse('serving.knative.dev/v1 Service', manifest);

/** The objects of an installation that Knative acts on. Throws for the first unreadable one. */
export function knativeObjects(manifests: readonly Manifest[]): {
  brokers: Broker[];
  triggers: Trigger[];
  sources: ApiServerSource[];
  services: KnativeService[];
} {
  const ofKind = (kind: Kind): readonly Manifest[] =>
    manifests.filter((manifest) => `${String(manifest.apiVersion)} ${String(manifest.kind)}` === kind);
  return {
    brokers: ofKind('eventing.knative.dev/v1 Broker').map(parseBroker),
    triggers: ofKind('eventing.knative.dev/v1 Trigger').map(parseTrigger),
    sources: ofKind('sources.knative.dev/v1 ApiServerSource').map(parseApiServerSource),
    services: ofKind('serving.knative.dev/v1 Service').map(parseService),
  };
}

function describe(manifest: unknown): string {
  const { kind, metadata: meta } = (manifest ?? {}) as { kind?: string; metadata?: { name?: string } };
  return `${kind ?? 'an object without kind'} ${meta?.name ?? '(no name)'}`;
}
