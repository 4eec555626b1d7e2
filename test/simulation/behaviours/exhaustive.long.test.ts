import { expect, jest, test } from '@jest/globals';
import { smallCase, tryAll } from '../seeds/exhaustive.ts';
import { run } from '../world/run.ts';

jest.setTimeout(30 * 60_000);

test.each([1, 2])(
  '%d migrations without faults get their target pods one by one, and the run becomes quiescent',
  async (migrations) => {
    const { violation, cycles, failures } = await run(smallCase(migrations), { plan: [] });
    expect({ violation, cycles, failures }).toEqual({
      violation: undefined,
      cycles: migrations,
      failures: 0,
    });
  },
);

test.each([1, 2])(
  '%d migrations survive every crash point with every event lost or doubled',
  async (migrations) => {
    const { runs, crashPoints, eventPoints, violations } = await tryAll(smallCase(migrations));
    process.stdout.write(
      `${String(migrations)} migrations: ${String(crashPoints)} crash points, ${String(eventPoints)} events lost or doubled, ${String(runs)} runs\n`,
    );
    expect(violations).toEqual([]);
    // A cycle writes no more often.
    expect(crashPoints).toBeGreaterThan(15 * migrations);
    expect(eventPoints).toBeGreaterThan(20 * migrations);
  },
);
