import { describe, expect, test } from '@jest/globals';
import { aNetworkMap, aPlan, aRecord, aVm, itsVmi, RUN } from '../../../test/support/builders/live.ts';
import type { Change } from '../../../test/support/builders/object.ts';
import type { Plan } from '../../domain/live/forklift.ts';
import type { Network, VirtualMachine, Vmi } from '../../domain/live/kubevirt.ts';
import { runLabels } from '../run/names.ts';
import { standbyVm, unmappedNetworks } from './standby-vm.ts';

const standby = ({
  vm = aVm(),
  vmi = itsVmi(),
  plan = aPlan(),
}: { vm?: VirtualMachine; vmi?: Vmi; plan?: Plan } = {}): VirtualMachine =>
  standbyVm({ run: RUN, record: aRecord(), plan, networks: aNetworkMap(), vm, vmi }) as VirtualMachine;

const withSpec =
  (spec: Partial<VirtualMachine['spec']>): Change<VirtualMachine> =>
  (vm) => ({
    ...vm,
    spec: { ...vm.spec, ...spec },
  });
const withNetworks =
  (...networks: Network[]): Change<VirtualMachine> =>
  (vm) => {
    const { template } = vm.spec;
    return withSpec({ template: { ...template, spec: { ...template.spec, networks } } })(vm);
  };

test('the VM waits for its guest, and knows how it shall run then', () => {
  expect(standby()).toEqual({
    apiVersion: 'kubevirt.io/v1',
    kind: 'VirtualMachine',
    metadata: {
      name: 'web',
      namespace: 'target',
      labels: runLabels(RUN),
      annotations: { 'kubevirt.io/restore-run-strategy': 'Always' },
    },
    spec: {
      runStrategy: 'WaitAsReceiver',
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { ...aVm().spec.template.spec, domain: { ...aVm().spec.template.spec.domain, firmware: {} } },
      },
    },
  });
});

test('what belongs to the source’s cluster, to Forklift, to a GitOps tool or to an earlier run stays there', () => {
  const vm = aVm(
    (one) => ({
      ...one,
      metadata: {
        ...one.metadata,
        labels: {
          plan: 'p',
          migration: 'm',
          vmID: 'v',
          'live.mtq.kubevirt.io/migration': 'before',
          'argocd.argoproj.io/instance': 'shop',
          'kustomize.toolkit.fluxcd.io/name': 'shop',
          tier: 'web',
        },
        annotations: {
          'live.mtq.kubevirt.io/run': '{}',
          'live.mtq.kubevirt.io/moved-to': '{}',
          'live.mtq.kubevirt.io/next-crash-halts': 'it would',
          'argocd.argoproj.io/tracking-id': 'shop:kubevirt.io/VirtualMachine:shop/web',
          'kubectl.kubernetes.io/last-applied-configuration': 'password',
          'kubevirt.io/latest-observed-api-version': 'v1',
          'example.com/note': 'goes with it',
        },
        finalizers: ['kubevirt.io/virtualMachineControllerFinalize'],
        ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'x', uid: 'u' }],
      },
    }),
    withSpec({
      dataVolumeTemplates: [{}],
      instancetype: { kind: 'VirtualMachineInstancetype', name: 'large', revisionName: 'web-large-1' },
      preference: { name: 'linux', revisionName: 'web-linux-1' },
    }),
  );
  const { metadata, spec } = standby({ vm });
  expect(metadata.labels).toEqual({ ...runLabels(RUN), tier: 'web' });
  expect(metadata.annotations).toEqual({
    'kubevirt.io/restore-run-strategy': 'Always',
    'example.com/note': 'goes with it',
  });
  expect(Object.keys(metadata).sort()).toEqual(['annotations', 'labels', 'name', 'namespace']);
  expect(spec).not.toHaveProperty('dataVolumeTemplates');
  expect(spec).toMatchObject({
    instancetype: { kind: 'VirtualMachineInstancetype', name: 'large' },
    preference: { name: 'linux' },
  });
  expect(JSON.stringify(spec)).not.toContain('revisionName');
});

test('`running: true` is replaced', () => {
  const { runStrategy: _runStrategy, ...spec } = aVm().spec;
  const { spec: standing } = standby({ vm: { ...aVm(), spec: { ...spec, running: true } } });
  expect(standing).not.toHaveProperty('running');
  expect(standing.runStrategy).toBe('WaitAsReceiver');
});

test('the guest keeps its MAC addresses, uuid and serial, which only its VMI has', () => {
  const vmi = itsVmi((one) => ({
    ...one,
    spec: { ...one.spec, domain: { ...one.spec.domain, firmware: { uuid: 'u-u-i-d', serial: '7' } } },
    status: { ...one.status, interfaces: [{ name: 'default', mac: '02:00:00:00:00:01' }] },
  }));
  const { domain } = standby({ vmi }).spec.template.spec;
  expect(domain.firmware).toEqual({ uuid: 'u-u-i-d', serial: '7' });
  expect(domain.devices?.interfaces).toEqual([
    { name: 'default', masquerade: {}, macAddress: '02:00:00:00:00:01' },
  ]);
});

test('the plan says where it runs, and which labels it gets', () => {
  const plan = aPlan((one) => ({
    ...one,
    spec: {
      ...one.spec,
      targetLabels: { moved: 'true' },
      targetNodeSelector: { zone: 'b' },
      targetAffinity: { nodeAffinity: {} },
    },
  }));
  const { metadata, spec } = standby({ plan });
  expect(metadata.labels).toMatchObject({ moved: 'true' });
  expect(spec.template.metadata?.labels).toEqual({ app: 'web', moved: 'true' });
  expect(spec.template.spec).toMatchObject({ nodeSelector: { zone: 'b' }, affinity: { nodeAffinity: {} } });
});

describe('networks', () => {
  const blue: Network = { name: 'blue', multus: { networkName: 'blue' } };

  test.each(['blue', 'vms/blue'])('%s becomes what the map says; the pod network stays', (networkName) => {
    const vm = aVm(withNetworks({ name: 'default', pod: {} }, { name: 'blue', multus: { networkName } }));
    expect(standby({ vm }).spec.template.spec.networks).toEqual([
      { name: 'default', pod: {} },
      { name: 'blue', multus: { networkName: 'target/green' } },
    ]);
    expect(unmappedNetworks(vm, aNetworkMap())).toEqual([]);
  });

  test.each([
    { namespace: 'vms', name: 'blue' },
    { name: 'vms/blue' },
    { namespace: 'tenant', name: 'vms/blue' },
    { id: 'uid', namespace: 'vms', name: 'blue' },
  ])('an entry for %j is found', (source) => {
    const map = [{ source, destination: { type: 'multus' as const, namespace: 'target', name: 'green' } }];
    const networks = aNetworkMap((one) => ({ ...one, spec: { ...one.spec, map } }));
    expect(unmappedNetworks(aVm(withNetworks(blue)), networks)).toEqual([]);
  });

  test.each<[string, ReturnType<typeof aNetworkMap>['spec']['map'], string]>([
    ['not in the map', [], 'network blue (vms/blue) is not in the map'],
    [
      'mapped to the pod network',
      [{ source: { name: 'vms/blue' }, destination: { type: 'pod' } }],
      'network blue (vms/blue) is mapped to pod',
    ],
    [
      'ignored',
      [{ source: { namespace: 'vms', name: 'blue' }, destination: { type: 'ignored' } }],
      'network blue (vms/blue) is mapped to ignored',
    ],
  ])('%s: named', (_what, map, message) => {
    const networks = aNetworkMap((one) => ({ ...one, spec: { ...one.spec, map } }));
    expect(unmappedNetworks(aVm(withNetworks(blue)), networks)).toEqual([message]);
  });
});
