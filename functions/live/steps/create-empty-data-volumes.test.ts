import { expect, test } from '@jest/globals';
import {
  aDataVolume,
  aReceiver,
  aRecordedRun,
  firstAttempt,
  showing,
  summary,
} from '../../../test/support/builders/live-run.ts';
import { aRecord, aStorageMap, aVm, RUN } from '../../../test/support/builders/live.ts';
import { aQuota, hard } from '../../../test/support/builders/quota.ts';
import { metadata, ownedBy, seconds, unlabelled } from '../../../test/support/builders/object.ts';
import { LIVE_KIND, LIVE_LABEL } from '../../domain/live/names.ts';
import type { HubSide, RecordedRun } from '../run/snapshot.ts';
import type { KubernetesObject, ResourceList } from '../../domain/objects.ts';
import { decide } from './create-empty-data-volumes.ts';

const withVolumes = (...volumes: KubernetesObject[]): RecordedRun =>
  aRecordedRun(aRecord(), {
    target: { setup: { volumes, resources: [], quotas: [], claimProperties: new Map() } },
  });
const withQuota = (list: ResourceList, hub: Partial<HubSide> = {}): RecordedRun => {
  const setup = { volumes: [], resources: [], quotas: [aQuota(hard(list))], claimProperties: new Map() };
  return aRecordedRun(aRecord(), { hub, target: { setup } });
};
const CREATE = 'create DataVolume web-root on target';
const foreign = unlabelled(LIVE_LABEL.migration);
const claim: KubernetesObject = { ...LIVE_KIND.claim, metadata: metadata('web-root') };
const ofDataVolume = ownedBy([
  { apiVersion: 'x', kind: 'DataVolume', name: 'web-root', uid: 'u', controller: true },
])(claim);
const LAZY = aDataVolume('WaitForFirstConsumer');
const BIND = { 'cdi.kubevirt.io/storage.bind.immediate.requested': 'true' };
const ofLazy = (annotations: Record<string, string>): KubernetesObject =>
  ownedBy([
    { apiVersion: 'x', kind: 'DataVolume', name: 'web-root', uid: LAZY.metadata.uid, controller: true },
  ])({ ...claim, metadata: { ...claim.metadata, annotations } });
const old = aDataVolume('Pending', (volume) => ({
  ...volume,
  metadata: { ...volume.metadata, creationTimestamp: seconds(-1_801) },
}));
const unmapped = aStorageMap((map) => ({ ...map, spec: { ...map.spec, map: [] } }));

const withLogin = aVm((vm) => {
  const { template } = vm.spec;
  const accessCredentials = [{ userPassword: { source: { secret: { secretName: 'login' } } } }];
  return {
    ...vm,
    spec: { ...vm.spec, template: { ...template, spec: { ...template.spec, accessCredentials } } },
  };
});

test.each<[string, RecordedRun, string]>([
  ['no volume yet', withVolumes(), CREATE],
  [
    'a Secret that the VM names is not on the source',
    aRecordedRun(aRecord(), { source: { vm: withLogin } }),
    'fail ResourceFailed',
  ],
  [
    'a storage class that is not mapped',
    aRecordedRun(aRecord(), { hub: { storage: unmapped } }),
    'fail VolumeFailed',
  ],
  ['a quota without room for it', withQuota({ 'requests.storage': '1Gi' }), 'wait OverQuota'],
  ['for an hour', withQuota({ 'requests.storage': '1Gi' }, showing('OverQuota', 3_601)), 'fail OverQuota'],
  ['a quota with room for it', withQuota({ 'requests.storage': '100Gi' }), CREATE],
  ['a volume that CDI populates', withVolumes(aDataVolume('ImportInProgress')), 'wait VolumesPending'],
  ['a volume that is populated', withVolumes(aDataVolume('Succeeded'), ofDataVolume), 'done'],
  ['a volume that waits for its launcher', withVolumes(aDataVolume('PendingPopulation')), 'done'],
  [
    'a volume without populators, which CDI would fill while its launcher uses it',
    withVolumes(LAZY, ofLazy({})),
    'replace PersistentVolumeClaim web-root on target',
  ],
  ['it is being bound', withVolumes(LAZY, ofLazy(BIND)), 'wait VolumesPending'],
  ['its claim is not there yet', withVolumes(LAZY), 'wait VolumesPending'],
  ['a volume that has failed', withVolumes(aDataVolume('Failed')), 'fail VolumeFailed'],
  ['a volume that is not ready after half an hour', withVolumes(old), 'fail VolumeFailed'],
  ['a DataVolume of somebody else', withVolumes(aDataVolume('Succeeded', foreign)), 'fail VolumeFailed'],
  ['a claim of somebody else', withVolumes(claim), 'fail VolumeFailed'],
  ['the VM is there already', aRecordedRun(aRecord(), { target: { vm: aReceiver() } }), 'done'],
  ['an attempt has begun', firstAttempt(), 'done'],
])('%s', (_what, run, wanted) => {
  expect(summary(decide(run))).toBe(wanted);
});

test('CDI reads from the claim that it is bound at once, and the claim keeps what it has', () => {
  const decision = decide(withVolumes(LAZY, ofLazy({ other: 'kept' })));
  expect(decision).toMatchObject({
    writes: [{ object: { metadata: { resourceVersion: '100', annotations: { ...BIND, other: 'kept' } } } }],
  });
});

test('what a quota refuses is named', () => {
  const message = 'persistentvolumeclaims is forbidden: exceeded quota: storage';
  const volume = aDataVolume('Pending', (one) => ({
    ...one,
    status: { phase: 'Pending', conditions: [{ type: 'Bound', status: 'False', message }] },
  }));
  expect(decide(withVolumes(volume))).toMatchObject({ message: `web-root is Pending, ${message}` });
});

test.each<[string, Record<string, string>, RegExp]>([
  ['of somebody else', {}, /: delete it there if nothing uses it$/],
  [
    'of an earlier run of this VM',
    { [LIVE_LABEL.vm]: RUN.vm },
    /: delete it there if no VM has it, not even one that is off$/,
  ],
  [
    'of another VM that was moved',
    { [LIVE_LABEL.vm]: 'another' },
    /a disk of another VM that was moved: do not delete it/,
  ],
])('what to do about a volume %s', (_what, labels, wanted) => {
  const volume = aDataVolume('Succeeded', (one) => ({ ...one, metadata: { ...one.metadata, labels } }));
  expect(decide(withVolumes(volume))).toMatchObject({ message: expect.stringMatching(wanted) });
});
