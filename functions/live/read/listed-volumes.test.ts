import { expect, test } from '@jest/globals';
import { aVm } from '../../../test/support/builders/live.ts';
import type { VirtualMachine } from '../../domain/live/kubevirt.ts';
import { VMS_BY_CLAIM } from './listed-volumes.ts';

const withClaims = (...names: string[]): VirtualMachine => {
  const vm = aVm();
  const { template } = vm.spec;
  const volumes = names.map((name) => ({ name, dataVolume: { name }, secret: 'x'.repeat(100) }));
  return { ...vm, spec: { ...vm.spec, template: { ...template, spec: { ...template.spec, volumes } } } };
};

test('a list by claims has only VMs with one, without the rest of their volumes, and counts what it keeps', () => {
  expect(VMS_BY_CLAIM.trim(withClaims())).toBeUndefined();
  const one = VMS_BY_CLAIM.trim(withClaims('root'));
  expect(one?.object.spec.template.spec.volumes).toEqual([{ name: '', dataVolume: { name: 'root' } }]);
  const many = VMS_BY_CLAIM.trim(withClaims(...Array.from({ length: 1_000 }, () => 'root')));
  expect(many?.size).toBeGreaterThan(1_000 * 4);
});
