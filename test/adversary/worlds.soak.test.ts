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
import { ADMISSION_MODE } from '../support/environment/admission-mode.ts';

/** Minimum number of cycles in each cluster; the environment variable CYCLES changes it. */
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
  '$run.name, admission mode $order.admissionMode: no tenant uses raised headroom',
  async ({ run, order }) => {
    await attacked(run, order, async (adversary) => {
      expectNoPodAdmitted(adversary);
      expectPaused(adversary);
      await expectAllThrough(adversary);
      expectUnbroken(adversary);
    });
  },
);

test('the policies hold when an API server sees the lock late and no step waits for it', async () => {
  await attacked(RUNS.TWO_API_SERVERS_LATE, { ...ORDER, admissionMode: 'policy' }, async (adversary) => {
    expectNoneAdmitted(adversary);
    await expectAllThrough(adversary);
    expectUnbroken(adversary);
  });
});
