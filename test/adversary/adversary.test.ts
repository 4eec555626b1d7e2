import { expect, jest, test } from '@jest/globals';
import { runAdversary } from './adversary.ts';
import { expectAllThrough, expectNobodyStole, expectUnbroken, strangersOf } from './expectations.ts';
import * as RUNS from './runs.ts';
import { WALL } from '../integration/support/wall.ts';
import { tableOf } from './table.ts';

/** At least so many releases in each world; RELEASES in the environment for fewer or more. */
const RELEASES = Number(process.env['RELEASES'] ?? 200);

jest.setTimeout(3_600_000);

const ORDER = { wall: WALL, releases: RELEASES, withinMs: Infinity };

test.each([
  RUNS.BASE,
  RUNS.SLOW_VALIDATING,
  RUNS.SLOW_MUTATING,
  RUNS.PAUSED,
  RUNS.TWO_API_SERVERS,
  RUNS.TWO_API_SERVERS_UNSETTLED,
])('$name: nobody steals', async (run) => {
  const adversary = await runAdversary(run, ORDER);
  try {
    process.stdout.write(tableOf(adversary.result));
    expectNobodyStole(adversary);
    await expectAllThrough(adversary);
    expectUnbroken(adversary);
  } finally {
    await adversary.lab.stop();
  }
});

test('waiting longer than the slow webhook takes leaves no stranger above an original', async () => {
  const adversary = await runAdversary(RUNS.SLOW_VALIDATING_SETTLED, ORDER);
  try {
    process.stdout.write(tableOf(adversary.result));
    expectNobodyStole(adversary);
    expect(strangersOf(adversary).filter(({ isAbove }) => isAbove)).toEqual([]);
    await expectAllThrough(adversary);
  } finally {
    await adversary.lab.stop();
  }
});
