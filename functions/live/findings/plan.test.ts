import { describe, expect, test } from '@jest/globals';
import {
  aKubeVirt,
  aPlanView,
  aSource,
  aTarget,
  aVmView,
  ready,
} from '../../../test/support/builders/live-plan.ts';
import {
  aHook,
  aNetworkMap,
  aPlan,
  aProvider,
  aRecord,
  aStorageMap,
  aVm,
  itsVmi,
} from '../../../test/support/builders/live.ts';
import {
  annotated,
  labelled,
  metadata,
  seconds,
  type Change,
} from '../../../test/support/builders/object.ts';
import { nextConditions } from '../../domain/live/conditions.ts';
import type { Plan, PlanVm, VmStatus } from '../../domain/live/forklift.ts';
import type { VirtualMachine, Vmi, VmiSpec } from '../../domain/live/kubevirt.ts';
import { LIVE_ANNOTATION, LIVE_KIND, LIVE_LABEL } from '../../domain/live/names.ts';
import type { PlanView, TargetView } from './plan-view.ts';
import { isNoSecret, type FoundResources } from '../on-target/resources.ts';
import { withRecord } from '../run/record.ts';
import type { KubernetesObject } from '../../domain/objects.ts';
import { ARCHIVED, planFindings } from './plan.ts';
import { rawText } from '../../../test/support/raw-text.ts';

const withSpec =
  (spec: Partial<Plan['spec']>): Change<Plan> =>
  (plan) => ({ ...plan, spec: { ...plan.spec, ...spec } });
const notMigratable = (reason: string): Vmi =>
  itsVmi((vmi) => ({
    ...vmi,
    status: {
      ...vmi.status,
      conditions: [{ type: 'LiveMigratable', status: 'False', reason, message: `because of ${reason}` }],
    },
  }));

const view = (different: Partial<PlanView> = {}, ...changes: Change<Plan>[]): PlanView =>
  aPlanView({ ...different, plan: aPlan(...changes) });
const IN_USE = /^VMInUse NotSupported vms\/web: the VM is moved by the Migration .*: wait for its end/;
const summary = (one: PlanView): string[] =>
  planFindings(one).map(({ type, reason, items = [] }) =>
    [type, reason, ...items].map(rawText).filter(Boolean).join(' '),
  );

test('a plan that can run is Ready, as Forklift says it', () => {
  expect(planFindings(aPlanView())).toEqual([
    { type: 'Ready', category: 'Required', message: 'The migration plan is ready.' },
  ]);
});

test('an archived plan says that, and what its runs came to, and nothing else', () => {
  const before = ['Ready', 'OverQuota', 'Failed', 'Archived'].map((type) => ({
    ...({ type, status: 'True', category: 'Advisory', lastTransitionTime: seconds(0) } as const),
    ...(type === 'Failed' && { durable: true }),
  }));
  const now = nextConditions(before, ARCHIVED, seconds(1));
  expect(
    now.map(({ type, reason, message }) => [type, reason, message].map(rawText).filter(Boolean).join(' ')),
  ).toEqual(['Failed', 'Archived UserRequested The migration plan has been archived.']);
  const again = nextConditions(now, planFindings(aPlanView()), seconds(2));
  expect(again.map(({ type }) => type)).toEqual(['Failed', 'Ready']);
});

describe('what keeps a plan from running', () => {
  const vms = (...entries: PlanVm[]): Change<Plan> => withSpec({ vms: entries });
  const [web] = aPlan().spec.vms;
  const { provider, map } = aPlan().spec;
  const unset = { namespace: 'tenant' };
  const hook = (name: string, step = 'PreHook', namespace = 'tenant'): Change<Plan> =>
    vms({ ...web, hooks: [{ step: step as 'PreHook', hook: { namespace, name } }] });
  const elsewhere = aNetworkMap((networks) => ({
    ...networks,
    spec: {
      ...networks.spec,
      map: [
        { source: { name: 'vms/blue' }, destination: { type: 'multus', namespace: 'other', name: 'green' } },
      ],
    },
  }));
  const inThird = view({
    networks: elsewhere,
    knownNetworks: { source: undefined, target: new Set(['other/green']) },
  });
  const without = { sourceCluster: undefined, targetCluster: undefined };

  test.each<[string, PlanView, string]>([
    [
      'no source',
      view({}, withSpec({ provider: { ...provider, source: unset } })),
      'SourceProviderNotValid NotSet',
    ],
    ['a source that is gone', view({ source: undefined }), 'SourceProviderNotValid NotFound'],
    [
      'a source of another type',
      view({ source: ready(aProvider('source', (one) => ({ ...one, spec: { type: 'vsphere' } }))) }),
      'SourceProviderNotValid TypeNotValid',
    ],
    [
      'no destination',
      view({}, withSpec({ provider: { ...provider, destination: {} } })),
      'DestinationProviderNotValid NotSet',
    ],
    ['a source that is not Ready', view({ source: aProvider(), ...without }), 'SourceProviderNotReady'],
    [
      'a destination that is not Ready',
      view({ destination: aProvider(), ...without }),
      'DestinationProviderNotReady',
    ],
    ['no target namespace', view({}, withSpec({ targetNamespace: '' })), 'NamespaceNotValid NotSet'],
    [
      'a target namespace that is no name',
      view({}, withSpec({ targetNamespace: 'a.b' })),
      'NamespaceNotValid NotValid',
    ],
    [
      'the namespace that the VMs are in already',
      view({ targetCluster: aTarget({ cluster: 'source' }) }, withSpec({ targetNamespace: 'vms' })),
      'NamespaceNotValid NotValid vms/web',
    ],
    [
      'no network map',
      view({}, withSpec({ map: { ...map, network: unset } })),
      'NetworkMapRefNotValid NotSet',
    ],
    ['a network map that is gone', view({ networks: undefined }), 'NetworkMapRefNotValid NotFound'],
    [
      'a network map with a network that is not on the target',
      view({ knownNetworks: { source: undefined, target: new Set() } }),
      'NetworkMapNotReady NotValid Destination network (NAD) not found. target/green ' +
        'Create these NetworkAttachmentDefinitions on the target, or map to others.',
    ],
    ['no storage map', view({}, withSpec({ map: { ...map, storage: {} } })), 'StorageRefNotValid NotSet'],
    ['a storage map that is gone', view({ storage: undefined }), 'StorageRefNotValid NotFound'],
    [
      'a storage map with a class that is not on the target',
      view({ storageClasses: { source: undefined, target: new Set() } }),
      'StorageMapNotReady NotValid Destination storage not found. gold ' +
        'Create these storage classes on the target, or map to others.',
    ],
    ['a network of a third namespace', inThird, 'NetMapDestinationNADNotValid NotValid'],
    [
      'no KubeVirt',
      view({ sourceCluster: aSource({ kubevirt: undefined }) }),
      'MigrationTypeNotValid NotSupported',
    ],
    [
      'a KubeVirt without the gate',
      view({ targetCluster: aTarget({ kubevirt: aKubeVirt() }) }),
      'MigrationTypeNotValid NotSupported',
    ],
    [
      'an old Kubernetes',
      view({ sourceCluster: aSource({ version: 'v1.25.9' }) }),
      'UnsupportedVersion NotSupported',
    ],
    ['a hook without a name', view({}, hook('')), 'HookNotValid NotSet tenant/'],
    ['a hook that is gone', view({}, hook('gone')), 'HookNotValid NotFound tenant/gone'],
    [
      'a hook without a namespace, which is the plan’s, that is gone',
      view({}, hook('gone', 'PreHook', '')),
      'HookNotValid NotFound tenant/gone',
    ],
    [
      'a hook without an image',
      view({ hooks: new Map([['tenant/hook', { ...aHook(), spec: {} }]]) }, hook('hook')),
      'HookNotReady NotValid tenant/hook: The hook has no image. hook ' +
        'Set spec.image. Jobs of an Ansible Automation Platform (aap) need Forklift.',
    ],
    ['a hook of an unknown step', view({}, hook('hook', 'Later')), 'HookStepNotValid NotValid tenant/hook'],
    [
      'a VM without a name',
      view({ sourceCluster: aSource({ vms: [aVmView({ found: [] })] }) }, vms({ namespace: 'vms' })),
      'VMRefNotValid NotSet ',
    ],
    [
      'a VM that is gone',
      view({ sourceCluster: aSource({ vms: [aVmView({ found: [] })] }) }),
      'VMNotFound NotFound vms/web',
    ],
    ...(
      [
        [{ name: 'web' }, 'web'],
        [{ id: 'b2a5' }, 'id b2a5'],
        [{ id: 'b2a5', namespace: 'vms', name: 'web' }, 'vms/web with id b2a5'],
      ] satisfies [PlanVm, string][]
    ).map(([entry, shown]): [string, PlanView, string] => [
      `a VM that is gone, which the plan names ${shown}`,
      view({ sourceCluster: aSource({ vms: [aVmView({ found: [] })] }) }, vms(entry)),
      `VMNotFound NotFound ${shown}`,
    ]),
  ])('%s', (_what, one, wanted) => {
    expect(summary(one)).toEqual([wanted.trim()]);
    for (const { suggestion } of planFindings(one)) expect(suggestion).toMatch(/^[A-Z].*\.$/);
  });

  test('the messages are Forklift’s', () => {
    const messages = (one: PlanView): unknown[] => planFindings(one).map(({ message }) => message);
    expect(messages(view({ source: undefined, storage: undefined }))).toEqual([
      'The source provider is not valid.',
      'Map.Storage is not valid.',
    ]);
    expect(messages(inThird)).toEqual([
      'Destination NAD other/green must be in either the target namespace (target) or the default namespace.',
    ]);
  });
});

describe('VMs', () => {
  const vmWith = (change: Change<VirtualMachine>): PlanView =>
    view({ sourceCluster: aSource({ vms: [aVmView({ found: [aVm(change)] })] }) });
  const inTarget = (vm: VirtualMachine): PlanView =>
    view({ targetCluster: aTarget({ vms: new Map([['web', vm]]) }) });
  const withShared = (spec: VmiSpec): VmiSpec => ({
    ...spec,
    domain: { ...spec.domain, devices: { disks: [{ name: 'root', disk: {}, shareable: true }] } },
  });
  const shared = (vm: VirtualMachine): VirtualMachine => {
    const { template } = vm.spec;
    return { ...vm, spec: { ...vm.spec, template: { ...template, spec: withShared(template.spec) } } };
  };
  const sharedVmi = itsVmi((vmi) => ({ ...vmi, spec: withShared(vmi.spec) }));
  const mac = itsVmi((vmi) => ({
    ...vmi,
    status: { ...vmi.status, phase: 'Running', interfaces: [{ mac: '02:AA:00:00:00:01' }] },
  }));
  const withMac = (others: string[], there: Partial<TargetView> = {}): PlanView =>
    view({
      sourceCluster: aSource({ vms: [aVmView({ vmi: mac })] }),
      targetCluster: aTarget({ macs: new Map([['02:aa:00:00:00:01', others]]), ...there }),
    });
  const itsReceiver = aVm(
    labelled('live.mtq.kubevirt.io/plan', 'uid-of-plan'),
    labelled('live.mtq.kubevirt.io/vm', aVm().metadata.uid),
  );
  const withBlue = <T extends VmiSpec>(spec: T): T => ({
    ...spec,
    networks: [
      { name: 'default', pod: {} },
      { name: 'blue', multus: { networkName: 'blue' } },
    ],
  });
  const onPodNetwork = view({
    networks: aNetworkMap((map) => ({
      ...map,
      spec: {
        ...map.spec,
        map: [{ source: { namespace: 'vms', name: 'blue' }, destination: { type: 'pod' } }],
      },
    })),
    sourceCluster: aSource({
      vms: [
        aVmView({
          found: [
            aVm((vm) => {
              const { template } = vm.spec;
              return {
                ...vm,
                spec: { ...vm.spec, template: { ...template, spec: withBlue(template.spec) } },
              };
            }),
          ],
          vmi: itsVmi((vmi) => ({ ...vmi, spec: withBlue(vmi.spec) })),
        }),
      ],
    }),
  });
  const multus = vmWith((vm) => {
    const { template } = vm.spec;
    const networks = [{ name: 'default', multus: { networkName: 'red' } }];
    return { ...vm, spec: { ...vm.spec, template: { ...template, spec: { ...template.spec, networks } } } };
  });

  test.each<[string, PlanView, string[]]>([
    ['one of that name is on the target', inTarget(aVm()), ['VMAlreadyExists NotUnique vms/web']],
    ['the plan itself made it', inTarget(itsReceiver), ['Ready']],
    [
      'the plan has made it for another VM, which has that name now',
      inTarget(labelled('live.mtq.kubevirt.io/vm', 'another')(itsReceiver)),
      ['VMAlreadyExists NotUnique vms/web'],
    ],
    [
      'a network is not mapped, nor in its VMI',
      multus,
      [
        'VMNetworksNotMapped NotValid vms/web: network default (vms/red) is not in the map',
        'VMRestartRequired NotSupported vms/web: networks[default].multus.networkName is not as it runs: restart the VM while no run moves it',
      ],
    ],
    [
      'a second network shall be the pod network',
      onPodNetwork,
      [
        'VMNetworksNotMapped NotValid vms/web: network blue (vms/blue) is mapped to pod',
        'VMMultiplePodNetworkMappings NotValid vms/web: networks default, blue',
      ],
    ],
    [
      'its storage class is not mapped',
      view({ storage: aStorageMap((map) => ({ ...map, spec: { ...map.spec, map: [] } })) }),
      ['VMStorageNotMapped NotValid vms/web: volume root (storage class fast)'],
    ],
    [
      'it is stopped',
      view({ sourceCluster: aSource({ vms: [aVmView({ vmi: undefined })] }) }),
      ['VMPowerStateUnsupported NotSupported vms/web'],
    ],
    [
      'it has moved, and was started here again',
      vmWith(annotated('live.mtq.kubevirt.io/moved-to', '{"vm":"target/web"}')),
      ['VMHasMoved NotSupported vms/web: {"vm":"target/web"}'],
    ],
    [
      'its storage cannot be migrated',
      vmWith((vm) => ({
        ...vm,
        status: { conditions: [{ type: 'StorageLiveMigratable', status: 'False', message: 'a LUN' }] },
      })),
      ['VMMigrationTypeUnsupported NotSupported vms/web: a LUN'],
    ],
    [
      'one of its disks is shared',
      view({ sourceCluster: aSource({ vms: [aVmView({ found: [shared(aVm())], vmi: sharedVmi })] }) }),
      [
        'VMMigrationTypeUnsupported NotSupported vms/web: disk root is shareable: make it a disk of this VM alone, or remove it',
      ],
    ],
    [
      'LiveMigratable is not looked at, because volumes are copied',
      vmWith((vm) => ({ ...vm, status: { conditions: [{ type: 'LiveMigratable', status: 'False' }] } })),
      ['Ready'],
    ],
    [
      'nothing else keeps its VMI from being migrated: virt-api would refuse the VMIM',
      view({
        sourceCluster: aSource({
          vms: [aVmView({ vmi: notMigratable('InterfaceNotLiveMigratable') })],
        }),
      }),
      ['VMMigrationTypeUnsupported NotSupported vms/web: because of InterfaceNotLiveMigratable'],
    ],
    [
      'volumes that only one node may use: they are copied',
      view({
        sourceCluster: aSource({ vms: [aVmView({ vmi: notMigratable('DisksNotLiveMigratable') })] }),
      }),
      ['Ready'],
    ],
    [
      'a volume of its VMI only',
      view({
        sourceCluster: aSource({
          vms: [
            aVmView({
              vmi: itsVmi((vmi) => ({
                ...vmi,
                spec: { ...vmi.spec, volumes: [...(vmi.spec.volumes ?? []), { name: 'hot' }] },
              })),
            }),
          ],
        }),
      }),
      [expect.stringMatching(/^VolumeNotPersisted NotSupported vms\/web: volume hot/) as never],
    ],
    [
      'its MAC address is another VM’s',
      withMac(['other/db']),
      ["MacConflicts NotValid vms/web: 02:AA:00:00:00:01 is other/db's too"],
    ],
    [
      'its MAC address is that of a VM of its name on another cluster',
      withMac(['vms/web']),
      ["MacConflicts NotValid vms/web: 02:AA:00:00:00:01 is vms/web's too"],
    ],
    [
      'its MAC address is its own, within one cluster',
      withMac(['vms/web'], { cluster: 'source' }),
      ['Ready'],
    ],
    [
      'its MAC address is its own and another VM’s, within one cluster',
      withMac(['vms/web', 'other/db'], { cluster: 'source' }),
      ["MacConflicts NotValid vms/web: 02:AA:00:00:00:01 is other/db's too"],
    ],
    [
      'its MAC address is that of the VM that waits for it',
      withMac(['target/web'], { vms: new Map([['web', itsReceiver]]) }),
      ['Ready'],
    ],
    [
      'a name for the target that is none',
      view({}, withSpec({ vms: [{ name: 'web', namespace: 'vms', targetName: 'Web_1' }] })),
      ['TargetNameNotValid NotValid vms/web: Web_1'],
    ],
  ])('%s', (_what, one, wanted) => {
    expect(summary(one)).toEqual(wanted);
  });

  const two = (first: PlanVm, second: PlanVm, found: VirtualMachine[] = [aVm()]): PlanView =>
    view(
      { sourceCluster: aSource({ vms: [aVmView(), aVmView({ found })] }) },
      withSpec({ vms: [first, second] }),
    );
  const [web] = aPlan().spec.vms;
  const db = aVm((vm) => ({ ...vm, metadata: { ...metadata('db'), namespace: 'vms' } }));

  test.each<[string, PlanView, string]>([
    ['the same one twice', two(web ?? {}, { id: 'u' }), 'DuplicateVM NotUnique vms/web'],
    [
      'two with one target name',
      two(web ?? {}, { name: 'db', targetName: 'web' }, [db]),
      'DuplicateVM NotUnique vms/db',
    ],
    ['an entry that fits two', two(web ?? {}, { name: 'db' }, [db, aVm()]), 'DuplicateVM Ambiguous db'],
  ])('%s', (_what, one, wanted) => {
    expect(summary(one)).toEqual([wanted]);
  });

  const broken = { sourceCluster: aSource({ vms: [aVmView({ vmi: undefined })] }) };
  const condition = (type: string): NonNullable<Plan['status']> => ({
    conditions: [{ type, status: 'True', category: 'Advisory', lastTransitionTime: seconds(0) }],
  });

  test('are not looked at while a migration of the plan runs', () => {
    const executing: Change<Plan> = (plan) => ({ ...plan, status: condition('Executing') });
    expect(summary(view(broken, executing))).toEqual(['Ready']);
  });

  describe('that have moved', () => {
    /** Returns the VM's status as an earlier run wrote it. */
    const shownAs =
      (type: string, different: Partial<VmStatus> = {}): Change<Plan> =>
      (plan) => ({
        ...plan,
        status: {
          migration: {
            vms: [
              {
                ...{ id: aVm().metadata.uid, phase: 'Completed', pipeline: [], ...condition(type) },
                ...different,
              },
            ],
          },
        },
      });

    test.each([
      ['are not looked at again', 'Succeeded'],
      ['are neither where their run has failed after that', 'CutOver'],
    ])('%s', (_what, type) => {
      expect(summary(view(broken, shownAs(type)))).toEqual(['Ready']);
    });

    test('are looked at where they have not moved', () => {
      expect(summary(view(broken, shownAs('Failed')))).toEqual([
        'VMPowerStateUnsupported NotSupported vms/web',
      ]);
    });

    test('need not be on the source any more', () => {
      const gone = { sourceCluster: aSource({ vms: [aVmView({ found: [], vmi: undefined })] }) };
      const web = { name: 'web', namespace: 'vms' };
      expect(summary(view(gone, shownAs('CutOver', web)))).toEqual(['Ready']);
      expect(summary(view(gone, shownAs('Failed', web)))).toEqual(['VMNotFound NotFound vms/web']);
    });

    test('have another VM of their name after them, which is looked at', () => {
      const another = shownAs('Succeeded', { id: 'before', name: 'web', namespace: 'vms' });
      expect(summary(view(broken, another))).toEqual(['VMPowerStateUnsupported NotSupported vms/web']);
    });
  });

  describe('that are not free, whatever else they have', () => {
    const changed: Change<VirtualMachine> = (vm) => ({
      ...shared(vm),
      status: { conditions: [{ type: 'RestartRequired', status: 'True', message: 'changed' }] },
    });
    const onTarget = labelled(
      LIVE_LABEL.vm,
      aVm().metadata.uid,
    )({ ...LIVE_KIND.dataVolume, metadata: metadata('web-root') });
    const all = (of: Change<VirtualMachine>, vmi: Vmi | undefined): PlanView =>
      view({
        sourceCluster: aSource({
          vms: [aVmView({ found: [of(changed(aVm()))], vmi })],
          users: new Map([['vms/web-root', [{ uid: 'other', name: 'vms/db' }]]]),
        }),
        targetCluster: aTarget({ volumes: new Map([['web-root', onTarget]]) }),
      });
    const inUse: Change<VirtualMachine> = (vm) => withRecord(vm, aRecord());
    const moved: Change<VirtualMachine> = annotated(LIVE_ANNOTATION.movedTo, '{"vm":"target/web"}');

    test.each<[string, Change<VirtualMachine>, Vmi | undefined, RegExp]>([
      ['on, while a run moves it', inUse, itsVmi(), IN_USE],
      ['off, while a run moves it', inUse, undefined, IN_USE],
      ['on, after its move', moved, itsVmi(), /^VMHasMoved NotSupported vms\/web: {"vm":"target\/web"}$/],
      ['off, after its move', moved, undefined, /^VMHasMoved NotSupported vms\/web: {"vm":"target\/web"}$/],
    ])('%s', (_what, of, vmi, wanted) => {
      expect(summary(all(of, vmi))).toEqual([expect.stringMatching(wanted)]);
    });

    test('have more problems once they are free', () => {
      expect(summary(all((vm) => vm, itsVmi())).map((text) => text.split(' ')[0])).toEqual([
        'VMMigrationTypeUnsupported',
        'VMRestartRequired',
        'SharedDisks',
        'VolumeAlreadyExists',
      ]);
    });
  });
});

test('VMs whose CPU the target lacks are named, and the others move', () => {
  const labels = ['cpu-model-migration.node.kubevirt.io/Skylake', 'cpu-feature.node.kubevirt.io/vmx'];
  expect(summary(view({ missingCpus: new Map([[aVm().metadata.uid, labels]]) }))).toEqual([
    `CPUDiffers NotValid vms/web: no node there has ${labels.join(', ')}`,
    'Ready',
  ]);
});

test('VMs whose node does not say which CPU it has are named, and the others move', () => {
  expect(summary(view({ unlabelledNodes: new Map([[aVm().metadata.uid, 's-node']]) }))).toEqual([
    'CPUNotKnown NotSet vms/web: node s-node',
    'Ready',
  ]);
});

test('a VM that gets its CPU by defaults, which differ, is named', () => {
  const vmi = itsVmi((one) => ({
    ...one,
    spec: { ...one.spec, domain: { ...one.spec.domain, cpu: { model: 'host-model' } } },
  }));
  const { spec = {}, ...kubevirt } = aTarget().kubevirt ?? { metadata: metadata('kubevirt') };
  const configuration = { ...spec.configuration, cpuModel: 'Haswell' };
  const findings = summary(
    view({
      sourceCluster: aSource({ vms: [aVmView({ vmi })] }),
      targetCluster: aTarget({ kubevirt: { ...kubevirt, spec: { ...spec, configuration } } }),
    }),
  );
  expect(findings[0]).toBe(
    'CPUDiffers NotValid vms/web: runs as host-model, and KubeVirt of the target would make it Haswell',
  );
});

describe('instance types', () => {
  const large = (cpu: number): KubernetesObject =>
    ({ ...LIVE_KIND.instancetype, metadata: metadata('large'), spec: { cpu: { guest: cpu } } }) as never;
  const vm = aVm((one) => ({
    ...one,
    spec: { ...one.spec, instancetype: { kind: LIVE_KIND.instancetype.kind, name: 'large' } },
  }));

  test.each<[string, FoundResources | 'hidden' | undefined, string[]]>([
    ['that are copied', { onSource: [large(2)], onTarget: [] }, ['Ready']],
    ['that are the same on the target', { onSource: [large(2)], onTarget: [large(2)] }, ['Ready']],
    [
      'that are others on the target',
      { onSource: [large(2)], onTarget: [large(4)] },
      [
        'InstanceTypeDiffers NotValid vms/web: VirtualMachineInstancetype large on the target differs in spec: rename one of them, or ' +
          'make them the same',
        'Ready',
      ],
    ],
    [
      'that are missing',
      { onSource: [], onTarget: [] },
      [
        'InstanceTypeDiffers NotValid vms/web: VirtualMachineInstancetype large is not on the source: create it there, or take it out of the VM and ' +
          'restart it while no run moves it',
        'Ready',
      ],
    ],
    [
      'that may not be read on the source',
      'hidden',
      [
        'InstanceTypeDiffers NotValid vms/web: instance types, preferences and ControllerRevisions on the source must be readable, since ' +
          'the VM names some: kubectl apply -k config/components/live-migration/member',
        'Ready',
      ],
    ],
    ['of other VMs', undefined, ['Ready']],
  ])('%s', (_what, found, wanted) => {
    const instanceTypes = new Map(found === undefined ? [] : [[vm.metadata.uid, found]]);
    const sourceCluster = aSource({ vms: [aVmView({ found: [vm], vmi: itsVmi() })] });
    expect(summary(view({ sourceCluster, instanceTypes }))).toEqual(wanted);
  });

  test('cluster-wide ones, which are not copied, hold their VM too', () => {
    const { kind } = LIVE_KIND.clusterInstancetype;
    const instanceTypes = new Map([[vm.metadata.uid, { onSource: [{ ...large(2), kind }], onTarget: [] }]]);
    const wide = { ...vm, spec: { ...vm.spec, instancetype: { name: 'large' } } };
    const sourceCluster = aSource({ vms: [aVmView({ found: [wide], vmi: itsVmi() })] });
    expect(summary(view({ sourceCluster, instanceTypes }))).toEqual([
      'InstanceTypeDiffers NotValid vms/web: VirtualMachineClusterInstancetype large is not on the target: have an admin install it there',
      'Ready',
    ]);
  });

  test('what Secrets have is not compared: nobody is known yet who may know it', () => {
    const kinds = [LIVE_KIND.secret, LIVE_KIND.preference, LIVE_KIND.clusterPreference];
    expect(kinds.map((kind) => isNoSecret({ ...kind, name: 'login' }))).toEqual([false, true, true]);
  });
});

test('a VM that a GitOps tool owns is named, and moves', () => {
  const vm = aVm(labelled('kustomize.toolkit.fluxcd.io/name', 'shop'));
  const findings = planFindings(view({ sourceCluster: aSource({ vms: [aVmView({ found: [vm] })] }) }));
  expect(findings).toEqual([
    expect.objectContaining({
      ...{ type: 'SyncMayStartSource', category: 'Warn' },
      suggestion: expect.stringMatching(/^Before the move, pause its sync.*\. Or take the VMs out/),
      items: ['vms/web: label kustomize.toolkit.fluxcd.io/name=shop'],
    }),
    expect.objectContaining({ type: 'Ready' }),
  ]);
});

test('a VM needs on the source the Secrets and ConfigMaps that it names', () => {
  const vm = aVm();
  const sourceCluster = aSource({ vms: [aVmView({ found: [vm], vmi: itsVmi() })] });
  const missing = (missingResources: ReadonlyMap<string, readonly string[]>): string[] =>
    summary(view({ sourceCluster, missingResources }));
  expect(missing(new Map([[vm.metadata.uid, ['Secret login']]]))).toEqual([
    'ResourceNotFound NotFound vms/web: Secret login',
  ]);
  expect(missing(new Map())).toEqual(['Ready']);
});
