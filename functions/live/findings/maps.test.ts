import { expect, test } from '@jest/globals';
import { aHook, aNetworkMap, aStorageMap } from '../../../test/support/builders/live.ts';
import type { Finding } from '../../domain/live/conditions.ts';
import type { Hook, NetworkEntry, StorageEntry } from '../../domain/live/forklift.ts';
import { hookFindings, networkMapFindings, storageMapFindings } from './maps.ts';
import { rawText } from '../../../test/support/raw-text.ts';

const summary = (findings: readonly Finding[]): string =>
  findings
    .map(({ type, category, reason, items = [] }) =>
      [type, category, reason, ...items].map(rawText).filter(Boolean).join(' '),
    )
    .join(', ');

test.each<[string, StorageEntry, string]>([
  ['both are there', { source: { name: 'fast' }, destination: { storageClass: 'gold' } }, 'Ready Required'],
  [
    'a source that is not there yet',
    { source: { name: 'slow' }, destination: { storageClass: 'gold' } },
    'SourceStorageNotValid Warn NotFound slow, Ready Required',
  ],
  [
    'a target that is not there',
    { source: { name: 'fast' }, destination: { storageClass: 'lead' } },
    'DestinationStorageNotValid Critical NotFound lead',
  ],
  [
    'no source',
    { source: {}, destination: { storageClass: 'gold' } },
    'SourceStorageNotValid Critical NotSet gold',
  ],
  ['a source by id', { source: { id: 'u' }, destination: { storageClass: 'gold' } }, 'Ready Required'],
])('a storage map: %s', (_what, entry, wanted) => {
  const map = aStorageMap((one) => ({ ...one, spec: { ...one.spec, map: [entry] } }));
  expect(summary(storageMapFindings(map, { source: new Set(['fast']), target: new Set(['gold']) }))).toBe(
    wanted,
  );
});

test.each<[string, NetworkEntry, string]>([
  ['the pod network', { source: { type: 'pod' }, destination: { type: 'pod' } }, 'Ready Required'],
  [
    'a network that is ignored',
    { source: { name: 'a/b' }, destination: { type: 'ignored' } },
    'Ready Required',
  ],
  [
    'a network of the target',
    { source: { name: 'vms/blue' }, destination: { type: 'multus', namespace: 'target', name: 'green' } },
    'Ready Required',
  ],
  [
    'a network that is not there',
    { source: { name: 'vms/blue' }, destination: { type: 'multus', namespace: 'target', name: 'red' } },
    'DestinationNetworkNotValid Critical NotFound target/red',
  ],
  [
    'a network without a namespace',
    { source: { name: 'vms/blue' }, destination: { type: 'multus', name: 'green' } },
    'DestinationNetworkNotValid Critical Ambiguous /green',
  ],
  [
    'a source that is not there yet',
    { source: { namespace: 'vms', name: 'red' }, destination: { type: 'pod' } },
    'SourceNetworkNotValid Warn NotFound vms/red, Ready Required',
  ],
  ['no source', { source: {}, destination: { type: 'pod' } }, 'SourceNetworkNotValid Critical NotSet pod'],
  [
    'a source by its id only',
    { source: { id: 'u' }, destination: { type: 'pod' } },
    'SourceNetworkNotValid Critical NotSet u',
  ],
  [
    'a source without a namespace',
    { source: { name: 'blue' }, destination: { type: 'pod' } },
    'SourceNetworkNotValid Critical NotSet blue',
  ],
])('a network map: %s', (_what, entry, wanted) => {
  const map = aNetworkMap((one) => ({ ...one, spec: { ...one.spec, map: [entry] } }));
  const known = { source: new Set(['vms/blue', 'a/b']), target: new Set(['target/green']) };
  expect(summary(networkMapFindings(map, known))).toBe(wanted);
});

test('what is on a cluster that cannot be reached is no problem of a map', () => {
  expect(summary(storageMapFindings(aStorageMap(), { source: undefined, target: undefined }))).toBe(
    'Ready Required',
  );
  expect(summary(networkMapFindings(aNetworkMap(), { source: undefined, target: undefined }))).toBe(
    'Ready Required',
  );
});

test.each<[string, Hook['spec'], string]>([
  ['that is complete', aHook().spec, 'Ready Required'],
  ['without a playbook', { image: 'i' }, 'Ready Required'],
  ['without an image', { playbook: 'LQ==' }, 'InvalidImage Critical NotSet hook'],
  [
    'with a plain playbook',
    { image: 'i', playbook: '- hosts: all' },
    'InvalidPlaybook Critical DataErr hook',
  ],
])('a hook %s', (_what, spec, wanted) => {
  expect(summary(hookFindings(aHook((hook) => ({ ...hook, spec }))))).toBe(wanted);
});
