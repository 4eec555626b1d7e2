import { expect, test } from '@jest/globals';
import { runSeed } from './run.ts';

/** For 15 minutes the source refuses the record, and then lets one call write it while another one shows the end (docs/adr/0031). */
test('a run that begins while its end is shown goes back, and leaves no record', async () => {
  const { violation, trace } = await runSeed(400_132_958);
  expect(trace.join()).toContain('ends: Failed Refused');
  expect(violation).toBeUndefined();
});
