import type { Pod, ResourceQuota, ScopeSelectorTerm } from './objects.ts';

/**
 * Whether a quota counts this pod: every scope and every term of its scopeSelector must match
 * (kubernetes pkg/quota/v1/evaluator/core/pods.go, podMatchesScopeFunc). An unknown scope matches: then the quota is
 * looked at, never overlooked.
 */
export function quotaCoversPod(quota: ResourceQuota, pod: Pod): boolean {
  const scopes = (quota.spec.scopes ?? []).map((scopeName): ScopeSelectorTerm => ({
    scopeName,
    operator: 'Exists',
  }));
  const terms = [...scopes, ...(quota.spec.scopeSelector?.matchExpressions ?? [])];
  return terms.every((term) => matches(term, pod));
}

function matches(term: ScopeSelectorTerm, pod: Pod): boolean {
  switch (term.scopeName) {
    case 'Terminating':
      return isTerminating(pod);
    case 'NotTerminating':
      return !isTerminating(pod);
    case 'BestEffort':
      return pod.status?.qosClass === 'BestEffort';
    case 'NotBestEffort':
      return pod.status?.qosClass !== 'BestEffort';
    case 'PriorityClass':
      return matchesPriorityClass(term, pod.spec.priorityClassName ?? '');
    case 'CrossNamespacePodAffinity':
      // KubeVirt's launchers have no cross-namespace affinity terms of their own (facts/kubevirt.md §1.2).
      return false;
    default:
      return true;
  }
}

const isTerminating = (pod: Pod): boolean => (pod.spec.activeDeadlineSeconds ?? -1) >= 0;

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
