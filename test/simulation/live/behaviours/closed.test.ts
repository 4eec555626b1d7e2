import { expect, test } from '@jest/globals';
import { runSeed } from '../world/run.ts';

/**
 * One call shows that the run is over just as another one finds otherwise: the Migration is released as it is shown, or not at all. Without
 * Plan and Providers it could neither go on nor show what is left over.
 */
test.each([
  ['the removal of the record was overtaken, in a run that was given up', 1_200_036_149],
  ['the cluster of the record goes, and the Plan is released', 1_600_013_417],
  ['the record is still there, and the Plan of a run that was given up is released', 1_700_006_911],
])('two calls end a run while %s', async (_when, seed) => {
  const { violation } = await runSeed(seed);
  expect(violation).toBeUndefined();
});
