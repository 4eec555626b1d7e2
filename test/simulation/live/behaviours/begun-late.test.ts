import { expect, test } from '@jest/globals';
import { runSeed } from '../world/run.ts';

/**
 * For 15 minutes the source refuses the record, and then lets one call write it while another one shows the end. Only if the process ends
 * there, or a cluster does not answer, the record stays: a Plan with the VM says so (`VMInUse`).
 */
test.each([
  ['just before', 400_132_958],
  ['just after', 700_025_985],
])('a run that begins %s its end is shown goes back, and leaves no record', async (_when, seed) => {
  const { violation, trace } = await runSeed(seed);
  expect(trace.join()).toContain('ends: Failed Refused');
  expect(violation).toBeUndefined();
});
