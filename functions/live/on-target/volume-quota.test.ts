import { expect, test } from '@jest/globals';
import { aQuota, hard, used } from '../../../test/support/builders/quota.ts';
import type { ResourceQuota } from '../../domain/objects.ts';
import { LIVE_KIND } from '../../domain/live/names.ts';
import { missingForVolumes } from './volume-quota.ts';
import type { NewVolume } from './volumes.ts';

const dataVolume = (name: string): NewVolume => ({
  ...LIVE_KIND.dataVolume,
  metadata: { name },
  spec: {
    source: { blank: {} },
    storage: { storageClassName: 'gold', resources: { requests: { storage: '5Gi' } } },
  },
});
const claim = (name: string): NewVolume => ({
  ...LIVE_KIND.claim,
  metadata: { name },
  spec: {
    storageClassName: 'gold',
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '5Gi' } },
  },
});
const BOTH = [dataVolume('root'), claim('data')];

test.each<[string, ResourceQuota[], string]>([
  ['no quota', [], ''],
  ['room for both', [aQuota(hard({ 'requests.storage': '10Gi', persistentvolumeclaims: '2' }))], ''],
  [
    'room for one',
    [aQuota(hard({ 'requests.storage': '9Gi' }))],
    'ResourceQuota quota lacks requests.storage=1Gi',
  ],
  [
    'less, since some is used',
    [aQuota(hard({ persistentvolumeclaims: '2' }), used({ persistentvolumeclaims: '1' }))],
    'ResourceQuota quota lacks persistentvolumeclaims=1',
  ],
  [
    'none of the class',
    [aQuota(hard({ 'gold.storageclass.storage.k8s.io/requests.storage': '1Gi' }))],
    'ResourceQuota quota lacks gold.storageclass.storage.k8s.io/requests.storage=9Gi',
  ],
  [
    'none of another class',
    [aQuota(hard({ 'fast.storageclass.storage.k8s.io/requests.storage': '1Gi' }))],
    '',
  ],
  [
    'a count',
    [aQuota(hard({ 'count/persistentvolumeclaims': '0' }))],
    'ResourceQuota quota lacks count/persistentvolumeclaims=2',
  ],
  ['nothing for pods', [aQuota(hard({ pods: '0', 'requests.cpu': '0' }))], ''],
])('%s', (_, quotas, wanted) => {
  expect(missingForVolumes(BOTH, quotas)).toBe(wanted);
});
