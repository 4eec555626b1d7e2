import type { Container, Pod, PodAffinityTerm, ResourceQuota, ScopeSelectorTerm } from '../objects.ts';
import { parseQuantity } from '../quantity.ts';

/**
 * Whether a quota counts this pod, when it is created: every scope and every term of its scopeSelector must match
 * (kubernetes 1.36 pkg/quota/v1/evaluator/core/pods.go, podMatchesScopeFunc). An unknown scope matches: then the quota is
 * looked at, never overlooked.
 */
export const quotaCoversPod = (quota: ResourceQuota, pod: Pod): boolean =>
  scopeTermsOf(quota).every((term) => matches(term, pod));

/** The scopes of a quota as terms, and the terms of its scopeSelector; all of them must match. */
export const scopeTermsOf = ({ spec }: ResourceQuota): ScopeSelectorTerm[] => [
  ...(spec.scopes ?? []).map((scopeName): ScopeSelectorTerm => ({ scopeName, operator: 'Exists' })),
  ...(spec.scopeSelector?.matchExpressions ?? []),
];

function matches(term: ScopeSelectorTerm, pod: Pod): boolean {
  switch (term.scopeName) {
    case 'Terminating':
      return isTerminating(pod);
    case 'NotTerminating':
      return !isTerminating(pod);
    case 'BestEffort':
      return isBestEffort(pod);
    case 'NotBestEffort':
      return !isBestEffort(pod);
    case 'PriorityClass':
      return matchesPriorityClass(term, pod.spec.priorityClassName ?? '');
    case 'CrossNamespacePodAffinity':
      return affinityTermsOf(pod).some(reachesOtherNamespaces);
    case 'VolumeAttributesClass':
      // A scope of volume claims: no pod has it.
      return false;
    default:
      return true;
  }
}

const isTerminating = (pod: Pod): boolean => (pod.spec.activeDeadlineSeconds ?? -1) >= 0;

/** No container asks for CPU or memory; of a pod that asks for itself, only that counts (qos.ComputePodQOS). */
function isBestEffort({ spec }: Pod): boolean {
  const asking: readonly Pick<Container, 'resources'>[] =
    spec.resources === undefined ? [...spec.containers, ...(spec.initContainers ?? [])] : [spec];
  return !asking.some(({ resources }) => asks(resources?.requests) || asks(resources?.limits));
}

const asks = (list: Readonly<Record<string, string>> = {}): boolean =>
  ['cpu', 'memory'].some((resource) => parseQuantity(list[resource] ?? '0') > 0n);

/** Required and preferred terms of affinity and anti-affinity. A launcher has its VMI's, and one more to be apart from the source. */
function affinityTermsOf({ spec: { affinity } }: Pod): PodAffinityTerm[] {
  return [affinity?.podAffinity, affinity?.podAntiAffinity].flatMap((kind) => [
    ...(kind?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(kind?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
      ({ podAffinityTerm }) => podAffinityTerm,
    ),
  ]);
}

const reachesOtherNamespaces = ({ namespaces = [], namespaceSelector }: PodAffinityTerm): boolean =>
  namespaces.length > 0 || namespaceSelector !== undefined;

function matchesPriorityClass({ operator, values = [] }: ScopeSelectorTerm, name: string): boolean {
  switch (operator) {
    case 'Exists':
      return name !== '';
    case 'DoesNotExist':
      return name === '';
    case 'In':
      return values.includes(name);
    case 'NotIn':
      return !values.includes(name);
  }
}
