import { describe, expect, test } from '@jest/globals';
import { aStorageMap, aVm, RUN } from '../../../test/support/builders/live.ts';
import { metadata, type Change } from '../../../test/support/builders/object.ts';
import type { StorageEntry } from '../../domain/live/forklift.ts';
import type { Claim, ClaimProperties, VirtualMachine, VmiSpec, Volume } from '../../domain/live/kubevirt.ts';
import { LIVE_KIND } from '../../domain/live/names.ts';
import { runLabels } from '../run/names.ts';
import {
  fixedDisks,
  neededVolumes,
  pendingMessage,
  readiness,
  targetVolume,
  type VolumeInput,
} from './volumes.ts';

const claim = (spec: Partial<Claim['spec']> = {}, capacity?: string): Claim => ({
  metadata: metadata('web-root'),
  spec: { storageClassName: 'fast', resources: { requests: { storage: '10Gi' } }, ...spec },
  status: { phase: 'Bound', ...(capacity && { capacity: { storage: capacity } }) },
});
const input = (
  destination: Partial<StorageEntry['destination']> = {},
  more: Partial<VolumeInput> = {},
): VolumeInput => ({
  run: RUN,
  namespace: 'target',
  storage: aStorageMap((map) => ({
    ...map,
    spec: {
      ...map.spec,
      map: [{ source: { name: 'fast' }, destination: { storageClass: 'gold', ...destination } }],
    },
  })),
  claims: new Map([['web-root', claim()]]),
  claimProperties: new Map(),
  ...more,
});
const DATA_VOLUME = { volume: 'root', name: 'web-root', isDataVolume: true };
const CLAIM = { ...DATA_VOLUME, isDataVolume: false };

const withSpec =
  (spec: Partial<VmiSpec>): Change<VirtualMachine> =>
  (vm) => {
    const { template } = vm.spec;
    return { ...vm, spec: { ...vm.spec, template: { ...template, spec: { ...template.spec, ...spec } } } };
  };

test.each<[string, Partial<VmiSpec>, string[]]>([
  ['plain disks', {}, []],
  [
    'an ephemeral volume',
    { volumes: [{ name: 'scratch', ephemeral: { persistentVolumeClaim: { claimName: 'base' } } }] },
    ['volume scratch is ephemeral: make it a DataVolume or a claim, or remove it'],
  ],
  [
    'a memory dump',
    { volumes: [{ name: 'dump', memoryDump: { claimName: 'dump' } }] },
    ['volume dump is a memory dump: remove it (virtctl memory-dump remove)'],
  ],
  [
    'a token of an account, also of one that is on the target',
    { volumes: [{ name: 'token', serviceAccount: { serviceAccountName: 'robot' } }] },
    ['volume token mounts a ServiceAccount, which is another one on the target: remove it'],
  ],
  [
    'a disk that another VM may use',
    { domain: { devices: { disks: [{ name: 'quorum', disk: {}, shareable: true }] } } },
    ['disk quorum is shareable: make it a disk of this VM alone, or remove it'],
  ],
  [
    'a LUN',
    { domain: { devices: { disks: [{ name: 'raw', lun: { reservation: true } }] } } },
    ['disk raw is a LUN: make it a disk, or remove it'],
  ],
  [
    'a file system',
    { domain: { devices: { filesystems: [{ name: 'shared', virtiofs: {} }] } } },
    ['filesystem shared is shared by virtiofs: make it a disk, or remove it'],
  ],
])('disks that stay where they are: %s', (_what, spec, wanted) => {
  expect(fixedDisks(aVm(withSpec(spec)))).toEqual(wanted);
});

test('needed are DataVolumes and claims', () => {
  const volumes: Volume[] = [
    { name: 'root', dataVolume: { name: 'web-root' } },
    { name: 'data', persistentVolumeClaim: { claimName: 'web-data', hotpluggable: true } },
    { name: 'scratch', ephemeral: { persistentVolumeClaim: { claimName: 'base' } } },
    { name: 'init', cloudInitNoCloud: { userData: 'x' } },
    { name: 'image', containerDisk: { image: 'i' } },
  ];
  expect(neededVolumes(aVm(withSpec({ volumes })))).toEqual([
    { volume: 'root', name: 'web-root', isDataVolume: true },
    { volume: 'data', name: 'web-data', isDataVolume: false },
  ]);
});

describe('targetVolume', () => {
  const target = { name: 'web-root', namespace: 'target', labels: runLabels(RUN) };

  test('a DataVolume is blank and as large, and leaves the modes to CDI', () => {
    expect(targetVolume(DATA_VOLUME, input())).toEqual({
      kind: 'volume',
      object: {
        ...LIVE_KIND.dataVolume,
        metadata: {
          ...target,
          annotations: { 'cdi.kubevirt.io/storage.deleteAfterCompletion': 'false' },
        },
        spec: {
          source: { blank: {} },
          storage: { storageClassName: 'gold', resources: { requests: { storage: '10Gi' } } },
        },
      },
    });
  });

  test('a claim needs an access mode, of the map or else of the StorageProfile', () => {
    const profile = new Map([['gold', [{ accessModes: ['ReadWriteOnce'] }]]]);
    const made = (given: VolumeInput): unknown => targetVolume(CLAIM, given);
    expect(
      made(input({ accessMode: 'ReadWriteMany', volumeMode: 'Block' }, { claimProperties: profile })),
    ).toEqual({
      kind: 'volume',
      object: {
        ...LIVE_KIND.claim,
        metadata: target,
        spec: {
          storageClassName: 'gold',
          accessModes: ['ReadWriteMany'],
          volumeMode: 'Block',
          resources: { requests: { storage: '10Gi' } },
        },
      },
    });
    expect(made(input({}, { claimProperties: profile }))).toMatchObject({
      object: { spec: { accessModes: ['ReadWriteOnce'] } },
    });
    expect(made(input())).toEqual({
      kind: 'problem',
      problem:
        'volume root: no access mode is known for storage class gold: set destination.accessMode in the StorageMap',
    });
  });

  test.each<[string, { source: Claim; destination?: Partial<StorageEntry['destination']> }, string]>([
    ['those of the disk on the source', { source: claim() }, 'ReadWriteOnce Filesystem'],
    ['those of a block device', { source: claim({ volumeMode: 'Block' }) }, 'ReadWriteMany Block'],
    [
      'those with the map’s access mode',
      { destination: { accessMode: 'ReadWriteMany' }, source: claim() },
      'ReadWriteMany Block',
    ],
    [
      'those with the map’s volume mode',
      { destination: { volumeMode: 'Block' }, source: claim() },
      'ReadWriteMany Block',
    ],
    [
      'the map’s, which the class does not offer',
      { destination: { accessMode: 'ReadOnlyMany' }, source: claim() },
      'ReadOnlyMany ',
    ],
  ])('access and volume mode are offered together: %s', (_what, { destination = {}, source }, wanted) => {
    const offered: ClaimProperties[] = [
      { accessModes: ['ReadWriteMany'], volumeMode: 'Block' },
      { accessModes: ['ReadWriteOnce'], volumeMode: 'Filesystem' },
    ];
    const claims = new Map([['web-root', source]]);
    const given = input(destination, { claims, claimProperties: new Map([['gold', offered]]) });
    const made = targetVolume(CLAIM, given);
    const { accessModes = [], volumeMode = '' } =
      made.kind === 'volume' ? (made.object.spec as ClaimProperties) : {};
    expect(`${accessModes.join()} ${volumeMode}`).toBe(wanted);
  });

  test.each<[string, Claim, string]>([
    ['a block volume: what it really has', claim({ volumeMode: 'Block' }, '11Gi'), '11Gi'],
    ['a file system: what was asked for', claim({ volumeMode: 'Filesystem' }, '11Gi'), '10Gi'],
    ['a block volume that is not bound', claim({ volumeMode: 'Block' }), '10Gi'],
  ])('the size of %s', (_what, source, storage) => {
    const made = targetVolume(DATA_VOLUME, input({}, { claims: new Map([['web-root', source]]) }));
    expect(made).toMatchObject({ object: { spec: { storage: { resources: { requests: { storage } } } } } });
  });

  test('a claim that becomes a file system has room for the disk of the block device', () => {
    const claims = new Map([['web-root', claim({ volumeMode: 'Block' }, '94Gi')]]);
    const as = (volumeMode: 'Block' | 'Filesystem'): unknown =>
      targetVolume(CLAIM, input({ accessMode: 'ReadWriteOnce', volumeMode }, { claims }));
    const wanted = (storage: string): object => ({
      object: { spec: { resources: { requests: { storage } } } },
    });
    expect(as('Block')).toMatchObject(wanted('94Gi'));
    expect(as('Filesystem')).toMatchObject(wanted('107374182400'));
  });

  test.each<[string, Claim | undefined, string]>([
    ['a claim that is gone', undefined, 'volume root: its claim web-root is not on the source'],
    [
      'a storage class that is not mapped',
      claim({ storageClassName: 'slow' }),
      'is of storage class slow, which is not mapped: add it to the StorageMap, by source.name',
    ],
    ['a claim without a size', claim({ resources: {} }), 'its claim web-root has no size'],
  ])('%s: a problem', (_what, source, problem) => {
    const claims = new Map(source === undefined ? [] : [['web-root', source]]);
    expect(targetVolume(DATA_VOLUME, input({}, { claims }))).toEqual({
      kind: 'problem',
      problem: expect.stringContaining(problem),
    });
  });

  test('an entry by id matches nothing, as in Forklift', () => {
    const storage = aStorageMap((map) => ({
      ...map,
      spec: { ...map.spec, map: [{ source: { id: 'fast' }, destination: { storageClass: 'gold' } }] },
    }));
    expect(targetVolume(DATA_VOLUME, input({}, { storage }))).toMatchObject({ kind: 'problem' });
  });
});

test.each<[string, string | undefined, string]>([
  ['Succeeded', 'DataVolume', 'ready'],
  ['WaitForFirstConsumer', 'DataVolume', 'pending'],
  ['PendingPopulation', 'DataVolume', 'ready'],
  ['ImportInProgress', 'DataVolume', 'pending'],
  ['', 'DataVolume', 'pending'],
  ['Failed', 'DataVolume', 'failed'],
  ['Pending', 'PersistentVolumeClaim', 'ready'],
  ['Bound', 'PersistentVolumeClaim', 'ready'],
  ['Lost', 'PersistentVolumeClaim', 'failed'],
])('%s of a %s: %s', (phase, kind, wanted) => {
  expect(readiness({ kind, metadata: metadata('v'), status: { phase } } as never)).toBe(wanted);
});

test('a volume that a quota refuses is reported with what CDI says', () => {
  const conditions = [
    { type: 'Running', status: 'False', message: '' },
    { type: 'Bound', status: 'False', message: 'exceeded quota: storage' },
  ];
  const status = { phase: 'Pending', conditions };
  expect(pendingMessage({ metadata: metadata('web-root'), status } as never)).toBe(
    'web-root is Pending, exceeded quota: storage',
  );
});
