import { describe, expect, test } from '@jest/globals';
import { aVmmrq, giving } from '../../../test/support/builders/snapshot.ts';
import { amountsGiven, canonicalKey, describeShortfalls, isChargedByPods, unusableKeys } from './charged.ts';
import type { AmountList } from '../objects.ts';
import { parseQuantity } from '../quantity.ts';

test.each([
  ['cpu', 'requests.cpu'],
  ['memory', 'requests.memory'],
  ['ephemeral-storage', 'requests.ephemeral-storage'],
  ['hugepages-2Mi', 'requests.hugepages-2Mi'],
  ['count/pods', 'pods'],
  ['pods', 'pods'],
  ['requests.cpu', 'requests.cpu'],
  ['limits.cpu', 'limits.cpu'],
  ['requests.nvidia.com/gpu', 'requests.nvidia.com/gpu'],
])('%s is counted as %s', (key, want) => {
  expect(canonicalKey(key)).toBe(want);
});

describe('isChargedByPods (F25)', () => {
  test.each([
    ...['pods', 'count/pods', 'cpu', 'memory', 'ephemeral-storage'],
    ...['requests.cpu', 'requests.memory', 'requests.ephemeral-storage'],
    ...['limits.cpu', 'limits.memory', 'limits.ephemeral-storage'],
    ...['hugepages-2Mi', 'requests.hugepages-1Gi', 'requests.nvidia.com/gpu'],
    ...['requests.devices.kubevirt.io/tun', 'requests.deviceclass.resource.kubernetes.io/gpu'],
  ])('%s: a pod is charged for it', (key) => {
    expect(isChargedByPods(key)).toBe(true);
  });

  test.each([
    ...['persistentvolumeclaims', 'requests.storage', 'gold.storageclass.storage.k8s.io/requests.storage'],
    ...['services', 'services.loadbalancers', 'count/deployments.apps', 'configmaps', 'secrets'],
    // Of extended resources only the requests count, and their name says so (kubernetes, core/pods.go).
    ...['nvidia.com/gpu', 'limits.nvidia.com/gpu', 'limits.hugepages-2Mi', 'requests.', 'requests.gpu', ''],
    // Kubernetes' own names are not extended resources (IsNativeResource).
    ...[
      'requests.kubernetes.io/thing',
      'requests.node.kubernetes.io/thing',
      'gold.deviceclass.resource.k8s.io/devices',
    ],
  ])("'%s': no pod is", (key) => {
    expect(isChargedByPods(key)).toBe(false);
  });
});

describe('amountsGiven', () => {
  const given = (...lists: AmountList[]): Record<string, bigint> =>
    Object.fromEntries(amountsGiven(lists.map((list) => aVmmrq(giving(list)))));

  test.each<[string, AmountList[], AmountList]>([
    ['nothing', [], {}],
    ['one', [{ 'requests.cpu': '1200m' }], { 'requests.cpu': '1200m' }],
    ['several add up', [{ cpu: '1' }, { 'requests.cpu': '500m' }], { 'requests.cpu': '1500m' }],
    ['a number, as the API server keeps `pods: 1`', [{ pods: 1 }, { 'count/pods': '2' }], { pods: '3' }],
    [
      'a negative or unreadable amount counts as nothing, and spoils no other',
      [{ cpu: '-1', memory: 'much', pods: '1' }, { cpu: '2' }],
      { pods: '1', 'requests.cpu': '2' },
    ],
    [
      'one VMMRQ that names a resource twice gives it once: never more than it says of any key',
      [{ cpu: '2', 'requests.cpu': '1' }, { cpu: '1' }],
      { 'requests.cpu': '2' },
    ],
  ])('%s', (_, lists, want) => {
    const amounts = Object.entries(want).map(([key, text]) => [key, parseQuantity(String(text))]);
    expect(given(...lists)).toEqual(Object.fromEntries(amounts));
  });

  test('an empty spec, as the incumbent may have stored it', () => {
    expect(amountsGiven([aVmmrq((vmmrq) => ({ ...vmmrq, spec: {} }))]).size).toBe(0);
  });
});

test('unusableKeys names the keys with an unusable amount', () => {
  expect(unusableKeys(aVmmrq(giving({ cpu: '1', memory: '-1', pods: 'some' })))).toEqual(['memory', 'pods']);
});

test('describeShortfalls is readable for people', () => {
  const shortfalls = [
    { key: 'requests.cpu', missing: parseQuantity('600m') },
    { key: 'memory', missing: parseQuantity('1314Mi') },
  ];
  expect(describeShortfalls(shortfalls)).toBe('requests.cpu=600m, memory=1314Mi');
});
