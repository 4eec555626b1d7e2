import { jest, test } from '@jest/globals';
import { attacked } from './adversary.ts';
import {
  expectAllThrough,
  expectNoPodAdmitted,
  expectNoneAdmitted,
  expectPaused,
  expectUnbroken,
} from './expectations.ts';
import * as RUNS from './runs.ts';
import { ADMISSION_MODE } from '../support/admission-mode.ts';

/** At least so many releases in each world; CYCLES in the environment for fewer or more. */
const CYCLES = Number(process.env['CYCLES'] ?? 200);

jest.setTimeout(3_600_000);

const ORDER = { admissionMode: ADMISSION_MODE, cycles: CYCLES, withinMs: Infinity };

const WORLDS = [
  RUNS.BASE,
  RUNS.SLOW_VALIDATING,
  RUNS.SLOW_MUTATING,
  RUNS.PAUSED,
  RUNS.TWO_API_SERVERS,
  RUNS.TWO_HIDDEN_API_SERVERS,
];

test.each(WORLDS.map((run) => ({ run, order: ORDER })))(
  '$run.name, walls: $order.wall: nobody steals',
  async ({ run, order }) => {
    await attacked(run, order, async (adversary) => {
      expectNoPodAdmitted(adversary);
      expectPaused(adversary);
      await expectAllThrough(adversary);
      expectUnbroken(adversary);
    });
  },
);

test('a lag that nobody waits for does not open the policies', async () => {
  await attacked(RUNS.TWO_API_SERVERS_LATE, { ...ORDER, admissionMode: 'policy' }, async (adversary) => {
    expectNoneAdmitted(adversary);
    await expectAllThrough(adversary);
    expectUnbroken(adversary);
  });
});
