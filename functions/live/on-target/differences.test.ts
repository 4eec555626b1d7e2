import { expect, test } from '@jest/globals';
import { aVm, itsVmi } from '../../../test/support/builders/live.ts';
import { differencesOf, otherHardware } from './differences.ts';
import type { VirtualMachine, VmiSpec } from '../../domain/live/kubevirt.ts';

const running = (change: (spec: VmiSpec) => VmiSpec): ReturnType<typeof itsVmi> =>
  itsVmi((vmi) => ({ ...vmi, spec: change(structuredClone(vmi.spec)) }));
const vm = (change: (spec: VmiSpec) => VmiSpec): VirtualMachine =>
  aVm((one) => {
    const { template } = one.spec;
    return {
      ...one,
      spec: { ...one.spec, template: { ...template, spec: change(structuredClone(template.spec)) } },
    };
  });
const same = (spec: VmiSpec): VmiSpec => spec;

test.each<[string, VirtualMachine, ReturnType<typeof itsVmi>, string[]]>([
  ['as it runs', aVm(), itsVmi(), []],
  [
    'a VMI that has KubeVirt’s defaults, and CPUs of an instance type, too',
    aVm(),
    running((spec) => ({
      ...spec,
      domain: { ...spec.domain, cpu: { cores: 2 }, machine: { type: 'q35' }, features: { acpi: {} } },
      evictionStrategy: 'LiveMigrate',
    })),
    [],
  ],
  [
    'a VMI whose disks are in another order',
    vm((spec) => ({
      ...spec,
      volumes: [{ name: 'data', dataVolume: { name: 'd' } }, ...(spec.volumes ?? [])],
    })),
    running((spec) => ({
      ...spec,
      volumes: [...(spec.volumes ?? []), { name: 'data', dataVolume: { name: 'd' } }],
    })),
    [],
  ],
  [
    'more memory after the start',
    vm((spec) => ({ ...spec, domain: { ...spec.domain, memory: { guest: '8Gi' } } })),
    itsVmi(),
    ['VMRestartRequired domain.memory.guest is not as it runs: restart the VM while no run moves it'],
  ],
  [
    'another disk after the start',
    vm((spec) => ({
      ...spec,
      volumes: [...(spec.volumes ?? []), { name: 'new', dataVolume: { name: 'd' } }],
    })),
    itsVmi(),
    ['VMRestartRequired volumes[new] is not as it runs: restart the VM while no run moves it'],
  ],
  [
    'another network',
    vm((spec) => ({ ...spec, networks: [{ name: 'default', multus: { networkName: 'blue' } }] })),
    itsVmi(),
    [
      'VMRestartRequired networks[default].multus.networkName is not as it runs: restart the VM while no run moves it',
    ],
  ],
  [
    'an interface that was unplugged',
    vm((spec) => ({
      ...spec,
      domain: {
        ...spec.domain,
        devices: { ...spec.domain.devices, interfaces: [{ name: 'old', state: 'absent' }] },
      },
    })),
    itsVmi(),
    [],
  ],
  [
    'a volume of the VMI only',
    vm(same),
    running((spec) => ({ ...spec, volumes: [...(spec.volumes ?? []), { name: 'hot' }] })),
    [
      'VolumeNotPersisted volume hot was hotplugged into the VMI only: add it to the VM (virtctl addvolume --persist), or remove it',
    ],
  ],
  [
    'KubeVirt says so',
    aVm((one) => ({
      ...one,
      status: {
        conditions: [
          { type: 'RestartRequired', status: 'True', message: 'a non-live-updatable field was changed' },
        ],
      },
    })),
    itsVmi(),
    ['VMRestartRequired a non-live-updatable field was changed'],
  ],
])('%s', (_what, ...[one, vmi, wanted]) => {
  expect(differencesOf(one, vmi).map(({ kind, message }) => `${kind} ${message}`)).toEqual(wanted);
});

const hardware = (domain: object): ReturnType<typeof itsVmi> =>
  running((spec) => ({ ...spec, domain: { devices: {}, ...domain } }));

test.each<[string, object, object, string[]]>([
  [
    'the same',
    { cpu: { cores: 2 }, memory: { guest: '4Gi' } },
    { cpu: { cores: 2 }, memory: { guest: '4Gi' } },
    [],
  ],
  [
    'the same in other words',
    { memory: { guest: '1Gi' } },
    { cpu: { cores: 1, sockets: 1 }, memory: { guest: '1024Mi' } },
    [],
  ],
  [
    'more CPUs, in another form',
    { cpu: { cores: 4 } },
    { cpu: { sockets: 4 } },
    [
      'cpu.sockets is 1 on the source and 4 on the target',
      'cpu.cores is 4 on the source and 1 on the target',
    ],
  ],
  [
    'another CPU model',
    { cpu: { model: 'host-model' } },
    { cpu: { model: 'Haswell' } },
    ['cpu.model is host-model on the source and Haswell on the target'],
  ],
  [
    'less memory',
    { memory: { guest: '8Gi' } },
    { memory: { guest: '4Gi' } },
    ['memory.guest is 8Gi on the source and 4Gi on the target'],
  ],
  [
    'other pages',
    { memory: { hugepages: { pageSize: '2Mi' } } },
    { memory: { hugepages: { pageSize: '1Gi' } } },
    ['memory.hugepages.pageSize is 2Mi on the source and 1Gi on the target'],
  ],
  [
    'another kind of CPUs, firmware and devices',
    {},
    {
      cpu: { dedicatedCpuPlacement: true },
      firmware: { bootloader: { efi: {} } },
      devices: { tpm: {}, gpus: [{}], hostDevices: [] },
    },
    [
      'cpu.dedicatedCpuPlacement is false on the source and true on the target',
      'firmware.bootloader is bios on the source and efi on the target',
      'devices.tpm is none on the source and there on the target',
      'devices.gpus is 0 on the source and 1 on the target',
    ],
  ],
  ['what one of them does not say', { memory: { guest: '8Gi' } }, {}, []],
])('the hardware of another cluster: %s', (_what, ...[source, target, wanted]) => {
  expect(otherHardware(hardware(source), hardware(target))).toEqual(wanted);
});
