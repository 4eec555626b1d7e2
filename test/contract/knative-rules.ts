import { Broker, Trigger } from '@kubernetes-models/knative/eventing.knative.dev/v1';
import { EventPolicy } from '@kubernetes-models/knative/eventing.knative.dev/v1alpha1';
import { EventType } from '@kubernetes-models/knative/eventing.knative.dev/v1beta2';
import { Service } from '@kubernetes-models/knative/serving.knative.dev/v1';
import { ApiServerSource, PingSource } from '@kubernetes-models/knative/sources.knative.dev/v1';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { parseImage } from '../cluster/image.ts';
import * as stand from '../cluster/eventing/manifests.ts';
import { parseDuration } from '../cluster/eventing/times.ts';

/**
 * Checks rendered manifests as Knative's CRDs and webhooks would. @kubernetes-models/knative (made from Knative's own Go
 * types) checks the types; the rules of facts/knative.md §0–§3 check the rest. Every problem is one line.
 */
export function knativeProblems(objects: readonly KubernetesObject[]): string[] {
  const ours = objects.filter(({ apiVersion = '' }) => apiVersion.includes('.knative.dev/'));
  return ours.flatMap((object) => {
    const kind = KINDS[`${object.apiVersion ?? ''} ${object.kind ?? ''}`];
    if (kind === undefined) return [`${nameOf(object)}: no kind of Knative's that is known here`];
    const typeProblems = problemOf(() => new kind.model(object as never).validate());
    const rules = typeProblems.length > 0 ? [] : kind.rules(object as never, objects);
    return [...typeProblems, ...rules].map((problem) => `${nameOf(object)}: ${problem}`);
  });
}

interface Kind {
  readonly model: new (data: never) => { validate(): void };
  readonly rules: (object: never, all: readonly KubernetesObject[]) => string[];
}

const KINDS: Readonly<Record<string, Kind>> = {
  'serving.knative.dev/v1 Service': { model: Service, rules: serviceRules },
  'eventing.knative.dev/v1 Broker': { model: Broker, rules: brokerRules },
  'eventing.knative.dev/v1 Trigger': { model: Trigger, rules: triggerRules },
  'sources.knative.dev/v1 ApiServerSource': { model: ApiServerSource, rules: sourceRules },
  'sources.knative.dev/v1 PingSource': { model: PingSource, rules: sinkRules },
  'eventing.knative.dev/v1alpha1 EventPolicy': { model: EventPolicy, rules: policyRules },
  'eventing.knative.dev/v1beta2 EventType': { model: EventType, rules: eventTypeRules },
};

const nameOf = ({ kind = '', metadata }: KubernetesObject): string => `${kind} ${metadata.name}`;

function problemOf(check: () => unknown): string[] {
  try {
    check();
    return [];
  } catch (error) {
    return [error instanceof Error ? error.message : 'it is wrong'];
  }
}

/** The message, unless the condition holds. */
const unless = (holds: boolean, problem: string): string[] => (holds ? [] : [problem]);

interface ServiceObject extends KubernetesObject {
  spec: {
    template: {
      metadata?: { annotations?: Record<string, string> };
      spec: Record<string, unknown> & {
        containers: (Record<string, unknown> & { image: string; ports?: unknown[] })[];
        containerConcurrency?: number;
        timeoutSeconds?: number;
        volumes?: Record<string, unknown>[];
      };
    };
  };
}

const AUTOSCALING = 'autoscaling.knative.dev/';
/** Knative's default for max-revision-timeout-seconds in config-defaults. */
const MAX_SECONDS = 600;
const TEMPLATE_FIELDS = ['serviceAccountName', 'containerConcurrency', 'timeoutSeconds'];
const CONTAINER_FIELDS = [
  ...['name', 'image', 'env', 'resources', 'securityContext', 'volumeMounts'],
  ...['readinessProbe', 'livenessProbe', 'command', 'args', 'ports'],
];
const VOLUMES = ['secret', 'configMap', 'projected', 'emptyDir'];

function serviceRules(service: ServiceObject): string[] {
  const { containers, volumes = [], ...pod } = service.spec.template.spec;
  const [container, ...others] = containers;
  return [
    ...scaleRules(service),
    ...unless(others.length === 0, 'one container'),
    ...unknownFields(pod, TEMPLATE_FIELDS),
    ...unknownFields(container ?? {}, CONTAINER_FIELDS),
    ...problemOf(() => parseImage(container?.image)),
    ...volumes.flatMap((volume) => unknownFields(volume, ['name', ...VOLUMES])),
    ...problemOf(() => stand.parseService(service)),
  ];
}

function scaleRules({ metadata, spec }: ServiceObject): string[] {
  const { containerConcurrency = 0, timeoutSeconds = 300 } = spec.template.spec;
  const annotations = spec.template.metadata?.annotations ?? {};
  const said = (name: string, otherwise: string): string => annotations[AUTOSCALING + name] ?? otherwise;
  const maxScale = Number(said('max-scale', '0'));
  const retention = said('scale-to-zero-pod-retention-period', '0s');
  return [
    ...unless(
      !Object.keys(metadata.annotations ?? {}).some((name) => name.startsWith(AUTOSCALING)),
      'autoscaling annotations belong to spec.template.metadata (facts/knative.md §3.3)',
    ),
    ...unless(maxScale === 0 || Number(said('min-scale', '0')) <= maxScale, 'min-scale is above max-scale'),
    ...unless(/^\d+(?:\.\d+)?(?:s|m|h)$/.test(retention), `${retention} is no duration of Go's`),
    ...unless(timeoutSeconds <= MAX_SECONDS, 'timeoutSeconds is above what Knative allows'),
    ...unless(containerConcurrency <= 1_000, 'containerConcurrency is above 1000'),
  ];
}

const unknownFields = (object: Readonly<Record<string, unknown>>, known: readonly string[]): string[] =>
  Object.keys(object)
    .filter((name) => !known.includes(name))
    .map((name) => `${name} is nothing that a Knative Service may say`);

interface BrokerObject extends KubernetesObject {
  spec?: { config?: { name: string; namespace?: string }; delivery?: Delivery };
}

function brokerRules(broker: BrokerObject): string[] {
  const { metadata, spec } = broker;
  const annotations = metadata.annotations ?? {};
  const isKafka = annotations['eventing.knative.dev/broker.class'] === 'Kafka';
  return [
    ...problemOf(() => stand.parseBroker(broker)),
    ...deliveryRules(spec?.delivery),
    ...unless(
      isKafka || annotations['messaging.knative.dev/async-handler'] === 'true',
      'one slow Trigger holds up the source for everyone (facts/knative.md §2.1)',
    ),
    ...unless(
      !isKafka || spec?.config?.namespace !== undefined,
      "a Kafka Broker's config is in Eventing's namespace",
    ),
  ];
}

interface Delivery {
  retry?: number;
  backoffPolicy?: string;
  backoffDelay?: string;
  timeout?: string;
  deadLetterSink?: unknown;
}

function deliveryRules(delivery: Delivery = {}): string[] {
  const { retry, timeout, backoffDelay, backoffPolicy, deadLetterSink } = delivery;
  return [
    ...unless(
      retry !== undefined && retry <= 5,
      'without a number of its own it is tried for 204 s (facts/knative.md §2.1)',
    ),
    ...unless(['linear', 'exponential'].includes(backoffPolicy ?? ''), 'no backoffPolicy'),
    ...problemOf(() => parseDuration(timeout ?? '')),
    ...problemOf(() => parseDuration(backoffDelay ?? '')),
    ...unless(
      deadLetterSink !== undefined,
      'without a dead letter sink retries multiply along the chain (facts/knative.md §0)',
    ),
  ];
}

interface TriggerObject extends KubernetesObject {
  spec: {
    broker?: string;
    filter?: unknown;
    filters?: Record<string, unknown>[];
    subscriber: { ref?: { kind: string; name: string } };
    delivery?: Delivery;
  };
}

function triggerRules(trigger: TriggerObject, all: readonly KubernetesObject[]): string[] {
  const { broker, filter, filters = [], delivery } = trigger.spec;
  return [
    ...problemOf(() => stand.parseTrigger(trigger)),
    ...deliveryRules(delivery),
    ...subscriberRules(trigger, all),
    ...unless(hasBroker(all, broker), `there is no Broker ${broker ?? ''}`),
    ...unless(filter === undefined, 'filters, and not filter, which they would hide'),
    ...attributesOf(filters).flatMap(([name, value]) => [
      ...unless(/^[a-z0-9]{1,20}$/.test(name), `${name} is no attribute of a CloudEvent`),
      ...unless(value !== '', `${name} must not be empty`),
    ]),
  ];
}

function subscriberRules({ spec }: TriggerObject, all: readonly KubernetesObject[]): string[] {
  const { subscriber, delivery } = spec;
  const service = all.find(
    ({ apiVersion = '', kind, metadata }) =>
      apiVersion.startsWith('serving.') && kind === 'Service' && metadata.name === subscriber.ref?.name,
  ) as ServiceObject | undefined;
  if (service === undefined) return [`there is no Service ${subscriber.ref?.name ?? ''}`];
  const waits = Number(/^PT(\d+)S$/.exec(delivery?.timeout ?? '')?.[1] ?? 0);
  const { timeoutSeconds = 300 } = service.spec.template.spec;
  return unless(waits >= timeoutSeconds, 'it gives up before its function does');
}

const hasBroker = (all: readonly KubernetesObject[], wanted: string | undefined): boolean =>
  all.some(({ kind, metadata }) => kind === 'Broker' && metadata.name === wanted);

/** Attribute names and values of all `exact` filters, at any depth. */
function attributesOf(filters: readonly Record<string, unknown>[]): [string, unknown][] {
  return filters.flatMap((filter) =>
    Object.entries(filter).flatMap(([dialect, of]) =>
      dialect === 'exact'
        ? Object.entries(of as Record<string, unknown>)
        : attributesOf(of as Record<string, unknown>[]),
    ),
  );
}

interface SourceObject extends KubernetesObject {
  spec: { mode?: string; resources: unknown[]; filters?: unknown[]; sink: { ref?: { name: string } } };
}

function sourceRules(source: SourceObject, all: readonly KubernetesObject[]): string[] {
  const { filters } = source.spec;
  return [
    // Checks mode, resources and unknown fields, such as `delivery`, which a source does not have (facts/knative.md §1.1).
    ...problemOf(() => stand.parseApiServerSource(source)),
    ...unless(
      filters === undefined,
      "Knative's webhook refuses filters where the feature is off (facts/knative.md §1.1)",
    ),
    ...sinkRules(source, all),
  ];
}

function sinkRules(
  { spec }: { readonly spec: Pick<SourceObject['spec'], 'sink'> },
  all: readonly KubernetesObject[],
): string[] {
  const name = spec.sink.ref?.name;
  return unless(hasBroker(all, name), `there is no Broker ${name ?? ''}`);
}

interface PolicyObject extends KubernetesObject {
  spec: { to?: { ref?: { kind: string; name: string } }[]; from: { sub?: string; ref?: object }[] };
}

function policyRules({ spec }: PolicyObject, all: readonly KubernetesObject[]): string[] {
  return [
    ...(spec.to ?? []).flatMap(({ ref }) => unless(hasBroker(all, ref?.name), 'to: there is no such Broker')),
    ...spec.from.flatMap(({ sub, ref }) =>
      unless((sub === undefined) !== (ref === undefined), 'from: either a subject or a reference'),
    ),
  ];
}

interface EventTypeObject extends KubernetesObject {
  spec: { type: string; reference?: { kind: string; name: string } };
}

function eventTypeRules({ spec }: EventTypeObject, all: readonly KubernetesObject[]): string[] {
  return unless(hasBroker(all, spec.reference?.name), 'reference: there is no such Broker');
}
