import { expect, jest, test } from '@jest/globals';
import { runAdversary, type Adversary, type Wish } from '../adversary/adversary.ts';
import { expectAllThrough, expectAtRest, expectNobodyStole } from '../adversary/expectations.ts';
import {
  BASE,
  PAUSED,
  SLOW_VALIDATING,
  TWO_API_SERVERS,
  TWO_API_SERVERS_LATE,
  WALLS,
  type Run,
} from '../adversary/runs.ts';
import { tableOf } from '../adversary/table.ts';

/** A short form of test/adversary, which does at least 200 releases in each of its worlds (npm run test:long). */
jest.setTimeout(300_000);

type Order = Omit<Wish, 'wall'>;

/** On a machine that is busy with other things one at least, so that the whole ends in time. */
const FEW: Order = { releases: 8, withinMs: 15_000 };

const attacked = async (
  run: Run,
  order: Order,
  look: (adversary: Adversary) => Promise<void>,
): Promise<void> => {
  const adversary = await runAdversary(run, { wall: WALLS['as installed'], ...order });
  try {
    process.stdout.write(tableOf(adversary.result));
    await look(adversary);
  } finally {
    await adversary.lab.stop();
  }
};

test.each([
  { ...BASE, order: { releases: 40, withinMs: 40_000 } },
  { ...SLOW_VALIDATING, order: FEW },
  { ...PAUSED, order: FEW },
  { ...TWO_API_SERVERS, order: FEW },
])('$name: nobody steals', async ({ order, ...run }) => {
  await attacked(run, order, async (adversary) => {
    expectNobodyStole(adversary);
    await expectAllThrough(adversary);
    await expectAtRest(adversary);
  });
});

test('the counter counts: where the second API server has not heard of the lock, tenants do get in', async () => {
  await attacked(TWO_API_SERVERS_LATE, FEW, async ({ result }) => {
    const late = result.attacked.flatMap(({ findings }) => findings.late);
    expect(late.length).toBeGreaterThan(0);
    return Promise.resolve();
  });
});
