import { expect, test } from '@jest/globals';
import { firstAttempt, going, received, sent, summary } from '../../../test/support/builders/live-run.ts';
import { RUN } from '../../../test/support/builders/live.ts';
import { vmimName } from '../run/names.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import { decide } from './completed.ts';

const NAME = vmimName(RUN, 1);

test.each<[string, RecordedRun, string]>([
  ['nothing is left', firstAttempt({ target: { vmims: [] } }), 'done'],
  [
    'the VMIM of the target',
    firstAttempt({ target: { vmims: [received('Succeeded')] } }),
    `delete VirtualMachineInstanceMigration ${NAME} on target`,
  ],
  [
    'KubeVirt removes it',
    firstAttempt({ target: { vmims: [going()(received('Succeeded'))] } }),
    'wait CleaningUp',
  ],
  [
    'KubeVirt does not remove it within ten seconds, though it is over',
    firstAttempt({ target: { vmims: [going(-11)(received('Succeeded'))] } }),
    `replace VirtualMachineInstanceMigration ${NAME} on target`,
  ],
  [
    'KubeVirt may still remove one that is not over',
    firstAttempt({ target: { vmims: [going(-599)(received('Running'))] } }),
    'wait CleaningUp',
  ],
  [
    'KubeVirt does not remove it within ten minutes',
    firstAttempt({ target: { vmims: [going(-601)(received('Running'))] } }),
    `replace VirtualMachineInstanceMigration ${NAME} on target`,
  ],
  [
    'one on the source too',
    firstAttempt({
      source: { vmims: [sent('Succeeded')] },
      target: { vmims: [going()(received('Succeeded'))] },
    }),
    `delete VirtualMachineInstanceMigration ${NAME} on source`,
  ],
])('%s', (_what, run, wanted) => {
  expect(summary(decide(run))).toBe(wanted);
});
