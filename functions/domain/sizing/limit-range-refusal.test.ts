import { expect, test } from '@jest/globals';
import { aContainer, aLauncher, anInit, podSpec } from '../../../test/support/builders/kubevirt.ts';
import { metadata } from '../../../test/support/builders/object.ts';
import type { LimitRange, LimitRangeItem } from '../objects.ts';
import { limitRangeRefusal } from './limit-range-refusal.ts';

const range = (item: LimitRangeItem): LimitRange => ({
  metadata: metadata('range'),
  spec: { limits: [item] },
});
const compute = aContainer({ cpu: '1', memory: '1Gi' }, { cpu: '2', memory: '2Gi' });
const pod = aLauncher(
  'vm0',
  podSpec({ containers: [compute], initContainers: [anInit({ cpu: '1' }, 'Always')] }),
);
const plain = aLauncher('vm0', podSpec({ containers: [compute] }));

test.each<[string, LimitRangeItem, string | undefined]>([
  ['nothing', { type: 'Container' }, undefined],
  ['as much as the maximum', { type: 'Container', max: { memory: '2Gi' } }, undefined],
  [
    'more than the maximum',
    { type: 'Container', max: { memory: '2047Mi' } },
    'maximum memory usage per Container is 2047Mi, but limit is 2Gi',
  ],
  [
    'no limit where a maximum is',
    { type: 'Container', max: { 'ephemeral-storage': '1Gi' } },
    'maximum ephemeral-storage usage per Container is 1Gi, but no limit is specified',
  ],
  [
    'less than the minimum',
    { type: 'Container', min: { cpu: '1100m' } },
    'minimum cpu usage per Container is 1100m, but request is 1',
  ],
  [
    'no request where a minimum is',
    { type: 'Container', min: { 'ephemeral-storage': '1' } },
    'minimum ephemeral-storage usage per Container is 1, but no request is specified',
  ],
  ['as much as the ratio', { type: 'Container', maxLimitRequestRatio: { cpu: '2' } }, undefined],
  [
    'more than the ratio',
    { type: 'Container', maxLimitRequestRatio: { cpu: '1999m' } },
    'cpu max limit to request ratio per Container is 1999m, but the provided ratio is greater',
  ],
  ['the size of a claim', { type: 'PersistentVolumeClaim', max: { storage: '1' } }, undefined],
])('a container that asks for %s', (_, item, want) => {
  expect(limitRangeRefusal(plain, [range({ type: 'Pod' }), range(item)])).toBe(want);
});

test.each([
  ['in units', '1412828864', 'minimum memory usage per Pod is 2Gi, but request is 1.32Gi'],
  [
    'exactly where rounding would hide it',
    '2147000000',
    'minimum memory usage per Pod is 2Gi, but request is 2147000000',
  ],
])('an amount is shown %s', (_, memory, want) => {
  const small = aLauncher('vm0', podSpec({ containers: [aContainer({ memory }, {})] }));
  expect(limitRangeRefusal(small, [range({ type: 'Pod', min: { memory: '2Gi' } })])).toBe(want);
});

test('a range of pods looks at the sum of the containers, sidecars too', () => {
  const max = range({ type: 'Pod', max: { cpu: '2' }, min: { cpu: '2' } });
  expect(limitRangeRefusal(pod, [max])).toBeUndefined();
  expect(limitRangeRefusal(plain, [max])).toBe('minimum cpu usage per Pod is 2, but request is 1');
});

test('a range of containers looks at init containers too', () => {
  const max = range({ type: 'Container', max: { cpu: '2' } });
  expect(limitRangeRefusal(pod, [max])).toBe(
    'maximum cpu usage per Container is 2, but no limit is specified',
  );
});

test('a default limit that is less than the request makes the pod invalid', () => {
  const less = aLauncher('vm0', podSpec({ containers: [aContainer({ cpu: '6' }, { cpu: '4' })] }));
  expect(limitRangeRefusal(less, [range({ type: 'Container', default: { cpu: '4' } })])).toBe(
    'container compute requests cpu=6, but its limit is 4',
  );
  expect(limitRangeRefusal(less, [])).toBeUndefined();
});
