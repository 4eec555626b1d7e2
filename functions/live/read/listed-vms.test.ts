import { expect, test } from '@jest/globals';
import { aVm } from '../../../test/support/builders/live.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { LIVE_LABEL } from '../../domain/live/names.ts';
import { macsOf, NAMED_VMS, VMS_BY_MAC } from './listed-vms.ts';

const withMacs = (...macs: string[]): VirtualMachine => {
  const vm = aVm();
  const { template } = vm.spec;
  const interfaces = macs.map((macAddress) => ({ name: 'net', macAddress }));
  const domain = { ...template.spec.domain, devices: { interfaces } };
  return { ...vm, spec: { ...vm.spec, template: { ...template, spec: { ...template.spec, domain } } } };
};
const READ = { [LIVE_LABEL.plan]: 'plan', [LIVE_LABEL.vm]: 'vm' };
const labelled: VirtualMachine = {
  ...withMacs('02:00:00:00:00:01'),
  metadata: { ...aVm().metadata, labels: { ...READ, own: 'x'.repeat(100_000) } },
};

test.each([
  ['by name', NAMED_VMS],
  ['by MAC address', VMS_BY_MAC],
])('a list %s keeps the labels that are looked at', (_, type) => {
  expect(type.trim(labelled)?.object.metadata.labels).toEqual(READ);
});

test('a list by MAC address has only VMs with one, and counts what it keeps', () => {
  expect(VMS_BY_MAC.trim(withMacs())).toBeUndefined();
  const one = VMS_BY_MAC.trim(withMacs('02:00:00:00:00:0A'));
  expect(one && macsOf(one.object)).toEqual(['02:00:00:00:00:0a']);
  const many = VMS_BY_MAC.trim(withMacs(...Array.from({ length: 1_000 }, () => '02:00:00:00:00:01')));
  expect(many?.size).toBeGreaterThan(1_000 * 17);
});
