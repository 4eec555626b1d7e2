import { stringify } from 'yaml';
import { SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';
import { linesWhen, mergedLines, union } from './merge.ts';
import { notesFor } from './notes.ts';
import { withActions, withValues } from './settings.ts';
import type { Switch } from './switches.ts';
import { defaultValues, valuesText, VALUES_SCHEMA } from './values.ts';

/** What kustomize renders with these switches on; in the samples, with the placeholder for the image. */
export interface Rendered {
  readonly on: readonly Switch[];
  readonly objects: readonly KubernetesObject[];
}

export interface ChartOptions {
  /** An installation for each of SAMPLED. */
  readonly sampled: readonly Rendered[];
  /** The installation that the chart's default values render. */
  readonly byDefault: Rendered;
  /** The version in package.json, for the chart and for its app. */
  readonly version: string;
  /** The default image of the chart. */
  readonly image: string;
}

/** `helm uninstall` must keep the CRD, because Kubernetes deletes all VMMRQs with it. */
const KEEP = { 'helm.sh/resource-policy': 'keep' };

/**
 * The files of a Helm chart, by file name. The templates are made from rendered manifests: what these have in common, and a condition
 * for each difference. Throws for a manifest with template syntax, and for a difference that no switches of the values decide.
 */
export function chartOf({ sampled, byDefault, version, image }: ChartOptions): Record<string, string> {
  const templates = new Map<string, string[]>();
  const installations = sampled.map(({ on, objects }) => ({
    on,
    objects: new Map(objects.map((object) => [keyOf(object), object])),
  }));
  for (const key of union(installations.map(({ objects }) => [...objects.keys()]))) {
    const present = installations.map(({ objects }) => objects.has(key));
    const having = installations.flatMap(({ on, objects }) => {
      const object = objects.get(key);
      return object === undefined ? [] : [{ on, object }];
    });
    const file = `templates/${fileOf(having[0]?.object)}.yaml`;
    const lines = linesWhen(installations, present, templateOf(having));
    templates.set(file, [...(templates.get(file) ?? []), ...lines]);
  }
  return {
    'Chart.yaml': stringify({
      apiVersion: 'v2',
      name: 'managed-tenant-quota',
      description: 'Lets quota-blocked KubeVirt live migrations through, and restores every ResourceQuota.',
      type: 'application',
      version,
      appVersion: version,
      kubeVersion: '>=1.30.0-0',
    }),
    'values.yaml': valuesText(defaultValues(byDefault.objects, byDefault.on, image)),
    'values.schema.json': `${JSON.stringify(VALUES_SCHEMA, null, 2)}\n`,
    'templates/NOTES.txt': notesFor(byDefault.objects.find(({ kind }) => kind === 'Namespace')),
    ...Object.fromEntries([...templates].map(([file, lines]) => [file, `${lines.join('\n')}\n`])),
  };
}

const keyOf = ({
  apiVersion = '',
  kind = '',
  metadata: { namespace = '', name },
}: KubernetesObject): string => `${apiVersion} ${kind} ${namespace}/${name}`;

const fileOf = ({ kind = '', apiVersion = '' }: Partial<KubernetesObject> = {}): string =>
  `${apiVersion.includes('knative') ? 'knative-' : ''}${kind.toLowerCase()}`;

/** The template of one object: a document of YAML. */
function templateOf(
  having: readonly { on: readonly Switch[]; object: KubernetesObject }[],
): readonly string[] {
  const samples = having.map(({ on, object }) => ({ on, value: withValues(kept(object)) }));
  const document = ['---', ...withActions(mergedLines(samples))];
  return having[0]?.object.kind === 'Namespace' ? ignoreExisting(document) : document;
}

function kept(object: KubernetesObject): KubernetesObject {
  if (object.kind !== 'CustomResourceDefinition') return object;
  const { metadata } = object;
  return { ...object, metadata: { ...metadata, annotations: { ...metadata.annotations, ...KEEP } } };
}

/** `helm install -n mtq-system --create-namespace` creates the namespace first, and Helm then refuses to adopt it. */
const ignoreExisting = (lines: readonly string[]): string[] => [
  `{{- if ne .Release.Namespace "${SYSTEM_NAMESPACE}" }}`,
  ...lines,
  '{{- end }}',
];
