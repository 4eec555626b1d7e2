import { canonicalKey, isChargedByPods, type Amounts } from '../quota/charged.ts';
import type { Container, Pod } from '../objects.ts';
import { parseQuantity, type Amount } from '../quantity.ts';

export type ResourceKind = 'requests' | 'limits';

/**
 * What quota admission charges for a new pod, by canonical key: Kubernetes' own rule (1.36: component-helpers
 * resource.PodRequests and PodLimits, pkg/quota/v1/evaluator/core/pods.go podComputeUsageHelper). Containers and sidecars
 * add up, a plain init container counts only where it alone needs more, pod-level resources win, overhead comes on top.
 */
export function podUsage(pod: Pod): Amounts {
  const usage = new Map<string, Amount>([['pods', 1n * 1_000_000_000n]]);
  for (const kind of ['requests', 'limits'] as const) {
    for (const [resource, amount] of podTotal(pod, kind)) {
      const key = keyOf(kind, resource);
      if (key !== undefined) usage.set(key, amount);
    }
  }
  return usage;
}

/** Limits count only for cpu, memory and ephemeral storage; of extended resources only the requests do. */
function keyOf(kind: ResourceKind, resource: string): string | undefined {
  const key = canonicalKey(`${kind}.${resource}`);
  return isChargedByPods(key) ? key : undefined;
}

/** What a pod as a whole may ask for, above its containers (component-helpers IsSupportedPodLevelResource). */
const isPodLevel = (resource: string): boolean => /^(cpu|memory|hugepages-.*)$/.test(resource);

/** Whether the pod as a whole asks for resources: then quotas do not demand them of each container. */
export function hasPodLevelResources({ spec: { resources } }: Pod): boolean {
  return Object.keys({ ...resources?.requests, ...resources?.limits }).some(isPodLevel);
}

/** Amounts without the overhead of the RuntimeClass: a LimitRange of pods looks at this. */
export function askedFor(pod: Pod, kind: ResourceKind): Map<string, Amount> {
  const total = containersTotal(pod, kind);
  for (const [resource, text] of Object.entries(pod.spec.resources?.[kind] ?? {})) {
    if (isPodLevel(resource)) total.set(resource, parseQuantity(text));
  }
  return total;
}

function podTotal(pod: Pod, kind: ResourceKind): Map<string, Amount> {
  const total = askedFor(pod, kind);
  for (const [resource, text] of Object.entries(pod.spec.overhead ?? {})) {
    // A pod without a limit (or one of zero: none) stays without one: overhead is added only where there is one.
    if (kind === 'requests' || (total.get(resource) ?? 0n) > 0n) add(total, resource, parseQuantity(text));
  }
  return total;
}

function containersTotal(pod: Pod, kind: ResourceKind): Map<string, Amount> {
  const running = new Map<string, Amount>();
  const peak = new Map<string, Amount>();
  for (const init of pod.spec.initContainers ?? []) {
    const own = amountsOf(init, kind);
    const isSidecar = init.restartPolicy === 'Always';
    for (const [resource, amount] of own) if (isSidecar) add(running, resource, amount);
    const here = new Map(running);
    for (const [resource, amount] of own) if (!isSidecar) add(here, resource, amount);
    raiseTo(peak, here);
  }
  for (const container of pod.spec.containers) {
    for (const [resource, amount] of amountsOf(container, kind)) add(running, resource, amount);
  }
  raiseTo(running, peak);
  return running;
}

const amountsOf = (container: Container, kind: ResourceKind): [string, Amount][] =>
  Object.entries(container.resources?.[kind] ?? {}).map(([resource, text]) => [
    resource,
    parseQuantity(text),
  ]);

const add = (sum: Map<string, Amount>, resource: string, amount: Amount): void => {
  sum.set(resource, (sum.get(resource) ?? 0n) + amount);
};

function raiseTo(sum: Map<string, Amount>, minimum: ReadonlyMap<string, Amount>): void {
  for (const [resource, amount] of minimum) {
    if (amount > (sum.get(resource) ?? 0n)) sum.set(resource, amount);
  }
}
