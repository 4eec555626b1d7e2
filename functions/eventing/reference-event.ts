import { CloudEvent } from 'cloudevents';
import { REFERENCE_EVENT } from '../domain/live/names.ts';
import { sourceOf } from '../domain/names.ts';
import type { KubernetesObject } from '../domain/objects.ts';

export interface Referred {
  readonly change: keyof typeof REFERENCE_EVENT;
  readonly object: KubernetesObject & { readonly status?: { readonly phase?: string } };
  readonly type: { readonly apiVersion: string; readonly kind: string; readonly plural: string };
  /** The uid of the namespace kube-system of the object's cluster. */
  readonly cluster: string;
}

/**
 * An event like an ApiServerSource's in mode Reference (facts/knative.md §1.2): which object, and nothing of it but its phase. The extension
 * `mtqcluster` says in which cluster it is.
 */
export function referenceEventOf({
  change,
  object,
  type,
  cluster,
}: Referred): CloudEvent<Record<string, unknown>> {
  const { apiVersion, kind, plural } = type;
  const { name, namespace, uid, resourceVersion } = object.metadata;
  const phase = object.status?.phase ?? '';
  const where = namespace === undefined ? '' : `/namespaces/${namespace}`;
  return new CloudEvent({
    type: REFERENCE_EVENT[change],
    source: sourceOf('live-watcher'),
    subject: `/apis/${apiVersion}${where}/${plural}/${name}`,
    id: [cluster, uid, resourceVersion, change].join('/'),
    datacontenttype: 'application/json',
    data: { kind, namespace, name, apiVersion, uid, resourceVersion },
    ...{ kind, name, apiversion: apiVersion, mtqcluster: cluster, resourceversion: resourceVersion },
    ...(namespace === undefined ? {} : { namespace }),
    ...(phase === '' ? {} : { phase }),
  });
}
