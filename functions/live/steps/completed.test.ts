import { expect, test } from '@jest/globals';
import {
  aWaitingVmi,
  firstAttempt,
  going,
  migrated,
  OWN_STATE,
  received,
  sent,
  summary,
} from '../../../test/support/builders/live-run.ts';
import { RUN } from '../../../test/support/builders/live.ts';
import { vmimName } from '../run/names.ts';
import type { RecordedRun } from '../run/snapshot.ts';
import { decide } from './completed.ts';

const NAME = vmimName(RUN, 1);
/** The target's VMI, whose state names both VMIMs. */
const NAMING = aWaitingVmi(migrated(OWN_STATE));

test.each<[string, RecordedRun, string]>([
  ['nothing is left', firstAttempt({ target: { vmims: [] } }), 'done'],
  [
    'the VMIM of the target',
    firstAttempt({ target: { vmims: [received('Succeeded')] } }),
    `delete VirtualMachineInstanceMigration ${NAME} on target`,
  ],
  [
    'KubeVirt removes it, which its VMI names',
    firstAttempt({ target: { vmi: NAMING, vmims: [going()(received('Succeeded'))] } }),
    'wait CleaningUp',
  ],
  [
    'KubeVirt does not remove it within ten seconds, though it is over',
    firstAttempt({ target: { vmi: NAMING, vmims: [going(-11)(received('Succeeded'))] } }),
    `replace VirtualMachineInstanceMigration ${NAME} on target`,
  ],
  [
    'KubeVirt never removes one that is over and which its VMI does not name any more',
    firstAttempt({
      target: { vmi: aWaitingVmi(migrated({})), vmims: [going()(received('Succeeded'))] },
    }),
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
      target: { vmi: NAMING, vmims: [going()(received('Succeeded'))] },
    }),
    `delete VirtualMachineInstanceMigration ${NAME} on source`,
  ],
])('%s', (_what, run, wanted) => {
  expect(summary(decide(run))).toBe(wanted);
});
