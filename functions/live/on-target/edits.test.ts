import { describe, expect, test } from '@jest/globals';
import { aRecordedRun, recorded } from '../../../test/support/builders/live-run.ts';
import { aNetworkMap, aPlan, aRecord, aVm, itsVmi, RUN } from '../../../test/support/builders/live.ts';
import {
  annotated,
  build,
  labelled,
  unlabelled,
  type Change,
} from '../../../test/support/builders/object.ts';
import type { RunStrategy, VirtualMachine, VmTemplate } from '../../domain/live/kubevirt.ts';
import type { RunRecord } from '../run/record.ts';
import { editsNotOnTarget, fingerprintOf, pathsNotOnTarget } from './edits.ts';
import { standbyVm } from './standby-vm.ts';

const template =
  (change: (template: VmTemplate) => VmTemplate): Change<VirtualMachine> =>
  (vm) => ({ ...vm, spec: { ...vm.spec, template: change(vm.spec.template) } });
const guest = (change: (spec: VmTemplate['spec']) => VmTemplate['spec']): Change<VirtualMachine> =>
  template((one) => ({ ...one, spec: change(one.spec) }));
const memory = (size: string): Change<VirtualMachine> =>
  guest((spec) => ({ ...spec, domain: { ...spec.domain, memory: { guest: size } } }));
const plugged: Change<VirtualMachine> = guest((spec) => ({
  ...spec,
  volumes: [...(spec.volumes ?? []), { name: 'data', persistentVolumeClaim: { claimName: 'data' } }],
}));

/** VMs with what a copy does not have from its source as it is. */
const OF_ITS_CLUSTER: readonly Change<VirtualMachine>[] = [
  labelled('app', 'web'),
  labelled('argocd.argoproj.io/instance', 'shop'),
  guest((spec) => ({
    ...spec,
    networks: [{ name: 'default', multus: { networkName: 'blue' } }],
    nodeSelector: { rack: 'one' },
    domain: {
      ...spec.domain,
      memory: { guest: '4Gi' },
      devices: { ...spec.domain.devices, disks: [{ name: 'root', bootOrder: 1 }] },
    },
  })),
  (vm) => ({ ...vm, spec: { ...vm.spec, instancetype: { name: 'small', revisionName: 'web-small-1' } } }),
  (vm) => ({ ...vm, spec: { ...vm.spec, dataVolumeTemplates: [{ metadata: { name: 'web-root' } }] } }),
];
const PLAN = aPlan((plan) => ({
  ...plan,
  spec: { ...plan.spec, targetLabels: { site: 'b' }, targetNodeSelector: { rack: 'two' } },
}));

/** The paths that are not on the target after these edits of a VM, of which the copy was made before. */
function edited(...edits: readonly Change<VirtualMachine>[]): string[] {
  const before = aVm(...OF_ITS_CLUSTER);
  const record = recorded({ fingerprint: fingerprintOf(before) });
  const copy = standbyVm({
    ...{ run: RUN, record, plan: PLAN, networks: aNetworkMap(), vm: before, vmi: itsVmi() },
  }) as VirtualMachine;
  const running: VirtualMachine = {
    ...copy,
    spec: { ...copy.spec, runStrategy: 'Always', preference: { name: 'added-there' } },
  };
  const vm = build(before, edits);
  return editsNotOnTarget(
    aRecordedRun(record, { hub: { plan: PLAN }, source: { vm }, target: { vm: running } }),
  );
}

describe('edits of the source VM that are not on the target', () => {
  test.each<[string, readonly Change<VirtualMachine>[], string[]]>([
    ['none', [], []],
    ['its memory', [memory('8Gi')], ['spec.template.spec.domain.memory.guest']],
    ['a disk', [plugged], ['spec.template.spec.volumes[data]']],
    [
      'a volume less',
      [guest(({ volumes: _volumes, ...spec }) => spec)],
      ['spec.template.spec.volumes[root]'],
    ],
    ['a label', [labelled('tier', 'front')], ['metadata.labels.tier']],
    ['another label', [labelled('app', 'shop')], ['metadata.labels.app']],
    ['a label less', [unlabelled('app')], ['metadata.labels.app']],
    [
      'a field less',
      [guest(({ domain: { memory: _memory, ...domain }, ...spec }) => ({ ...spec, domain }))],
      ['spec.template.spec.domain.memory.guest'],
    ],
    [
      'a field less of a disk',
      [
        guest(({ domain, ...spec }) => ({
          ...spec,
          domain: { ...domain, devices: { ...domain.devices, disks: [{ name: 'root' }] } },
        })),
      ],
      ['spec.template.spec.domain.devices.disks[root].bootOrder'],
    ],
    [
      'an instance type less',
      [({ spec: { instancetype: _type, ...spec }, ...vm }) => ({ ...vm, spec })],
      ['spec.instancetype.name'],
    ],
    [
      'another network',
      [guest((spec) => ({ ...spec, networks: [{ name: 'default', multus: { networkName: 'red' } }] }))],
      ['spec.template.spec.networks[default].multus.networkName (target/green on the target)'],
    ],
    [
      'a label of its guest',
      [template((one) => ({ ...one, metadata: { labels: { app: 'shop' } } }))],
      ['spec.template.metadata.labels.app'],
    ],
    [
      'several',
      [memory('8Gi'), labelled('tier', 'front')],
      ['metadata.labels.tier', 'spec.template.spec.domain.memory.guest'],
    ],
    [
      'an instance type',
      [(vm) => ({ ...vm, spec: { ...vm.spec, instancetype: { name: 'large' } } })],
      ['spec.instancetype.name'],
    ],
  ])('%s', (_what, edits, wanted) => {
    expect(edited(...edits)).toEqual(wanted);
  });

  test.each<[string, Change<VirtualMachine>]>([
    ['the halt', (vm) => ({ ...vm, spec: { ...vm.spec, runStrategy: 'Halted' } })],
    ['an annotation, as KubeVirt writes', annotated('kubevirt.io/latest-observed-api-version', 'v1')],
    ['a label of a GitOps tool', labelled('argocd.argoproj.io/instance', 'other')],
    [
      'a revision that KubeVirt writes',
      (vm) => ({ ...vm, spec: { ...vm.spec, instancetype: { name: 'small', revisionName: 'web-small-2' } } }),
    ],
    ['its own node', guest((spec) => ({ ...spec, nodeSelector: { rack: 'three' } }))],
  ])('%s is none', (_what, edit) => {
    expect(edited(edit)).toEqual([]);
  });

  test.each<[string, RunRecord['changedTo'], RunStrategy, string[]]>([
    ['another than the copy has', 'Manual', 'Always', ['spec.runStrategy (was set to Manual)']],
    ['the one that the copy has', 'running', 'Always', []],
    ['none', undefined, 'Always', []],
  ])('a strategy that an owner has set: %s', (_what, changedTo, runStrategy, wanted) => {
    const vm = aVm((one) => ({ ...one, spec: { ...one.spec, runStrategy: 'Halted' } }));
    const copy = aVm((one) => ({ ...one, spec: { ...one.spec, runStrategy } }));
    const record = recorded({ fingerprint: fingerprintOf(vm), changedTo });
    expect(editsNotOnTarget(aRecordedRun(record, { source: { vm }, target: { vm: copy } }))).toEqual(wanted);
    // A later look at both keeps what was said, and adds nothing to it.
    const later = pathsNotOnTarget(vm, copy, aPlan());
    expect(wanted.filter((path) => later.includes(path))).toEqual(wanted);
    expect(later).not.toContain(`spec.runStrategy (was set to ${runStrategy})`);
  });

  test('an edit of the copy alone is none', () => {
    const vm = aVm();
    const copy = aVm(memory('8Gi'), labelled('app', 'other'));
    const record = recorded({ fingerprint: fingerprintOf(vm) });
    expect(editsNotOnTarget(aRecordedRun(record, { source: { vm }, target: { vm: copy } }))).toEqual([]);
  });

  test('without a fingerprint nothing is known', () => {
    const different = { source: { vm: aVm(memory('8Gi')) }, target: { vm: aVm() } };
    expect(editsNotOnTarget(aRecordedRun(aRecord(), different))).toEqual([]);
  });
});
