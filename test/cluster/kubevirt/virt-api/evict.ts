import type { KubernetesObject } from '../../../../functions/domain/objects.ts';
import type { Cluster, ResourceType } from '../../../../functions/kubernetes/cluster.ts';
import type { LauncherPod } from '../objects/types.ts';

/** policy/v1 Eviction. */
interface Eviction extends KubernetesObject {
  deleteOptions?: { dryRun?: readonly 'All'[] };
}

/** Asks for the eviction of a pod, as `kubectl drain` does. Rejects with the refusal of a webhook or a disruption budget. */
export async function evict(
  cluster: Cluster,
  { metadata: { name, namespace = 'default' } }: LauncherPod,
  { dryRun = false }: { readonly dryRun?: boolean } = {},
): Promise<void> {
  const evictions: ResourceType<Eviction> = {
    apiVersion: 'v1',
    kind: 'Eviction',
    plural: `pods/${name}/eviction`,
    namespaced: true,
  };
  await cluster.create(evictions, {
    apiVersion: 'policy/v1',
    metadata: { name, namespace },
    ...(dryRun ? { deleteOptions: { dryRun: ['All'] } } : {}),
  });
}
