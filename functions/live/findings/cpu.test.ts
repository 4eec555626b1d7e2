import { expect, test } from '@jest/globals';
import { aKubeVirt, aPlanView, aSource, aTarget } from '../../../test/support/builders/live-plan.ts';
import { aVm, itsVmi } from '../../../test/support/builders/live.ts';
import { metadata } from '../../../test/support/builders/object.ts';
import type { KubeVirt, Node } from '../../domain/objects.ts';
import { cpuLabelsOf, cpuProblems, lacksCpuLabels } from './cpu.ts';
import type { VirtualMachine, Vmi, VmiSpec } from '../../domain/live/kubevirt.ts';
import type { PlanView } from './plan-view.ts';

const withModel = (spec: VmiSpec, model: string | undefined): VmiSpec =>
  model === undefined ? spec : { ...spec, domain: { ...spec.domain, cpu: { model } } };
const running = (model?: string): Vmi => itsVmi((vmi) => ({ ...vmi, spec: withModel(vmi.spec, model) }));

const NODE: Node = {
  metadata: {
    ...metadata('s-node'),
    labels: {
      'kubernetes.io/hostname': 's-node',
      'host-model-required-features.node.kubevirt.io/vmx': 'true',
      'host-model-cpu.node.kubevirt.io/Skylake': 'true',
      'cpu-vendor.node.kubevirt.io/Intel': 'true',
      'cpu-model.node.kubevirt.io/Haswell': 'true',
    },
  },
};
const SKYLAKE = {
  'cpu-model-migration.node.kubevirt.io/Skylake': 'true',
  'cpu-feature.node.kubevirt.io/vmx': 'true',
};

test.each<[string, Vmi, Node | undefined, Record<string, string>]>([
  ['host-model', running('host-model'), NODE, SKYLAKE],
  ['no model, which is host-model', running(), NODE, SKYLAKE],
  ['host-passthrough', running('host-passthrough'), NODE, { 'cpu-vendor.node.kubevirt.io/Intel': 'true' }],
  ['a model by name', running('Haswell'), NODE, { 'cpu-model.node.kubevirt.io/Haswell': 'true' }],
  [
    'a model by name, on a node that is not known',
    running('Haswell'),
    undefined,
    { 'cpu-model.node.kubevirt.io/Haswell': 'true' },
  ],
  ['host-model, on a node that is not known', running('host-model'), undefined, {}],
])('the next node of a guest with %s', (_what, ...[vmi, node, wanted]) => {
  const labels = cpuLabelsOf(vmi, node);
  // The model comes first, in words too.
  expect(Object.entries(labels)).toEqual(Object.entries(wanted));
});

const nodeWith = (...labels: string[]): Node => ({
  metadata: { ...metadata('s-node'), labels: Object.fromEntries(labels.map((label) => [label, 'true'])) },
});
const NO_LABELS: Node = { metadata: metadata('s-node') };
const MODEL = 'cpu-model.node.kubevirt.io/Haswell';
const HOST = 'host-model-cpu.node.kubevirt.io/Skylake';
const VENDOR = 'cpu-vendor.node.kubevirt.io/Intel';
const FEATURE = 'host-model-required-features.node.kubevirt.io/vmx';

test.each<[string, Vmi, Node, boolean]>([
  ['none, for host-model', running('host-model'), NO_LABELS, true],
  ['none, for no model', running(), NO_LABELS, true],
  ['none, for a model by name', running('Haswell'), NO_LABELS, true],
  ['none that is sent, for a model by name', running('Haswell'), nodeWith(MODEL), true],
  ['none, for host-passthrough', running('host-passthrough'), NO_LABELS, true],
  ['all', running('host-model'), NODE, false],
  ['all but the model of the host, for host-model', running(), nodeWith(VENDOR, FEATURE, MODEL), true],
  ['the model of the host alone', running('host-model'), nodeWith(HOST), false],
  ['the vendor alone, for host-passthrough', running('host-passthrough'), nodeWith(VENDOR), false],
  ['a feature alone, for a model by name', running('Haswell'), nodeWith(FEATURE), false],
])('labels of the node that the target waits for: %s', (_what, ...[vmi, node, wanted]) => {
  expect(lacksCpuLabels(vmi, node)).toBe(wanted);
});

const kubevirt = (cpuModel?: string): KubeVirt => ({
  ...aKubeVirt(),
  spec: { configuration: { ...(cpuModel !== undefined && { cpuModel }) } },
});
const vmWith = (model?: string): VirtualMachine =>
  aVm((vm) => {
    const { template } = vm.spec;
    return {
      ...vm,
      spec: { ...vm.spec, template: { ...template, spec: withModel(template.spec, model) } },
    };
  });
const between = (source: KubeVirt, target: KubeVirt, missing?: readonly string[]): PlanView =>
  aPlanView({
    sourceCluster: aSource({ kubevirt: source }),
    targetCluster: aTarget({ kubevirt: target }),
    missingCpus: new Map(missing === undefined ? [] : [[aVm().metadata.uid, missing]]),
  });
const SAME = between(kubevirt(), kubevirt('host-model'));
const OTHER = between(kubevirt(), kubevirt('Haswell'));

test.each<[string, Parameters<typeof cpuProblems>, string[]]>([
  ['the same defaults', [{ vm: vmWith(), vmi: running('host-model') }, SAME], []],
  [
    'other defaults',
    [{ vm: vmWith(), vmi: running('host-model') }, OTHER],
    ['runs as host-model, and KubeVirt of the target would make it Haswell'],
  ],
  [
    'other defaults, and the VM names its model',
    [{ vm: vmWith('host-model'), vmi: running('host-model') }, OTHER],
    [],
  ],
  [
    'other defaults, and an instance type names it',
    [
      {
        vm: { ...vmWith(), spec: { ...vmWith().spec, instancetype: { name: 'large' } } },
        vmi: running('Skylake'),
      },
      OTHER,
    ],
    [],
  ],
  [
    'another default of the source since it was started',
    [{ vm: vmWith(), vmi: running('Haswell') }, OTHER],
    [],
  ],
  ['other defaults, and it does not run', [{ vm: vmWith(), vmi: undefined }, OTHER], []],
  [
    'no node with two labels',
    [{ vm: vmWith(), vmi: running() }, between(kubevirt(), kubevirt(), ['a', 'b'])],
    ['no node there has a, b'],
  ],
  [
    'no node with many labels',
    [{ vm: vmWith(), vmi: running() }, between(kubevirt(), kubevirt(), ['a', 'b', 'c', 'd', 'e'])],
    ['no node there has a, b, c and 2 more labels'],
  ],
])('a guest that comes to %s', (_what, given, wanted) => {
  expect(cpuProblems(...given)).toEqual(wanted);
});
