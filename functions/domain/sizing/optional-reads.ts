import { canonicalKey, isChargedByPods } from '../quota/charged.ts';
import { isClaimed } from './claims.ts';
import { withoutDefaults } from './limit-ranges.ts';
import type { Container, Pod, ResourceQuota } from '../objects.ts';
import type { PodRejection } from '../quota/pod-rejection.ts';

/**
 * Whether a LimitRange can make a difference: it fills in a field that a container leaves out and some quota requires, or it
 * refused a pod. Otherwise no step reads the LimitRanges of the namespace.
 */
export function needsLimitRanges(
  pods: readonly Pod[],
  quotas: readonly ResourceQuota[],
  rejections: readonly PodRejection[],
): boolean {
  if (rejections.some(({ kind }) => kind === 'limitRange')) return true;
  const fields = quotas.flatMap(fieldsOf);
  return pods.map(withoutDefaults).some(({ spec: { containers, initContainers = [] } }) => {
    const all = [...containers, ...initContainers];
    return fields.some((field) => all.some((container) => isOpen(container, field)));
  });
}

type ResourceField = readonly ['requests' | 'limits', string];

/** The container fields that the quota looks at; a scope of BestEffort looks at their requests and limits. */
function fieldsOf({ spec }: ResourceQuota): ResourceField[] {
  const scopes = [
    ...(spec.scopes ?? []),
    ...(spec.scopeSelector?.matchExpressions ?? []).map(({ scopeName }) => scopeName),
  ];
  const byQuality: readonly ResourceField[] = scopes.some((scope) => scope.endsWith('BestEffort'))
    ? [
        ['requests', 'cpu'],
        ['requests', 'memory'],
      ]
    : [];
  const byKeys = Object.keys(spec.hard ?? {})
    .filter(isChargedByPods)
    .flatMap((key): ResourceField[] => {
      const [, kind, resource] = /^(requests|limits)\.(.+)$/.exec(canonicalKey(key)) ?? [];
      return (kind === 'requests' || kind === 'limits') && resource !== undefined ? [[kind, resource]] : [];
    });
  return [...byQuality, ...byKeys];
}

const isOpen = ({ resources }: Container, [kind, resource]: ResourceField): boolean =>
  resources?.[kind]?.[resource] === undefined;

/** Whether some quota counts volume claims at all. */
export const needsVolumeClaims = (quotas: readonly ResourceQuota[]): boolean =>
  quotas.some(({ spec }) => Object.keys(spec.hard ?? {}).some(isClaimed));
