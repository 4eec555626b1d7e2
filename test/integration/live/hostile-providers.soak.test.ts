import { expect, test } from '@jest/globals';
import { readHostile } from '../../support/live/hostile-reading.ts';

const FLAGS = ['--max-semi-space-size=1', '--max-old-space-size=128'];
const RUNS = 10;

/** Only on an idle machine: the hostile server has a thread in the process of the test. */
test.each(['values', 'heavy', 'silent', 'trickle', 'crumbs', 'bomb'])(
  'beside a server of the way %s the check of another tenant takes at most twice as long',
  async (way) => {
    const ratios: number[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      const { alone, beside } = await readHostile({ flags: FLAGS, memoryMib: 48, providers: 1, ways: [way] });
      ratios.push(beside / alone);
    }
    const median = ratios.sort((one, other) => one - other)[RUNS / 2] ?? Infinity;
    process.stdout.write(`  ${way}: ${median.toFixed(2)} times as long\n`);
    expect(median).toBeLessThanOrEqual(2);
  },
);
