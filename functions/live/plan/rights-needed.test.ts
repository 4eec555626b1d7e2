import { describe, expect, test } from '@jest/globals';
import {
  aHost,
  aNetworkMap,
  aPlan,
  aProvider,
  aStorageMap,
  aVm,
} from '../../../test/support/builders/live.ts';
import { KIND } from '../../domain/names.ts';
import type { Plan, PlanVm } from '../../domain/live/forklift.ts';
import { LIVE_KIND } from '../../domain/live/names.ts';
import {
  describeRight,
  RIGHT_TO_MAKE_NAMESPACE,
  rightsToCheck,
  rightsToConnect,
  rightsToCopy,
  rightsToCreate,
  rightsToLook,
  rightsToMake,
  rightsToMove,
  rightsToNetworks,
  rightsToStorageClasses,
  rightsToUse,
  rightToUse,
  type Hosts,
} from './rights-needed.ts';

const WEB: PlanVm = { namespace: 'vms', name: 'web' };
const HOOKED: PlanVm = { ...WEB, hooks: [{ step: 'PreHook', hook: { name: 'hook' } }] };
const plan = (...vms: PlanVm[]): Plan => aPlan((one) => ({ ...one, spec: { ...one.spec, vms } }));
const REMOTE: Hosts = { isSource: false, isTarget: false };
const HUB: Hosts = { isSource: true, isTarget: true };

describe('to run a plan takes rights in its own cluster', () => {
  test.each<[string, Plan, Hosts, string[]]>([
    ['none where both clusters are others', plan(WEB), REMOTE, []],
    [
      'to what is taken away',
      plan(WEB),
      { ...REMOTE, isSource: true },
      ['get', 'update', 'delete'].map((verb) => `${verb} virtualmachines.kubevirt.io/web in namespace vms`),
    ],
    [
      'to what is made',
      plan(WEB, { ...WEB, name: 'db' }),
      { ...REMOTE, isTarget: true },
      [
        'create virtualmachines.kubevirt.io in namespace target',
        'create datavolumes.cdi.kubevirt.io in namespace target',
        'create persistentvolumeclaims in namespace target',
      ],
    ],
    [
      'to pods and to the hook, whose playbook its pod gets',
      plan(WEB, HOOKED),
      REMOTE,
      ['create pods in namespace tenant', 'get hooks.forklift.konveyor.io/hook in namespace tenant'],
    ],
    [
      'to a hook of an empty namespace: the plan’s',
      plan({ ...WEB, hooks: [{ step: 'PreHook', hook: { namespace: '', name: 'hook' } }] }),
      REMOTE,
      ['create pods in namespace tenant', 'get hooks.forklift.konveyor.io/hook in namespace tenant'],
    ],
    [
      'to a hook of another namespace',
      plan({ ...WEB, hooks: [{ step: 'PreHook', hook: { namespace: 'other', name: 'hook' } }] }),
      REMOTE,
      ['create pods in namespace tenant', 'get hooks.forklift.konveyor.io/hook in namespace other'],
    ],
  ])('%s', (_what, ...[of, hosts, wanted]) => {
    expect(rightsToMove(of, hosts).map(describeRight)).toEqual(wanted);
  });
});

const NAMING = aVm((one) => {
  const { template } = one.spec;
  const volumes = [
    ...['init', 'network'].map((name) => ({ name, cloudInitNoCloud: { secretRef: { name } } })),
    { name: 'config', configMap: { name: 'config' } },
  ];
  const instancetype = { kind: 'VirtualMachineInstancetype', name: 'small' };
  const preference = { kind: 'VirtualMachineClusterPreference', name: 'linux' };
  const spec = { ...template.spec, volumes };
  return { ...one, spec: { ...one.spec, instancetype, preference, template: { ...template, spec } } };
});

test('to what a VM names, which is copied', () => {
  expect(rightsToCopy(NAMING).map(describeRight)).toEqual([
    'get secrets/init in namespace vms',
    'get secrets/network in namespace vms',
    'get configmaps/config in namespace vms',
    'get virtualmachineinstancetypes.instancetype.kubevirt.io/small in namespace vms',
  ]);
});

test('to make that in the target namespace', () => {
  expect(rightsToMake([NAMING, NAMING], 'target').map(describeRight)).toEqual([
    'create secrets in namespace target',
    'create configmaps in namespace target',
    'create virtualmachineinstancetypes.instancetype.kubevirt.io in namespace target',
  ]);
});

test('to make the namespace is no right in one', () => {
  expect(describeRight(RIGHT_TO_MAKE_NAMESPACE)).toBe('create namespaces');
});

test.each<[string, string, string[]]>([
  [
    'its ControllerRevision, which is what is copied',
    'VirtualMachineInstancetype',
    ['get controllerrevisions.apps/web-small-1 in namespace vms'],
  ],
  ['nothing of a cluster-wide one, which is not copied', 'VirtualMachineClusterInstancetype', []],
])('of an instance type: to %s', (_what, kind, wanted) => {
  const vm = aVm((one) => ({
    ...one,
    spec: { ...one.spec, instancetype: { kind, name: 'small', revisionName: 'web-small-1' } },
  }));
  expect(rightsToCopy(vm).map(describeRight)).toEqual(wanted);
});

test('to a provider is a verb of its own', () => {
  expect(describeRight(rightToUse({ namespace: 'tenant', name: 'source' }))).toBe(
    'use providers.forklift.konveyor.io/source in namespace tenant',
  );
});

test('to both providers of a plan, once where they are the same', () => {
  const { source } = aPlan().spec.provider;
  const within = aPlan((one) => ({
    ...one,
    spec: { ...one.spec, provider: { source, destination: source } },
  }));
  const use = (name: string): string => `use providers.forklift.konveyor.io/${name} in namespace tenant`;
  expect(rightsToUse(aPlan()).map(describeRight)).toEqual([use('source'), use('destination')]);
  expect(rightsToUse(within).map(describeRight)).toEqual([use('source')]);
});

test('to make objects, each kind once, and none for VMIMs', () => {
  const metadata = { namespace: 'target', name: 'web' };
  const made = [LIVE_KIND.vm, LIVE_KIND.dataVolume, LIVE_KIND.dataVolume, KIND.migration];
  const objects = [
    ...made.map((kind) => ({ ...kind, metadata })),
    { ...LIVE_KIND.namespace, metadata: { name: 'x' } },
  ];
  expect(rightsToCreate(objects).map(describeRight)).toEqual([
    'create virtualmachines.kubevirt.io in namespace target',
    'create datavolumes.cdi.kubevirt.io in namespace target',
    'create namespaces',
  ]);
});

test('to check a plan: all that it names in its own cluster, each once', () => {
  const hook = { step: 'PreHook', hook: { namespace: 'other', name: 'hook' } } as const;
  const two = { ...WEB, hooks: [hook, { ...hook, step: 'PostHook' as const }] };
  const of = aPlan((one) => ({
    ...one,
    spec: {
      ...one.spec,
      vms: [two],
      map: { network: { name: 'mine' }, storage: { namespace: 'other', name: 's' } },
    },
  }));
  expect(rightsToCheck(of).map(describeRight)).toEqual([
    'use providers.forklift.konveyor.io/source in namespace tenant',
    'use providers.forklift.konveyor.io/destination in namespace tenant',
    'get networkmaps.forklift.konveyor.io/mine in namespace tenant',
    'get storagemaps.forklift.konveyor.io/s in namespace other',
    'get hooks.forklift.konveyor.io/hook in namespace other',
  ]);
});

test('to check a plan that names nothing: none', () => {
  expect(rightsToCheck(aPlan((one) => ({ ...one, spec: {} as Plan['spec'] })))).toEqual([]);
  expect(
    rightsToLook(
      aPlan((one) => ({ ...one, spec: {} as Plan['spec'] })),
      HUB,
    ),
  ).toEqual([]);
});

describe('to look at what a plan names', () => {
  test.each<[string, PlanVm[], Hosts, string[]]>([
    ['none in other clusters, where the tokens decide', [WEB], REMOTE, []],
    [
      'a VM by its name',
      [WEB],
      { ...REMOTE, isSource: true },
      ['get virtualmachines.kubevirt.io/web in namespace vms'],
    ],
    [
      'VMs of all namespaces, where entries name none',
      [{ name: 'web' }, { namespace: '', name: 'db' }, { id: 'u' }],
      { ...REMOTE, isSource: true },
      Array<string>(3).fill('list virtualmachines.kubevirt.io in all namespaces'),
    ],
    [
      'VMs of a namespace, where an entry has only a uid',
      [{ namespace: 'vms', id: 'u' }],
      { ...REMOTE, isSource: true },
      ['list virtualmachines.kubevirt.io in namespace vms'],
    ],
    ['none for an entry that names nothing', [{ namespace: 'vms' }], { ...REMOTE, isSource: true }, []],
    [
      'what shows quotas and storage classes of the target',
      [WEB],
      { ...REMOTE, isTarget: true },
      [
        'create virtualmachines.kubevirt.io in namespace target',
        'create datavolumes.cdi.kubevirt.io in namespace target',
        'create persistentvolumeclaims in namespace target',
      ],
    ],
  ])('%s', (_what, ...[vms, hosts, wanted]) => {
    expect(rightsToLook(plan(...vms), hosts).map(describeRight)).toEqual(wanted);
  });
});

test.each<[string, Hosts, string[]]>([
  ['of other clusters: none', REMOTE, []],
  ['of the source', { isSource: true, isTarget: false }, ['blue in namespace vms']],
  ['of the target', { isSource: false, isTarget: true }, ['green in namespace target']],
  ['of both', HUB, ['blue in namespace vms', 'green in namespace target']],
])('to networks of a map %s', (_what, ...[hosts, wanted]) => {
  expect(rightsToNetworks(aNetworkMap(), hosts).map(describeRight)).toEqual(
    wanted.map((one) => `get network-attachment-definitions.k8s.cni.cncf.io/${one}`),
  );
});

test.each<[string, Hosts, string[]]>([
  ['of other clusters: none', REMOTE, []],
  ['of the source', { isSource: true, isTarget: false }, ['fast']],
  ['of the target', { isSource: false, isTarget: true }, ['gold']],
  ['of both', HUB, ['fast', 'gold']],
])('to storage classes of a map %s', (_what, ...[hosts, wanted]) => {
  const twice = aStorageMap(({ spec, ...map }) => ({
    ...map,
    spec: { ...spec, map: [...spec.map, ...spec.map] },
  }));
  expect(rightsToStorageClasses(twice, hosts).map(describeRight)).toEqual(
    wanted.map((one) => `get storageclasses.storage.k8s.io/${one} in all namespaces`),
  );
});

test('to the providers of a map', () => {
  expect(rightsToUse(aStorageMap())).toEqual(rightsToUse(aPlan()));
});

test('to connect: the Secret of a provider of another cluster, and nothing of this cluster’s', () => {
  expect(rightsToConnect(aProvider('source'), 'tenant').map(describeRight)).toEqual([
    'get secrets/source in namespace tenant',
  ]);
  expect(rightsToConnect(aHost(), 'tenant')).toEqual([]);
});
