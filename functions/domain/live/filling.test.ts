import { expect, test } from '@jest/globals';
import { aDataVolume } from '../../../test/support/builders/live-run.ts';
import type { DataVolume } from './kubevirt.ts';
import { claimOfDataVolume, fillingAtLaunch } from './filling.ts';

test.each<[string, string | undefined, string]>([
  ['a file system', 'Filesystem', '5711392681'],
  ['what the StorageProfile says', undefined, '5711392681'],
  ['a block device', 'Block', '5Gi'],
])('CDI asks for 5Gi of %s', (_what, volumeMode, wanted) => {
  const { spec } = claimOfDataVolume({ storage: '5Gi', storageClass: 'gold', volumeMode });
  expect(spec).toEqual({ storageClassName: 'gold', resources: { requests: { storage: wanted } } });
});

test.each<[string, readonly DataVolume[], { pods: number; claims: number }]>([
  ['no volume', [], { pods: 0, claims: 0 }],
  ['one that is filled', [aDataVolume('Succeeded')], { pods: 0, claims: 0 }],
  ['one with populators', [aDataVolume('PendingPopulation')], { pods: 1, claims: 1 }],
  ['one without', [aDataVolume('WaitForFirstConsumer')], { pods: 1, claims: 0 }],
  [
    'one of each',
    ['Succeeded', 'PendingPopulation', 'WaitForFirstConsumer'].map((phase) => aDataVolume(phase)),
    { pods: 2, claims: 1 },
  ],
])('at the launch, CDI takes for %s', (_what, volumes, wanted) => {
  const { pods, claims } = fillingAtLaunch(volumes);
  expect({ pods: pods.length, claims: claims.length }).toEqual(wanted);
});
