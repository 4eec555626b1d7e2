import { describe, expect, test } from '@jest/globals';
import { aLauncher } from '../../../test/support/builders/kubevirt.ts';
import { aQuota, hard, used } from '../../../test/support/builders/quota.ts';
import { aVmmrq, giving } from '../../../test/support/builders/snapshot.ts';
import type { ResourceQuota } from '../../domain/objects.ts';
import { claimOfSize, STATE_CLAIM, type ClaimSize } from '../../domain/sizing/claims.ts';
import { claimOfDataVolume, fillingOf, fitAtLaunch } from './filling.ts';
import type { Needed } from './quota.ts';

test.each<[string, string | undefined, string]>([
  ['a file system', 'Filesystem', '5711392681'],
  ['what the StorageProfile says', undefined, '5711392681'],
  ['a block device', 'Block', '5Gi'],
])('CDI asks for 5Gi of %s', (_what, volumeMode, wanted) => {
  const { spec } = claimOfDataVolume({ storage: '5Gi', storageClass: 'gold', volumeMode });
  expect(spec).toEqual({ storageClassName: 'gold', resources: { requests: { storage: wanted } } });
});

/** The launcher requests 1005m CPU, an importer pod 100m. */
const launcher = aLauncher();
const quotaOf = (cpu: string, persistentvolumeclaims = '1'): ResourceQuota =>
  aQuota(
    hard({ 'requests.cpu': cpu, persistentvolumeclaims }),
    used({ 'requests.cpu': '0', persistentvolumeclaims: '0' }),
  );
const receiving = aVmmrq(giving({ cpu: '1' }), (vmmrq) => ({
  ...vmmrq,
  spec: { ...vmmrq.spec, allowReceive: true },
}));
const VOLUME = fillingOf([claimOfSize('5Gi')]);

interface Case {
  readonly claims?: readonly ClaimSize[];
  readonly filling?: readonly Needed[];
  readonly quota?: ResourceQuota;
}

describe('a launcher', () => {
  test.each<[string, Case, string]>([
    ['alone', {}, 'fits'],
    ['with the claim of its TPM', { claims: [STATE_CLAIM] }, 'fits'],
    [
      'with the claim of its TPM, and no room for it',
      { claims: [STATE_CLAIM], quota: quotaOf('2', '0') },
      'ResourceQuota quota lacks persistentvolumeclaims=1',
    ],
    ['with a volume that CDI fills', { filling: [VOLUME] }, 'fits'],
    ['with three, one after another', { filling: [VOLUME, VOLUME, VOLUME] }, 'fits'],
    [
      'with a volume whose importer has no room beside it',
      { filling: [VOLUME], quota: quotaOf('1055m') },
      'ResourceQuota quota lacks requests.cpu=50m while CDI fills its volumes',
    ],
    [
      'with its TPM, and no room for a second claim of its volume beside that',
      { claims: [STATE_CLAIM], filling: [VOLUME] },
      'ResourceQuota quota lacks persistentvolumeclaims=1 while CDI fills its volumes',
    ],
    ['with a volume without populators', { claims: [STATE_CLAIM], filling: [fillingOf([])] }, 'fits'],
    ['that is let in', { quota: quotaOf('1') }, 'is let in: ResourceQuota quota lacks requests.cpu=5m'],
    [
      'that is let in, with a volume that CDI fills, which nobody lets in',
      { quota: quotaOf('1'), filling: [VOLUME] },
      'ResourceQuota quota lacks requests.cpu=105m while CDI fills its volumes',
    ],
  ])('%s', (_what, { claims = [], filling = [], quota = quotaOf('2') }, wanted) => {
    const launch = { pods: [launcher], claims };
    const fit = fitAtLaunch({ launch, filling }, { quotas: [quota], vmmrqs: [receiving] });
    const { missing = 'fits', isLetIn } = fit;
    expect(isLetIn ? `is let in: ${missing}` : missing).toBe(wanted);
  });
});
