import { isChargedByPods } from '../quota/charged.ts';
import type { Container, Pod, ResourceQuota } from '../objects.ts';
import { hasPodLevelResources } from './pod-usage.ts';

/** What a quota requires of every container, and which field holds it, by key as the quota spells it. */
const DEMANDED: Readonly<Record<string, readonly ['requests' | 'limits', 'cpu' | 'memory']>> = {
  cpu: ['requests', 'cpu'],
  memory: ['requests', 'memory'],
  'requests.cpu': ['requests', 'cpu'],
  'requests.memory': ['requests', 'memory'],
  'limits.cpu': ['limits', 'cpu'],
  'limits.memory': ['limits', 'memory'],
};

/**
 * Why this quota would refuse the pod, whatever its headroom: a quota of CPU or memory requires a value from each container,
 * unless the pod has pod-level resources (kubernetes 1.36 pkg/quota/v1/evaluator/core/pods.go, Constraints). In the API
 * server's words, "limits.cpu for: compute,sidecar; …"; undefined: nothing.
 */
export function mustSpecify(quota: ResourceQuota, pod: Pod): string | undefined {
  if (hasPodLevelResources(pod)) return undefined;
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])];
  const missing = Object.keys(quota.status?.hard ?? {})
    .filter(isChargedByPods)
    .toSorted()
    .flatMap((key) => {
      const names = containers.filter((container) => lacks(container, key)).map(({ name }) => name);
      return names.length === 0 ? [] : [`${key} for: ${[...new Set(names)].toSorted().join(',')}`];
    });
  return missing.length === 0 ? undefined : missing.join('; ');
}

function lacks({ resources }: Container, key: string): boolean {
  const where = Object.hasOwn(DEMANDED, key) ? DEMANDED[key] : undefined;
  if (where === undefined) return false;
  const [kind, resource] = where;
  return resources?.[kind]?.[resource] === undefined;
}
