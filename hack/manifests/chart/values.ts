import { stringify } from 'yaml';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { GUARD, isFunction, type Workload } from './settings.ts';
import { SWITCH_VALUES, type Switch } from './switches.ts';

/** The part of JSON Schema (draft 7) that the chart uses. */
interface Schema {
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly [keyword: string]: unknown;
}

/** A map that has all these keys, and no others. */
const map = (properties: Readonly<Record<string, Schema>>, more: Schema = {}): Schema => ({
  ...{ type: 'object', additionalProperties: false, required: Object.keys(properties), properties },
  ...more,
});
const texts = (description: string, more: Schema = {}): Schema => ({
  ...{ description, type: 'object', additionalProperties: { type: 'string' } },
  ...more,
});
const list = (description: string, items: Schema): Schema => ({ description, type: 'array', items });

const QUANTITY: Schema = {
  type: ['string', 'number'],
  pattern: '^[0-9]+(\\.[0-9]+)?([mkMGTPE]|[KMGTPE]i)?$',
};
const AMOUNTS: Schema = { type: 'object', required: ['memory'], additionalProperties: QUANTITY };
const resources = (description: string): Schema =>
  map({ requests: AMOUNTS, limits: AMOUNTS }, { description });

const NODE_SELECTOR = texts('Labels of the nodes.');
const TOLERATION: Schema = {
  type: 'object',
  additionalProperties: false,
  properties: {
    ...{ key: { type: 'string' }, operator: { type: 'string' }, value: { type: 'string' } },
    ...{ effect: { type: 'string' }, tolerationSeconds: { type: 'integer' } },
  },
};
const TOLERATIONS = list('Taints of nodes that it accepts.', TOLERATION);
const AFFINITY: Schema = {
  description: 'By default, replicas keep apart. Other keys are added to these.',
  type: 'object',
  additionalProperties: false,
  properties: {
    ...{ nodeAffinity: { type: 'object' }, podAffinity: { type: 'object' } },
    ...{ podAntiAffinity: { type: 'object' } },
  },
};

/** The names of a namespace, and of another object. */
const LABEL = '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$';
const NAME = '^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$';

const ABOUT_SWITCH: Readonly<Record<Exclude<Switch, 'openshift'>, string>> = {
  'policy-only': 'Admission by the policies alone: no webhooks, no certificates.',
  minimal: 'One function for all steps.',
  'live-migration': 'Live migration between clusters. Needs the webhooks, so not with policyOnly.',
  'cert-manager': "cert-manager issues the guard's certificate.",
  'kafka-broker': 'Events go through the Broker for Apache Kafka.',
  oidc: 'Only our accounts may post to the Broker.',
  'event-types': "An EventType for each event for subscribers, in Eventing's registry.",
  prometheus: "The guard's metrics and alerts, by the Prometheus Operator.",
};

const COMPONENTS = map(
  Object.fromEntries(
    [...SWITCH_VALUES].map(([key, name]): [string, Schema] => [
      key,
      { description: ABOUT_SWITCH[name as keyof typeof ABOUT_SWITCH], type: 'boolean' },
    ]),
  ),
  {
    description: 'What config/components adds: docs/installing.md, "Overlays and components".',
    if: { properties: { policyOnly: { const: true } } },
    then: { properties: { liveMigration: { const: false } } },
  },
);

const VALUES = {
  image: {
    description: 'The image of all processes, with a tag or a digest.',
    type: 'string',
    // Shorter than the grammar of images, because Helm shows it to users: what is left of a tag or a digest may be anything.
    pattern: '^[\\w./:@-]+(:[\\w.-]+|@sha256:[0-9a-f]{64})$',
  },
  imagePullSecrets: list(
    'Secrets of mtq-system for a private registry, such as [{ name: registry }].',
    map({ name: { type: 'string', pattern: NAME } }),
  ),
  kubevirtNamespace: {
    description: "Where KubeVirt runs. OpenShift Virtualization's namespace is openshift-cnv.",
    type: 'string',
    pattern: LABEL,
  },
  components: COMPONENTS,
  guard: map(
    {
      replicas: {
        description:
          'From 2 to 9: a drain must leave one, and a quota has ten pods of its priority, one of them for updates.',
        ...{ type: 'integer', minimum: 2, maximum: 9 },
      },
      priorityClassName: {
        description: 'Migrations need the guard during drains, so it must be scheduled in a full cluster.',
        ...{ type: 'string', pattern: NAME },
      },
      resources: resources('Its heap has 112 MiB; the rest is for requests in transfer.'),
      ...{ nodeSelector: NODE_SELECTOR, tolerations: TOLERATIONS, affinity: AFFINITY },
    },
    {
      description:
        "The guard. (Its nodeSelector and tolerations are also those of live migration's watcher.)",
    },
  ),
  functions: map(
    {
      resources: resources('Of each function.'),
      nodeSelector: {
        ...NODE_SELECTOR,
        description: "Needs Knative's feature kubernetes.podspec-nodeselector.",
      },
      tolerations: { ...TOLERATIONS, description: "Needs Knative's feature kubernetes.podspec-tolerations." },
    },
    { description: 'The functions, which are Services of Knative.' },
  ),
  prometheus: map(
    {
      labels: texts(
        'Labels of the ServiceMonitor and the PrometheusRule, by which a Prometheus selects them.',
        {
          propertyNames: { not: { const: 'app.kubernetes.io/part-of' } },
        },
      ),
    },
    { description: 'With components.prometheus.' },
  ),
} satisfies Readonly<Record<string, Schema>>;

/** The schema of the chart's values, for values.schema.json. */
export const VALUES_SCHEMA: Schema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  ...map({ ...VALUES }),
  // Helm adds `global` where this chart is a part of another.
  properties: { ...VALUES, global: { type: 'object' } },
};

/** The chart's default values: what an installation with these switches has, and the image. */
export function defaultValues(
  objects: readonly KubernetesObject[],
  on: readonly Switch[],
  image: string,
): Readonly<Record<keyof typeof VALUES, unknown>> {
  const guard = found(objects, ({ kind, metadata }) => kind === 'Deployment' && metadata.name === GUARD).spec;
  const { affinity, priorityClassName, containers } = guard.template.spec;
  const [container] = containers;
  const [step] = found(objects, isFunction).spec.template.spec.containers;
  const noNodes = { nodeSelector: {}, tolerations: [] };
  const { replicas } = guard;
  return {
    image,
    imagePullSecrets: [],
    kubevirtNamespace: container?.env?.find(({ name }) => name === 'KUBEVIRT_NAMESPACE')?.value,
    components: Object.fromEntries([...SWITCH_VALUES].map(([key, name]) => [key, on.includes(name)])),
    guard: { replicas, priorityClassName, resources: container?.resources, ...noNodes, affinity },
    functions: { resources: step?.resources, ...noNodes },
    prometheus: { labels: {} },
  };
}

function found(objects: readonly KubernetesObject[], isIt: (object: KubernetesObject) => boolean): Workload {
  const object = objects.find(isIt);
  if (object === undefined) throw new Error('the manifests have no guard, or no function');
  return object as Workload;
}

/** Values as YAML, each after its description in the schema. */
export const valuesText = (values: Readonly<Record<string, unknown>>): string =>
  `${documented(VALUES_SCHEMA, values).join('\n')}\n`;

function documented({ properties = {} }: Schema, values: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(properties).flatMap(([key, schema]) => {
    const value = values[key];
    if (value === undefined) return [];
    const comment = schema.description === undefined ? [] : [`# ${schema.description}`];
    if (schema.properties === undefined)
      return [
        ...comment,
        ...stringify({ [key]: value })
          .trimEnd()
          .split('\n'),
      ];
    const inner = documented(schema, value as Readonly<Record<string, unknown>>);
    return [...comment, `${key}:`, ...inner.map((line) => `  ${line}`)];
  });
}
