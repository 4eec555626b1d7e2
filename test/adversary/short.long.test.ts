import { jest, test } from '@jest/globals';
import { attacked } from './adversary.ts';
import { expectAllThrough, expectNoPodAdmitted, expectPaused, expectUnbroken } from './expectations.ts';
import { BASE, PAUSED, SLOW_VALIDATING, TWO_API_SERVERS } from './runs.ts';
import { ADMISSION_MODE } from '../support/environment/admission-mode.ts';

/** A short form of test/adversary, which runs at least 200 cycles in each of its clusters (npm run test:soak). */
jest.setTimeout(300_000);

/** The time limit allows a busy machine to run fewer cycles, so that the test ends in time. */
const FEW = { admissionMode: ADMISSION_MODE, cycles: 8, withinMs: 15_000 };

test.each([
  { ...BASE, order: { admissionMode: ADMISSION_MODE, cycles: 40, withinMs: 40_000 } },
  { ...SLOW_VALIDATING, order: FEW },
  { ...PAUSED, order: FEW },
  { ...TWO_API_SERVERS, order: FEW },
])('$name: no tenant uses raised headroom (F43)', async ({ order, ...run }) => {
  await attacked(run, order, async (adversary) => {
    expectNoPodAdmitted(adversary);
    expectPaused(adversary);
    await expectAllThrough(adversary);
    expectUnbroken(adversary);
  });
});
