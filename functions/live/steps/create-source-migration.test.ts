import { expect, test } from '@jest/globals';
import {
  firstAttempt,
  going,
  received,
  sent,
  showing,
  summary,
  type Different,
} from '../../../test/support/builders/live-run.ts';
import { aPlanMigration, aVm, itsVmi, RUN } from '../../../test/support/builders/live.ts';
import { seconds, withUid } from '../../../test/support/builders/object.ts';
import type { Vmi } from '../../domain/live/kubevirt.ts';
import { migrationIdOf, runLabels, vmimName } from '../run/names.ts';
import type { RecordedRun, RunSettings } from '../run/snapshot.ts';
import { decide } from './create-source-migration.ts';

const NAME = vmimName(RUN, 1);
const CREATE = `create VirtualMachineInstanceMigration ${NAME} on source`;
/** The VM as virt-api leaves it at a stop, before KubeVirt deletes its VMI. */
const HALTED = aVm((vm) => ({ ...vm, spec: { ...vm.spec, runStrategy: 'Halted' } }));
const EVACUATING = itsVmi((vmi) => ({ ...vmi, status: { ...vmi.status, evacuationNodeName: 's-node' } }));
const GROWN = itsVmi((vmi) => ({
  ...vmi,
  spec: { ...vmi.spec, domain: { ...vmi.spec.domain, cpu: { sockets: 4 } } },
}));
const SNAPSHOTTED = aVm((vm) => ({ ...vm, status: { ...vm.status, snapshotInProgress: 'nightly' } }));
const WITH_DISK = itsVmi((vmi) => ({
  ...vmi,
  spec: { ...vmi.spec, volumes: [...(vmi.spec.volumes ?? []), { name: 'plugged-in' }] },
}));
const withInterface = (state?: string): Vmi =>
  itsVmi((vmi) => {
    const { domain } = vmi.spec;
    const interfaces = [...(domain.devices?.interfaces ?? []), { name: 'blue', state }];
    return {
      ...vmi,
      spec: { ...vmi.spec, domain: { ...domain, devices: { ...domain.devices, interfaces } } },
    };
  });
const BEHIND: Different = {
  hub: {
    migration: aPlanMigration((one) => ({
      ...one,
      status: {
        started: seconds(0),
        vms: ['db', 'web'].map((name) => ({
          ...{ name, namespace: 'vms', phase: 'CreateSourceMigration', pipeline: [], started: seconds(0) },
        })),
      },
    })),
  },
  target: { launched: new Set() },
};
const SETTINGS: RunSettings = {
  transferMs: undefined,
  sourceMs: 1,
  allowOverQuota: true,
  localMigration: false,
};
const full = (isLetIn: boolean, more: Different = {}): RecordedRun => {
  const vmims = [received('WaitingForSync')];
  return firstAttempt({
    ...more,
    target: { ...more.target, vmims, fit: { missing: '2 of limits.cpu', isLetIn } },
  });
};

test.each<[string, RecordedRun, string]>([
  ['the target waits, and the launcher fits', firstAttempt(), CREATE],
  ['it is there', firstAttempt({ source: { vmims: [sent('Synchronizing')] } }), 'done'],
  ['its name is taken', firstAttempt({ source: { taken: sent('Running') } }), 'fail TransferFailed'],
  ['the VM was stopped', firstAttempt({ source: { vmi: undefined } }), 'fail SourceStopped'],
  [
    'the VM was restarted',
    firstAttempt({ source: { vmi: itsVmi(withUid('another')) } }),
    'fail SourceStopped',
  ],
  ['the VM is being stopped', firstAttempt({ source: { vmi: going()(itsVmi()) } }), 'fail SourceStopped'],
  ['a user has stopped it', firstAttempt({ source: { vm: HALTED } }), 'fail SourceStopped'],
  ['the VM is being deleted', firstAttempt({ source: { vm: going()(aVm()) } }), 'fail SourceStopped'],
  ['the source drains the VM’s node', firstAttempt({ source: { vmi: EVACUATING } }), 'wait SourceEvacuating'],
  [
    'the source drains the VM’s node for an hour',
    firstAttempt({ source: { vmi: EVACUATING }, hub: showing('SourceEvacuating', 3_600) }),
    'fail SourceEvacuating',
  ],
  ['a snapshot of it is being taken', firstAttempt({ source: { vm: SNAPSHOTTED } }), 'wait SourceSnapshot'],
  [
    'CPUs were plugged in since the target waits',
    firstAttempt({ source: { vmi: GROWN } }),
    'fail HardwareDiffers',
  ],
  [
    'a disk was plugged in since the target waits',
    firstAttempt({ source: { vmi: WITH_DISK } }),
    'fail HardwareDiffers',
  ],
  [
    'an interface was plugged in since the target waits',
    firstAttempt({ source: { vmi: withInterface() } }),
    'fail HardwareDiffers',
  ],
  [
    'an interface was unplugged, which KubeVirt leaves in the VMI for a while',
    firstAttempt({ source: { vmi: withInterface('absent') } }),
    CREATE,
  ],
  ['another launcher comes first', firstAttempt(BEHIND), 'wait InTurn'],
  ['the launcher does not fit', full(false), 'wait OverQuota'],
  ['it does not fit for 15 minutes', full(false, { hub: showing('OverQuota', 901) }), 'fail OverQuota'],
  ['it waited for its turn before', full(false, { hub: showing('InTurn', 901) }), 'wait OverQuota'],
  ['it would be let in, which is not wanted', full(true), 'wait OverQuota'],
  ['it would be let in, which is wanted', full(true, { hub: { settings: SETTINGS } }), CREATE],
  ['it would not be let in', full(false, { hub: { settings: SETTINGS } }), 'wait OverQuota'],
])('%s', (_what, run, wanted) => {
  expect(summary(decide(run))).toBe(wanted);
});

test('the VMIM sends to the address of the target, by the id of the attempt', () => {
  expect(decide(firstAttempt())).toMatchObject({
    writes: [
      {
        object: {
          metadata: { name: NAME, namespace: 'vms', labels: runLabels(RUN) },
          spec: {
            vmiName: 'web',
            sendTo: { migrationID: migrationIdOf(RUN, 1), connectURL: '10.0.0.1:9185' },
          },
        },
      },
    ],
  });
});

test('names what is missing, and what to do', () => {
  expect(decide(full(true))).toMatchObject({
    message: expect.stringMatching(/2 of limits.cpu.*allowOverQuota: "true"/),
  });
  expect(decide(full(false))).toMatchObject({
    message: expect.stringContaining(
      'a VMMRQ with allowReceive is enough while managed-tenant-quota runs there too',
    ),
  });
});
