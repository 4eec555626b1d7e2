import { expect, test } from '@jest/globals';
import { aLauncher } from '../../test/support/builders/kubevirt.ts';
import { aClaim, keepingState } from '../../test/support/builders/pod-rejection.ts';
import { aKubeVirt, aTenant, clusterFacts, protectedBy } from '../../test/support/builders/preflight.ts';
import { aQuota, hard, used } from '../../test/support/builders/quota.ts';
import type { PersistentVolumeClaim, ResourceList, ResourceQuota } from '../../functions/domain/objects.ts';
import { preflight } from './preflight.ts';

const ofClass = (storageClassName: string, storage: string): PersistentVolumeClaim =>
  aClaim((claim) => ({
    ...claim,
    spec: { ...claim.spec, storageClassName, resources: { requests: { storage } } },
  }));

const holding = (list: ResourceList, limits = list): ResourceQuota =>
  aQuota(hard({ pods: '9', ...limits }), used({ pods: '1', ...list }));

const OLD = 'old.storageclass.storage.k8s.io/requests.storage';
const NEW = 'new.storageclass.storage.k8s.io/requests.storage';

interface Case {
  /** The VM's own claim, and what KubeVirt's CR has as vmStateStorageClass. */
  readonly own: PersistentVolumeClaim;
  readonly inCr?: string;
  readonly quota: ResourceQuota;
  readonly want: string;
}

const CASES: Record<string, Case> = {
  'the class of the VM’s own claim is full, and KubeVirt’s CR names another': {
    ...{ own: ofClass('old', '1Gi'), inCr: 'new', quota: holding({ [OLD]: '1Gi' }) },
    want: 'Passes Fits',
  },
  'the class of KubeVirt’s CR is full': {
    ...{ own: ofClass('old', '1Gi'), inCr: 'new', quota: holding({ [NEW]: '1Gi' }) },
    want: 'Stuck VolumeQuotaExceeded',
  },
  'the class of its own claim is full, and may not be the default any more': {
    ...{ own: ofClass('old', '10Mi'), quota: holding({ [OLD]: '1Gi' }) },
    want: 'CannotTell VolumeQuotaExceeded',
  },
  'there is room for what KubeVirt requests, and not for the size of its own': {
    own: ofClass('new', '1Gi'),
    inCr: 'new',
    quota: holding({ [NEW]: '1Gi' }, { [NEW]: '1034Mi' }),
    want: 'CannotTell VolumeQuotaExceeded',
  },
  'storage of any class is full': {
    ...{ own: ofClass('old', '10Mi'), quota: holding({ 'requests.storage': '1Gi' }) },
    want: 'Stuck VolumeQuotaExceeded',
  },
};

test.each(Object.entries(CASES))('a VM that keeps its state: %s', (_, { own, inCr, quota, want }) => {
  const tenant = aTenant({
    vmis: [protectedBy('LiveMigrate')(keepingState())],
    pods: [aLauncher()],
    claims: [own],
    quotas: [quota],
  });
  const kubevirt = aKubeVirt(inCr === undefined ? {} : { vmStateStorageClass: inCr });
  const [vm] = preflight({ kind: 'node', nodes: ['node1'] }, clusterFacts([tenant], { kubevirt })).vms;
  expect(`${String(vm?.outcome)} ${String(vm?.reason)}`).toBe(want);
});
