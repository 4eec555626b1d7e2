import { expect, test } from '@jest/globals';
import { aPlanView } from '../../../test/support/builders/live-plan.ts';
import { aPlan } from '../../../test/support/builders/live.ts';
import { planFindings } from './plan.ts';
import { rawText } from '../../../test/support/raw-text.ts';

/** Returns the fields that the plan's condition lists; undefined if it has none. */
function ignored(spec: object, ofVm: object = {}): string[] | undefined {
  const plan = aPlan((one) => {
    const vms = one.spec.vms.map((vm) => ({ ...vm, ...ofVm }));
    return { ...one, spec: { ...one.spec, ...spec, vms } };
  });
  const findings = planFindings(aPlanView({ plan }));
  expect(findings.map(({ type }) => type)).toContain('Ready');
  const found = findings.filter(({ type }) => type === 'FieldsIgnored');
  expect(found.length).toBeLessThan(2);
  return found[0]?.items?.map(rawText);
}

test('fields that do nothing are in one condition, and the plan is Ready', () => {
  const spec = {
    ...{ transferNetwork: { name: 'fast' }, pvcNameTemplate: '{{.VmName}}', warm: true },
    ...{ preserveStaticIPs: false, targetPowerState: 'off', deleteVmOnFailMigration: false },
  };
  const ofVm = { instanceType: 'u1.large', rootDisk: 'disk0', targetPowerState: 'on' };
  expect(ignored(spec, ofVm)).toEqual([
    ...['transferNetwork', 'pvcNameTemplate', 'warm'].map((field) => `spec.${field}`),
    ...['preserveStaticIPs', 'targetPowerState', 'deleteVmOnFailMigration'].map((field) => `spec.${field}`),
    ...['instanceType', 'rootDisk', 'targetPowerState'].map((field) => `spec.vms[].${field}`),
  ]);
});

test.each<[string, object, object?]>([
  [
    'are used',
    {
      targetLabels: { a: 'b' },
      targetNodeSelector: { a: 'b' },
      targetAffinity: { nodeAffinity: {} },
      serviceAccount: 'a',
    },
    { targetName: 'web-1', hooks: [] },
  ],
  [
    'Forklift’s CRD fills in',
    {
      ...{ preserveStaticIPs: true, migrateSharedDisks: true, useCompatibilityMode: true },
      ...{
        runPreflightInspection: true,
        pvcNameTemplateUseGenerateName: true,
        deleteVmOnFailMigration: true,
      },
    },
    { luks: {} },
  ],
  [
    'say nothing',
    { warm: false, transferNetwork: null, diskBus: '', tagMapping: [], targetPowerState: 'auto' },
  ],
])('fields that %s are not listed', (_which, ...[spec, ofVm]) => {
  expect(ignored(spec, ofVm)).toBeUndefined();
});

test('a plan of any number of fields has a condition of a few', () => {
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`f${String(index)}`, 'x']));
  const items = ignored(many) ?? [];
  expect([items.length, items.at(-1)]).toEqual([21, '980 more']);
});
