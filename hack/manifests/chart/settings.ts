import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { PLACEHOLDER } from '../../../test/cluster/image.ts';
import { isMap } from './merge.ts';

/** Marks of this file in an object, which `withActions` replaces in its lines. Helm's own are in no manifest. */
const MARKS = /\{\{|\}\}|VALUE\(|BLOCK\(/;
const value = (expression: string): string => `VALUE(.Values.${expression})`;
/** Marks a map or a list, which is left out when it is empty. */
const block = (path: string): string => `BLOCK(${path})`;

/** A deployment, or a Service of Knative, with what the chart's values change. */
export interface Workload extends KubernetesObject {
  readonly spec: {
    readonly replicas?: number | string;
    readonly template: { readonly spec: PodSpec };
  };
}
interface PodSpec {
  readonly affinity?: unknown;
  readonly priorityClassName?: string;
  readonly containers: readonly Container[];
}
interface Container {
  readonly resources?: unknown;
  readonly env?: readonly { readonly name: string; readonly value: string }[];
}

export const GUARD = 'mtq-guard';
/** The guard's, and in the quota for the pods of this class. */
const PRIORITY_CLASS = 'system-cluster-critical';

/** Whether the object is a function. (Kubernetes' own Service has this kind too.) */
export const isFunction = ({ apiVersion = '', kind }: KubernetesObject): boolean =>
  kind === 'Service' && apiVersion.startsWith('serving.knative.dev/');

/** The object with marks where the values of the chart go. Throws for a text that has such a mark already. */
export function withValues(object: KubernetesObject): KubernetesObject {
  const filled = fill(object) as KubernetesObject;
  const { kind, metadata } = filled;
  if (kind === 'ServiceAccount') return { ...filled, ...{ imagePullSecrets: block('imagePullSecrets') } };
  if (kind === 'ServiceMonitor' || kind === 'PrometheusRule') {
    const labels = { ...metadata.labels, [block('prometheus.labels')]: null } as Record<string, never>;
    return { ...filled, metadata: { ...metadata, labels } };
  }
  return kind === 'Deployment' || isFunction(filled) ? workloadWithValues(filled as Workload) : filled;
}

function workloadWithValues(workload: Workload): Workload {
  const { spec, metadata } = workload;
  const isGuard = metadata.name === GUARD;
  const of = isFunction(workload) ? 'functions' : 'guard';
  const [container, ...others] = spec.template.spec.containers;
  const hasResources = isGuard || isFunction(workload);
  const pod = {
    ...spec.template.spec,
    ...(isGuard ? { affinity: block('guard.affinity') } : {}),
    nodeSelector: block(`${of}.nodeSelector`),
    tolerations: block(`${of}.tolerations`),
    containers: [
      { ...container, ...(hasResources ? { resources: block(`${of}.resources`) } : {}) },
      ...others,
    ],
  };
  const replicas = isGuard ? { replicas: value('guard.replicas') } : {};
  return { ...workload, spec: { ...spec, ...replicas, template: { ...spec.template, spec: pod } } };
}

/** Finds KubeVirt's namespace in the policies: in a user's name, and as the last of the namespaces that are never locked. */
const KUBEVIRT_IN_CEL =
  /(?<=system:serviceaccount:)(?:kubevirt|openshift-cnv)(?=:)|(?<='mtq-system', ')kubevirt(?='\])/g;

/** The values whose places are the same in all objects. */
function fill(part: unknown, key = ''): unknown {
  if (Array.isArray(part)) return part.map((item) => fill(item));
  if (isMap(part)) {
    if (part['name'] === 'KUBEVIRT_NAMESPACE') return { ...part, value: value('kubevirtNamespace | quote') };
    return Object.fromEntries(Object.entries(part).map(([name, each]) => [name, fill(each, name)]));
  }
  if (typeof part !== 'string') return part;
  if (MARKS.test(part)) throw new Error(`Helm would take a part of this text for its own: ${part}`);
  if (key === 'image' && part.startsWith(PLACEHOLDER)) return value('image | quote');
  if (part === PRIORITY_CLASS) return value('guard.priorityClassName | quote');
  return part.replaceAll(KUBEVIRT_IN_CEL, value('kubevirtNamespace'));
}

const BLOCK_LINE = /^( *)(?:(\w+): )?BLOCK\(([\w.]+)\)(?:: null)?$/;

/** The lines of `withValues` as lines of a template: each mark becomes an action of Helm. */
export const withActions = (lines: readonly string[]): string[] => lines.flatMap(withAction);

function withAction(line: string): string[] {
  const [whole, indent = '', key, path = ''] = BLOCK_LINE.exec(line) ?? [];
  if (whole === undefined) return [line.replaceAll(/VALUE\(([^()]*)\)/g, '{{ $1 }}')];
  const inner = key === undefined ? indent : `${indent}  `;
  return [
    `{{- with .Values.${path} }}`,
    ...(key === undefined ? [] : [`${indent}${key}:`]),
    `${inner}{{- toYaml . | nindent ${String(inner.length)} }}`,
    '{{- end }}',
  ];
}
