import { describe, expect, test } from '@jest/globals';
import { aContainer, aLauncher, anInit, podSpec } from '../../../test/support/builders/kubevirt.ts';
import { annotated } from '../../../test/support/builders/object.ts';
import { aQuota, hard, scoped } from '../../../test/support/builders/quota.ts';
import { exceeded, forbidden } from '../../../test/support/builders/pod-rejection.ts';
import { needsVolumeClaims, needsLimitRanges } from './optional-reads.ts';
import { LIMIT_RANGER } from './limit-ranges.ts';
import type { Pod, ResourceQuota } from '../objects.ts';
import { parsePodRejection } from '../quota/pod-rejection.ts';

const rejection = (text: string): NonNullable<ReturnType<typeof parsePodRejection>> => {
  const parsed = parsePodRejection(`Error creating pod: ${text}`);
  if (parsed === undefined) throw new Error('no refusal');
  return parsed;
};

describe('needsLimitRanges', () => {
  const needed = (quota: ResourceQuota, pod: Pod = aLauncher()): boolean =>
    needsLimitRanges([pod], [quota], []);

  test.each<[string, ResourceQuota]>([
    ['of what the launcher says itself', aQuota(hard({ 'requests.cpu': '1', memory: '1Gi', pods: '3' }))],
    ['of how many pods there are', aQuota(hard({ 'count/pods': '3' }))],
    ['of what no pod is charged for', aQuota(hard({ services: '3', 'requests.storage': '1Gi' }))],
  ])('no, with a quota %s', (_what, quota) => {
    expect(needed(quota)).toBe(false);
  });

  test.each<[string, ResourceQuota, Pod]>([
    ['a limit', aQuota(hard({ 'limits.cpu': '2' })), aLauncher()],
    ['ephemeral storage', aQuota(hard({ 'ephemeral-storage': '2Gi' })), aLauncher()],
    ['a device', aQuota(hard({ 'requests.example.com/gpu': '2' })), aLauncher()],
    [
      'a request of an init container',
      aQuota(hard({ 'requests.memory': '2Gi' })),
      aLauncher('vm0', podSpec({ initContainers: [anInit({ cpu: '1' })] })),
    ],
    [
      'a request that a LimitRange filled in',
      aQuota(hard({ cpu: '2' })),
      aLauncher('vm0', annotated(LIMIT_RANGER, 'LimitRanger plugin set: cpu request for container compute')),
    ],
    [
      'whether it is of best effort',
      aQuota(hard({ pods: '2' }), scoped({ scopes: ['BestEffort'] })),
      aLauncher('vm0', podSpec({ containers: [aContainer({ cpu: '1' })] })),
    ],
    [
      'the same by a selector',
      aQuota(
        hard({ pods: '2' }),
        scoped({
          scopeSelector: { matchExpressions: [{ scopeName: 'NotBestEffort', operator: 'Exists' }] },
        }),
      ),
      aLauncher('vm0', podSpec({ containers: [aContainer({})] })),
    ],
  ])('yes, where the launcher has no value for %s that a quota looks at', (_what, quota, pod) => {
    expect(needed(quota, pod)).toBe(true);
  });

  test('yes, where a LimitRange refused the pod; not for a refusal of a quota', () => {
    const quotas = [aQuota()];
    const maximum = rejection(forbidden('maximum cpu usage per Container is 1m, but limit is 2m'));
    expect(needsLimitRanges([aLauncher()], quotas, [maximum])).toBe(true);
    expect(needsLimitRanges([aLauncher()], quotas, [rejection(exceeded('quota', 'pods=1'))])).toBe(false);
  });
});

test.each<[string, boolean]>([
  ['persistentvolumeclaims', true],
  ['count/persistentvolumeclaims', true],
  ['requests.storage', true],
  ['gold.storageclass.storage.k8s.io/requests.storage', true],
  ['gold.storageclass.storage.k8s.io/persistentvolumeclaims', true],
  ['requests.ephemeral-storage', false],
  ['count/pods', false],
  ['requests.memory', false],
])('needsVolumeClaims, a quota of %s: %s', (key, want) => {
  expect(needsVolumeClaims([aQuota(hard({ [key]: '1' }))])).toBe(want);
});
