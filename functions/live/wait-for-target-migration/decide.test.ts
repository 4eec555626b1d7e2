import { expect, test } from '@jest/globals';
import { firstAttempt, received, sent, showing, summary } from '../../../test/support/builders/live-run.ts';
import type { Change } from '../../../test/support/builders/object.ts';
import type { Vmim } from '../../domain/live/kubevirt.ts';
import type { RecordedRun } from '../../domain/live/run-snapshot.ts';
import { decide } from './decide.ts';

const withReceived = (...vmims: Vmim[]): RecordedRun => firstAttempt({ target: { vmims } });
const noAddress: Change<Vmim> = ({ status, ...vmim }) => ({
  ...vmim,
  status: { phase: status?.phase ?? '' },
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
])('%s', (_what, run, wanted) => {
  expect(summary(decide(run))).toBe(wanted);
});
