import type { KubernetesObject } from '../../functions/domain/objects.ts';
import type { New } from '../../functions/kubernetes/cluster.ts';
import { parseService } from '../eventing/manifests.ts';

/** What is created, in the rendered words. */
export interface PodManifest extends New<KubernetesObject> {
  readonly spec: Readonly<Record<string, unknown>>;
}

interface KnativeService extends KubernetesObject {
  readonly spec: {
    readonly template: {
      readonly metadata?: { annotations?: Record<string, string>; labels?: Record<string, string> };
      readonly spec: Readonly<Record<string, unknown>>;
    };
  };
}

/** Said to Knative, not to the kubelet: how many requests a pod gets at once, and how long each may take. */
const OF_KNATIVE = ['containerConcurrency', 'timeoutSeconds'];

/**
 * A Pod of a rendered Knative Service: its template word for word, but for what only Knative understands. Its probes are
 * the kubelet's then (Knative's sidecar would ask instead). Throws at a Service that Knative would not take.
 */
export function podOf(service: KubernetesObject): PodManifest {
  parseService(service);
  const {
    metadata: { name, namespace },
    spec: { template },
  } = service as KnativeService;
  const { annotations, labels } = template.metadata ?? {};
  const podSpec = Object.entries(template.spec).filter(([key]) => !OF_KNATIVE.includes(key));
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      ...(namespace === undefined ? {} : { namespace }),
      ...(annotations === undefined ? {} : { annotations }),
      // Knative's own label of its pods, by which config/network finds them.
      labels: { ...labels, 'serving.knative.dev/service': name },
    },
    // False is Knative's default: no variables for every Service of the namespace.
    spec: { enableServiceLinks: false, ...Object.fromEntries(podSpec) },
  };
}

export const isKnativeService = ({ apiVersion, kind }: KubernetesObject): boolean =>
  apiVersion === 'serving.knative.dev/v1' && kind === 'Service';
