import { jest, test } from '@jest/globals';
import { attacked } from './adversary.ts';
import { expectAllThrough, expectNoPodAdmitted, expectPaused, expectUnbroken } from './expectations.ts';
import { BASE, PAUSED, SLOW_VALIDATING, TWO_API_SERVERS } from './runs.ts';
import { ADMISSION_MODE } from '../support/admission-mode.ts';

/** A short form of test/adversary, which does at least 200 releases in each of its worlds (npm run test:soak). */
jest.setTimeout(300_000);

/** On a machine that is busy with other things one at least, so that the whole ends in time. */
const FEW = { admissionMode: ADMISSION_MODE, cycles: 8, withinMs: 15_000 };

test.each([
  { ...BASE, order: { admissionMode: ADMISSION_MODE, cycles: 40, withinMs: 40_000 } },
  { ...SLOW_VALIDATING, order: FEW },
  { ...PAUSED, order: FEW },
  { ...TWO_API_SERVERS, order: FEW },
])('$name: nobody steals (F43)', async ({ order, ...run }) => {
  await attacked(run, order, async (adversary) => {
    expectNoPodAdmitted(adversary);
    expectPaused(adversary);
    await expectAllThrough(adversary);
    expectUnbroken(adversary);
  });
});
