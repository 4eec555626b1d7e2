import { stringify } from 'yaml';
import { SYSTEM_NAMESPACE } from '../../functions/domain/names.ts';
import type { KubernetesObject } from '../../functions/domain/objects.ts';
import { objectsOf } from '../../test/cluster/controlplane/kustomize.ts';
import { PLACEHOLDER } from '../../test/cluster/image.ts';

export interface ChartOptions {
  /** The rendered manifests with a placeholder for the image. */
  readonly manifests: string;
  /** The version in package.json, for the chart and for its app. */
  readonly version: string;
  /** The default image of the chart. */
  readonly image: string;
}

/** Helm's template syntax: Helm would interpret it in a manifest. */
const TEMPLATE_MARKERS = /\{\{|\}\}/;
const REQUIRED =
  '{{ required "image: no image is published yet; build one and say where it is" .Values.image | quote }}';
const IMAGE_LINE = new RegExp(`^(\\s*(?:- )?image: )(['"]?)${PLACEHOLDER}(?::\\{[^\\n]*\\})?\\2$`, 'gm');
const OWN_IMAGE = new RegExp(`image: ['"]?${PLACEHOLDER}`);
/** `helm uninstall` must keep the CRD, because Kubernetes deletes all VMMRQs with it. */
const KEEP = { 'helm.sh/resource-policy': 'keep' };

/**
 * The files of a Helm chart from the rendered manifests, by file name. Its only value is the image: all other settings are fixed in
 * the rendered manifests, because names are part of CEL expressions too. Throws when a manifest contains template syntax.
 */
export function chartOf({ manifests, version, image }: ChartOptions): Record<string, string> {
  if (TEMPLATE_MARKERS.test(manifests))
    throw new Error('the manifests hold {{ or }}: Helm would take that for its own');
  const templates = new Map<string, string[]>();
  for (const object of objectsOf(manifests)) {
    const file = `templates/${fileOf(object)}.yaml`;
    templates.set(file, [...(templates.get(file) ?? []), templateOf(object)]);
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
    'values.yaml': `# Where the image is.\n${stringify({ image })}`,
    ...Object.fromEntries([...templates].map(([file, texts]) => [file, texts.join('---\n')])),
  };
}

const fileOf = ({ kind = '', apiVersion = '' }: KubernetesObject): string =>
  `${apiVersion.includes('knative') ? 'knative-' : ''}${kind.toLowerCase()}`;

function templateOf(object: KubernetesObject): string {
  const isCrd = object.kind === 'CustomResourceDefinition';
  const { metadata } = object;
  const kept = { ...metadata, annotations: { ...metadata.annotations, ...KEEP } };
  const text = stringify(isCrd ? { ...object, metadata: kept } : object, { lineWidth: 0 });
  const template = text.replaceAll(IMAGE_LINE, `$1${REQUIRED}`);
  if (OWN_IMAGE.test(template)) throw new Error(`an image is where no template reaches: ${text}`);
  return object.kind === 'Namespace' ? ignoreExisting(template) : template;
}

/** `helm install -n mtq-system --create-namespace` creates the namespace first, and Helm then refuses to adopt it. */
const ignoreExisting = (template: string): string =>
  `{{- if ne .Release.Namespace "${SYSTEM_NAMESPACE}" }}\n${template}{{- end }}\n`;
