import { expect, test } from '@jest/globals';
import {
  aLauncherPod,
  aWaitingVmi,
  firstAttempt,
  migrated,
  received,
  sent,
  showing,
  summary,
  type Different,
} from '../../../test/support/builders/live-run.ts';
import { itsVmi } from '../../../test/support/builders/live.ts';
import { withUid, type Change } from '../../../test/support/builders/object.ts';
import type { Vmim } from '../../domain/live/kubevirt.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import { decide } from './wait-for-target-migration.ts';

const withReceived = (...vmims: Vmim[]): RecordedRun => firstAttempt({ target: { vmims } });
const noAddress: Change<Vmim> = ({ status, ...vmim }) => ({
  ...vmim,
  status: { phase: status?.phase ?? '' },
});

const DOWN = { vmi: undefined, pods: [] };
const HAD_LAUNCHER = aWaitingVmi(migrated({ targetPod: 'target-launcher', completed: true, failed: true }));
/** The target has a launcher, and no VMIM is on the source. */
const moving = ({ target, ...different }: Different = {}): RecordedRun =>
  firstAttempt({
    ...different,
    target: { vmims: [received('Running')], pods: [aLauncherPod('target-launcher')], ...target },
  });

test.each<[string, RecordedRun, string]>([
  ['an address', withReceived(received('WaitingForSync')), 'done'],
  ['no phase yet', withReceived(received('', noAddress)), 'wait NoAddress'],
  ['no address yet', withReceived(received('WaitingForSync', noAddress)), 'wait NoAddress'],
  [
    'no address after five minutes',
    firstAttempt({
      hub: showing('NoAddress', 301),
      target: { vmims: [received('WaitingForSync', noAddress)] },
    }),
    'fail NoAddress',
  ],
  ['the VMIM has failed', withReceived(received('Failed')), 'fail TransferFailed'],
  ['the VMIM is gone', withReceived(), 'fail TransferFailed'],
  [
    'the source sends already',
    firstAttempt({ source: { vmims: [sent('Synchronizing')] }, target: { vmims: [received('Pending')] } }),
    'done',
  ],
  [
    'the VM has stopped on the source: no address helps',
    firstAttempt({ source: DOWN, target: { vmims: [received('WaitingForSync', noAddress)] } }),
    'fail SourceStopped',
  ],
  [
    'the VM has restarted on the source',
    firstAttempt({ source: { vmi: itsVmi(withUid('another')) } }),
    'fail SourceStopped',
  ],
  ['the source’s VMIM was deleted while the guest was copied', moving(), 'wait Aborting'],
  [
    'and the target does not notice for a minute',
    moving({ hub: showing('Aborting', 61) }),
    'fail TransferFailed',
  ],
  [
    'the launcher on the source died while the guest was copied',
    moving({ source: DOWN }),
    'fail TransferFailed',
  ],
])('%s', (_what, run, wanted) => {
  expect(summary(decide(run))).toBe(wanted);
});

test.each<[string, RecordedRun, string]>([
  ['before there was a launcher', withReceived(received('Failed')), 'has ended before the source knew of it'],
  [
    'by a user who deleted the source’s VMIM',
    moving({ target: { vmims: [received('Failed')], vmi: HAD_LAUNCHER, pods: [] } }),
    'the VMIM on the source is gone, and the migration has ended',
  ],
  [
    'by the source, whose launcher died',
    moving({ source: DOWN, target: { vmims: [received('Failed')], vmi: HAD_LAUNCHER, pods: [] } }),
    'the VM on the source ended while its guest was being moved, and the migration has ended',
  ],
  [
    'by the source, and the target goes on',
    moving({ source: DOWN }),
    'the VM on the source ended while its guest was being moved',
  ],
])('says how it ended: %s', (_what, run, message) => {
  expect(decide(run)).toMatchObject({ kind: 'fail', message: expect.stringContaining(message) as never });
});
