import { SYSTEM_NAMESPACE } from '../../../functions/domain/names.ts';
import type { KubernetesObject } from '../../../functions/domain/objects.ts';

/** The text that Helm prints after an installation, as a template. `namespace` is the chart's own Namespace. */
export function notesFor(namespace: KubernetesObject | undefined): string {
  const labels = Object.entries(namespace?.metadata.labels ?? {}).map(([key, value]) => `${key}=${value}`);
  return `{{ .Chart.Name }} {{ .Chart.Version }} is in ${SYSTEM_NAMESPACE}. See that it works:

  kubectl -n ${SYSTEM_NAMESPACE} rollout status deployment/mtq-guard
  kubectl -n ${SYSTEM_NAMESPACE} get ksvc,broker,trigger,apiserversource  # each READY True
{{- if eq .Release.Namespace "${SYSTEM_NAMESPACE}" }}

The namespace is not part of this release, so give it its labels:

  kubectl label namespace ${SYSTEM_NAMESPACE} --overwrite ${labels.join(' ')}
{{- end }}
{{- if .Values.components.prometheus }}

Let Prometheus reach the guard:

  kubectl label namespace NAMESPACE_OF_PROMETHEUS metrics=enabled
{{- end }}
{{- if .Values.components.liveMigration }}

In each namespace of Providers, Plans or VMs that move, in a clone:

  kubectl apply -n NAMESPACE -k config/components/live-migration/namespace
{{- end }}

Then give headroom: a VirtualMachineMigrationResourceQuota in a tenant's namespace (README.md).

Before "helm uninstall", run the first two commands of "Uninstall" in docs/operations.md, so that no quota stays raised.
Helm keeps the CRDs, and so the VMMRQs. A later release of another name or namespace then needs --take-ownership.
`;
}
