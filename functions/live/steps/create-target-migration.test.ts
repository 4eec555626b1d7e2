import { expect, test } from '@jest/globals';
import {
  aLauncherPod,
  aReceiver,
  aRecordedRun,
  aWaitingVmi,
  firstAttempt,
  going,
  received,
  recorded,
  sent,
  showing,
  summary,
  writtenRecord,
  type Different,
} from '../../../test/support/builders/live-run.ts';
import { itsVmi, RUN } from '../../../test/support/builders/live.ts';
import { migrationIdOf, runLabels, vmimName } from '../run/names.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import { decide } from './create-target-migration.ts';

const READY: Different = { target: { vm: aReceiver(), vmi: aWaitingVmi() } };
const EVACUATING = itsVmi((vmi) => ({ ...vmi, status: { ...vmi.status, evacuationNodeName: 's-node' } }));
const LOCAL = sent('Running', (vmim) => ({ ...vmim, metadata: { ...vmim.metadata, name: 'evacuation' } }));
const DRAINED_FOR_AN_HOUR = showing('SourceEvacuating', 3_600);
const NAME = vmimName(RUN, 1);
const RECORD = 'replace VirtualMachine web on source';
const withdrawn = (different: Different = {}): RecordedRun => firstAttempt(different, { withdrawn: true });

test.each<[string, RecordedRun, string]>([
  ['the attempt is recorded first', aRecordedRun(recorded({}), READY), RECORD],
  [
    'the source drains the VM’s node',
    aRecordedRun(recorded({}), { ...READY, source: { vmi: EVACUATING } }),
    'wait SourceEvacuating',
  ],
  [
    'the source migrates the VM itself',
    aRecordedRun(recorded({}), { ...READY, source: { others: [LOCAL] } }),
    'wait SourceMigrating',
  ],
  [
    'the source drains the VM’s node for an hour',
    aRecordedRun(recorded({}), { ...READY, hub: DRAINED_FOR_AN_HOUR, source: { vmi: EVACUATING } }),
    'fail SourceEvacuating',
  ],
  [
    'the source migrates the VM itself for an hour',
    aRecordedRun(recorded({}), {
      ...READY,
      hub: showing('SourceMigrating', 3_600),
      source: { others: [LOCAL] },
    }),
    'fail SourceMigrating',
  ],
  [
    'a recorded attempt gets its VMIM',
    firstAttempt({ target: { vmims: [] } }),
    `create VirtualMachineInstanceMigration ${NAME} on target`,
  ],
  ['its VMIM is there', firstAttempt(), 'done'],
  [
    'somebody else has made a VMIM of its name',
    firstAttempt({ target: { vmims: [], taken: received('Succeeded') } }),
    'fail TransferFailed',
  ],
  [
    'its VMIM was deleted while the other one sends: KubeVirt goes on without it',
    firstAttempt({ source: { vmims: [sent('Running')] }, target: { vmims: [] } }),
    'done',
  ],
  [
    'a withdrawn attempt: its VMIM goes',
    withdrawn(),
    `delete VirtualMachineInstanceMigration ${NAME} on target`,
  ],
  [
    'a withdrawn attempt that has gone, while the source drains',
    withdrawn({ source: { vmi: EVACUATING }, target: { vmims: [] } }),
    'wait SourceEvacuating',
  ],
  [
    'a withdrawn attempt that has gone, while the source drains for an hour',
    withdrawn({ hub: DRAINED_FOR_AN_HOUR, source: { vmi: EVACUATING }, target: { vmims: [] } }),
    'fail SourceEvacuating',
  ],
  [
    'a withdrawn attempt that does not go',
    withdrawn({ target: { vmims: [going()(received('WaitingForSync'))] } }),
    'wait Aborting',
  ],
  [
    'a withdrawn attempt that does not go for an hour',
    withdrawn({
      hub: showing('Aborting', 3_600),
      target: { vmims: [going()(received('WaitingForSync'))] },
    }),
    'fail Aborting',
  ],
  [
    'a withdrawn attempt of which KubeVirt leaves the target’s for good',
    withdrawn({ target: { vmims: [going(-11)(received('TargetReady'))], pods: [aLauncherPod('target')] } }),
    'fail Aborting',
  ],
  ['a withdrawn attempt that has gone', withdrawn({ target: { vmims: [] } }), RECORD],
  [
    'a withdrawn attempt that has gone, of a VM that is being stopped',
    withdrawn({ source: { vmi: going()(itsVmi()) }, target: { vmims: [] } }),
    'fail SourceStopped',
  ],
  [
    'a recorded attempt of a VM that is being stopped',
    firstAttempt({ source: { vmi: going()(itsVmi()) }, target: { vmims: [] } }),
    'fail SourceStopped',
  ],
])('%s', (_what, run, wanted) => {
  expect(summary(decide(run))).toBe(wanted);
});

test('the first attempt is for the VM and the VMI that are on the target then', () => {
  const record = recorded({ attempt: 1, receiver: 'uid-of-receiver', receiverVmi: 'uid-of-target-vmi' });
  expect(writtenRecord(decide(aRecordedRun(recorded({}), READY)))).toEqual(record);
});

test('the next attempt has the next number, and is not withdrawn', () => {
  const before = withdrawn({ target: { vmims: [] } });
  const own = { receiver: 'uid-of-receiver', receiverVmi: 'uid-of-target-vmi' };
  expect(writtenRecord(decide(before))).toEqual(recorded({ attempt: 2, ...own }));
});

test('the VMIM receives by the id of the attempt, and has the labels of the run', () => {
  expect(decide(firstAttempt({ target: { vmims: [] } }))).toMatchObject({
    writes: [
      {
        object: {
          metadata: { name: NAME, namespace: 'target', labels: runLabels(RUN) },
          spec: { vmiName: 'web', receive: { migrationID: migrationIdOf(RUN, 1) } },
        },
      },
    ],
  });
  expect(received('').metadata.name).toBe(NAME);
});

test('KubeVirt waits longer for a launcher whose volumes are filled only when it is there', () => {
  const annotations = (isFilledLate: boolean): unknown => {
    const decision = decide(firstAttempt({ target: { vmims: [], isFilledLate } }));
    return decision.kind === 'write' && decision.writes[0]?.object.metadata.annotations;
  };
  expect(annotations(true)).toEqual({
    'kubevirt.io/migrationPendingPodTimeoutSeconds': '1800',
    'kubevirt.io/migrationUnschedulablePodTimeoutSeconds': '1800',
  });
  expect(annotations(false)).toBeUndefined();
});
