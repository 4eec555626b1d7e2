import { expect, test } from '@jest/globals';
import {
  aDataVolume,
  aReceiver,
  aRecordedRun,
  aWaitingVmi,
  firstAttempt,
  going,
  summary,
} from '../../../test/support/builders/live-run.ts';
import { aRecord, aVm, itsVmi } from '../../../test/support/builders/live.ts';
import { ownedBy, seconds, unlabelled, type Change } from '../../../test/support/builders/object.ts';
import type { VirtualMachine, Vmi, VmiSpec } from '../../domain/live/kubevirt.ts';
import { LIVE_LABEL } from '../../domain/live/names.ts';
import type { RecordedRun, TargetSide } from '../run/snapshot.ts';
import { decide } from './create-standby-vm.ts';

const OWNED = ownedBy([
  { apiVersion: 'kubevirt.io/v1', kind: 'VirtualMachine', name: 'web', uid: 'uid-of-receiver' },
]);
const withTarget = (target: Partial<TargetSide>): RecordedRun =>
  aRecordedRun(aRecord(), {
    target: {
      vm: aReceiver(),
      setup: {
        volumes: [OWNED(aDataVolume('Succeeded'))],
        resources: [],
        quotas: [],
        claimProperties: new Map(),
      },
      ...target,
    },
  });
const FOREIGN = aReceiver(unlabelled(LIVE_LABEL.migration));
const old = aReceiver((vm) => ({ ...vm, metadata: { ...vm.metadata, creationTimestamp: seconds(-301) } }));
const changed = aVm((vm) => {
  const { template } = vm.spec;
  const domain = { ...template.spec.domain, memory: { guest: '8Gi' } };
  return { ...vm, spec: { ...vm.spec, template: { ...template, spec: { ...template.spec, domain } } } };
});
const withFilesystem = (spec: VmiSpec): VmiSpec => ({
  ...spec,
  domain: { ...spec.domain, devices: { ...spec.domain.devices, filesystems: [{ name: 'shared' }] } },
});
const sharing = {
  vm: aVm((vm) => {
    const { template } = vm.spec;
    return { ...vm, spec: { ...vm.spec, template: { ...template, spec: withFilesystem(template.spec) } } };
  }),
  vmi: itsVmi((vmi) => ({ ...vmi, spec: withFilesystem(vmi.spec) })),
};
const smaller: Change<Vmi> = (vmi) => ({
  ...vmi,
  spec: { ...vmi.spec, domain: { ...vmi.spec.domain, memory: { guest: '2Gi' } } },
});

test.each<[string, RecordedRun, string]>([
  ['no VM yet', aRecordedRun(), 'create VirtualMachine web on target'],
  [
    'a VM that is not as it runs',
    aRecordedRun(aRecord(), { source: { vm: changed } }),
    'fail ReceiverFailed',
  ],
  [
    'a VM that was stopped meanwhile',
    aRecordedRun(aRecord(), { source: { vmi: undefined } }),
    'fail SourceStopped',
  ],
  [
    'a VM with a file system that is not copied',
    aRecordedRun(aRecord(), { source: sharing }),
    'fail ReceiverFailed',
  ],
  ['a VM of somebody else', withTarget({ vm: FOREIGN }), 'fail VMAlreadyExists'],
  ['a VM that is being deleted', withTarget({ vm: going()(aReceiver()) }), 'fail TargetGone'],
  [
    'a volume without its owner',
    withTarget({
      setup: { volumes: [aDataVolume('Succeeded')], resources: [], quotas: [], claimProperties: new Map() },
    }),
    'replace DataVolume web-root on target',
  ],
  ['KubeVirt has no VMI yet', withTarget({}), 'wait ReceiverPending'],
  ['KubeVirt has none after five minutes', withTarget({ vm: old }), 'fail ReceiverFailed'],
  [
    'its VMI is new',
    withTarget({ vmi: aWaitingVmi((vmi) => ({ ...vmi, status: { phase: '' } })) }),
    'wait ReceiverPending',
  ],
  ['its VMI waits', withTarget({ vmi: aWaitingVmi() }), 'done'],
  ['its VMI waits with less memory', withTarget({ vmi: aWaitingVmi(smaller) }), 'fail HardwareDiffers'],
  ['an attempt has begun', firstAttempt(), 'done'],
  [
    'an attempt has begun, and its VM is gone',
    firstAttempt({ target: { vm: undefined } }),
    'fail TargetGone',
  ],
  [
    'an attempt has begun, and its VM is another one',
    firstAttempt({ target: { vm: FOREIGN } }),
    'fail VMAlreadyExists',
  ],
])('%s', (_what, run, wanted) => {
  expect(summary(decide(run))).toBe(wanted);
});

test('it says why KubeVirt cannot make the VMI, in its words made safe', () => {
  const failure = {
    type: 'Failure',
    status: 'True' as const,
    message: 'exceeded quota: objects\u202e\nmore',
  };
  const vm = aReceiver((one) => ({
    ...one,
    status: { printableStatus: 'Stopped', conditions: [failure] },
  }));
  expect(decide(withTarget({ vm }))).toMatchObject({
    message: expect.stringMatching(/ yet \(Stopped\): exceeded quota: objects\\u\{202e\} more$/),
  });
});

test('the volumes go with the VM, and its deletion waits for them', () => {
  const decision = decide(
    withTarget({
      setup: { volumes: [aDataVolume('Succeeded')], resources: [], quotas: [], claimProperties: new Map() },
    }),
  );
  expect(decision).toMatchObject({
    writes: [
      {
        object: {
          metadata: {
            ownerReferences: [
              { kind: 'VirtualMachine', name: 'web', uid: 'uid-of-receiver', blockOwnerDeletion: true },
            ],
          },
        },
      },
    ],
  });
});

test('a difference says what to do', () => {
  expect(decide(aRecordedRun(aRecord(), { source: { vm: changed, vmi: itsVmi() } }))).toMatchObject({
    message: 'domain.memory.guest is not as it runs: restart the VM while no run moves it',
  });
});

test.each<[string, Change<VirtualMachine>[], string]>([
  [
    'by its instance type',
    [(vm) => ({ ...vm, spec: { ...vm.spec, instancetype: { name: 'u1.medium' } } })],
    'make u1.medium of the target the same as on the source',
  ],
  ['by defaults', [], 'set it in the VM itself'],
])('other hardware on the target: %s', (_what, changes, wanted) => {
  const run = withTarget({ vmi: aWaitingVmi(smaller) });
  const vm = { ...run.source.vm, ...aVm(...changes) };
  expect(decide({ ...run, source: { ...run.source, vm } })).toMatchObject({
    message: expect.stringContaining(`memory.guest is 4Gi on the source and 2Gi on the target: ${wanted}`),
  });
});
